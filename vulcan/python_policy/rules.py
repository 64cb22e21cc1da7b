"""Rules of the program checker, each with an example that violates it and a hint what to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vulcan.anvil.rejection import Violation, violation

MAX_SOURCE_BYTES = 32 * 1024
"""Maximum size of a source in bytes."""
MAX_TREE_NODES = 5_000
"""Maximum number of syntax nodes."""
MAX_TREE_DEPTH = 60
"""Maximum nesting of syntax nodes, on which Python's own compiler recurses."""


@dataclass(frozen=True, slots=True)
class ProgramRule:
    """A rule whose violation rejects a program.

    `violates` is an example of statements in a method that violate it, or of a module if `whole`; `hint` says what to
    write instead.
    """

    name: str
    violates: str
    hint: str
    whole: bool = False


_WITHOUT_HOOK = "class Policy:\n    def __init__(self, room):\n        pass\n"
_WRONG_ARGUMENTS = (
    "class Policy:\n    def __init__(self):\n        pass\n\n    def choose(self, ask):\n        return 1\n"
)

RULES: Mapping[str, ProgramRule] = {
    rule.name: rule
    for rule in (
        ProgramRule(
            "too-long",
            "# " + MAX_SOURCE_BYTES * "x",
            f"write a shorter program: {MAX_SOURCE_BYTES // 1024} KB of source at the most",
        ),
        ProgramRule(
            "too-large",
            MAX_TREE_NODES // 3 * "x = 1\n",
            f"write a smaller program: {MAX_TREE_NODES:,} syntax nodes at the most",
        ),
        ProgramRule(
            "too-deep", "x = " + (MAX_TREE_DEPTH + 5) * "-" + "1", "give parts of the expression names of their own"
        ),
        ProgramRule("syntax", "x = = 1", "write one complete Python module"),
        ProgramRule("no-class", "LIMIT = 1\n", "define the class that the task names, at the top level", whole=True),
        ProgramRule("no-hook", _WITHOUT_HOOK, "define every hook that is not optional", whole=True),
        ProgramRule(
            "arguments",
            _WRONG_ARGUMENTS,
            "give the method `self` and exactly the arguments that the task names",
            whole=True,
        ),
        ProgramRule(
            "import",
            "import os",
            "import only math, collections, heapq, bisect and random, and of these what is listed",
        ),
        ProgramRule("name", "open('x')", "use names that the program defines, and the functions that are offered"),
        ProgramRule(
            "reserved-name",
            "__builtins__ = 1",
            "choose a name that does not begin with two underscores, nor begin and end with one",
        ),
        ProgramRule(
            "attribute",
            "x.__class__",
            "use attributes that the program itself defines, the fields of what a hook is given, and the ordinary "
            "methods of lists, dicts, sets and deques",
        ),
        ProgramRule(
            "statement",
            "with x:\n    pass",
            "use assignments, if, for, while, try, raise, assert, del, functions and classes",
        ),
        ProgramRule(
            "expression", "x = f'{x}'", "use numbers, texts, names, calls, containers, comprehensions and operators"
        ),
        ProgramRule("decorator", "@choose\ndef f():\n    pass", "write plain functions and methods"),
        ProgramRule(
            "class", "class Node(dict):\n    pass", "write plain classes, which may extend others of the program"
        ),
        ProgramRule("ascii", "größe = 1", "write names in plain ASCII letters, digits and underscores"),
    )
}
"""The rules by name, in the order of the checks."""


def broken(rule: str, line: int, column: int, message: str, hint: str | None = None) -> Violation:
    """Create a violation of a rule, with the rule's hint unless another is given."""
    return violation(rule, line, column, message, hint or RULES[rule].hint)
