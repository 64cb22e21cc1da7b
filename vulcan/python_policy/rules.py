"""Rules of the program checker, each with a hint what to write instead."""

from __future__ import annotations

from collections.abc import Mapping

from vulcan.anvil.rejection import violation
from vulcan.documents.policy import Remark

MAX_SOURCE_BYTES = 32 * 1024
"""Maximum size of a source in bytes."""
MAX_TREE_NODES = 5_000
"""Maximum number of syntax nodes."""
MAX_TREE_DEPTH = 60
"""Maximum nesting of syntax nodes, on which Python's own compiler recurses."""

RULES: Mapping[str, str] = {
    "too-long": f"write a shorter program: {MAX_SOURCE_BYTES // 1024} KB of source at the most",
    "too-large": f"write a smaller program: {MAX_TREE_NODES:,} syntax nodes at the most",
    "too-deep": "give parts of the expression names of their own",
    "syntax": "write one complete Python module",
    "no-class": "define the class that the task names, at the top level",
    "no-hook": "define every hook that is not optional",
    "arguments": "give the method `self` and exactly the arguments that the task names",
    "import": "import only math, collections, heapq, bisect and random, and of these what is listed",
    "name": "use names that the program defines, and the functions that are offered",
    "reserved-name": "choose a name that does not begin with two underscores, nor begin and end with one",
    "attribute": "use attributes that the program itself defines, the fields of what a hook is given, and the ordinary "
    "methods of lists, dicts, sets and deques",
    "statement": "use assignments, if, for, while, try, raise, assert, del, functions and classes",
    "expression": "use numbers, texts, names, calls, containers, comprehensions and operators",
    "decorator": "write plain functions and methods",
    "class": "write plain classes, which may extend others of the program",
    "ascii": "write names in plain ASCII letters, digits and underscores",
}
"""The hints by rule, in the order of the checks."""


def broken(rule: str, line: int, column: int, message: str, hint: str | None = None) -> Remark:
    """Create a violation of a rule, with the rule's hint unless another is given."""
    return violation(rule, line, column, message, hint or RULES[rule])
