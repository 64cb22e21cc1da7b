"""Dispatch by a task's interface, Anvil or PROGRAM: the checker, and the language section of prompts."""

from __future__ import annotations

from collections.abc import Iterator

from vulcan.anvil import Policy, check
from vulcan.anvil.number_text import format_number
from vulcan.anvil.prompt_section import code, describe_language, table
from vulcan.python_policy.allowed import EXCEPTIONS, FUNCTIONS, MODULES, WITHOUT_IMPORT
from vulcan.python_policy.policy import ProgramPolicy
from vulcan.python_policy.rules import MAX_SOURCE_BYTES, MAX_TREE_DEPTH, MAX_TREE_NODES, RULES
from vulcan.task import Feature, Hook, Program, Record, Scalar, Task

_RETURNS = {"nothing": "", "int": "Returns a whole number (an `int`)", "bool": "Returns `True` or `False`"}


def describe_program(interface: Program) -> str:
    """Describe the class, its hooks and their arguments, and the Python available, in Markdown."""
    parts = [
        f"A policy is a Python module that defines `class {interface.function}:` with these methods:\n\n"
        + "\n".join(f"- {line}" for line in _methods(interface)),
        "### What the methods are given\n\n" + _given(interface),
        "### What Python there is\n\n" + _python(),
        f"### Limits\n\n- {MAX_SOURCE_BYTES // 1024} KB of source, {MAX_TREE_NODES:,} syntax nodes, "
        f"nesting of {MAX_TREE_DEPTH}\n- memory and time: a program that uses up either has failed, as has one that "
        "raises an error",
        "### What is rejected, and what to write instead\n\n"
        + "\n".join(f"- {rule.name}: {rule.hint}" for rule in RULES.values()),
    ]
    return "\n\n".join(parts) + "\n"


def _methods(interface: Program) -> Iterator[str]:
    made_with = ", ".join(("self", *(a.name for a in interface.arguments)))
    yield (
        f"`def __init__(self, {made_with[6:]}):` makes an instance."
        if interface.arguments
        else ("`def __init__(self):` makes an instance.")
    )
    for hook in interface.hooks:
        may = " It may be left out." if hook.optional else ""
        yield f"`{head(hook)}` {hook.meaning}{_returned(hook)}{may}"


def head(hook: Hook) -> str:
    """Return the `def` line of a hook's method."""
    return f"def {hook.name}({', '.join(('self', *(a.name for a in hook.arguments)))}):"


def _returned(hook: Hook) -> str:
    if hook.returns == "nothing":
        return ""
    return f" {_RETURNS[hook.returns]}: {hook.result}."


def _given(interface: Program) -> str:
    records: dict[str, Record] = {}
    numbers: dict[str, Feature] = {a.name: a.feature for a in interface.arguments if isinstance(a, Scalar)}
    for hook in interface.hooks:
        for argument in hook.arguments:
            if isinstance(argument, Record):
                records[argument.name] = argument
            else:
                numbers[argument.name] = argument.feature
    about = " ".join(f"`{r.name}` is {r.meaning}; it cannot be changed, and may be kept." for r in records.values())
    rows = [(code(name), feature) for name, feature in numbers.items()]
    rows += [(code(f"{r.name}.{feature.name}"), feature) for r in records.values() for feature in r.features]
    listed = table(
        ("read", "unit", "range", "meaning"),
        (
            (name, feature.unit, f"{format_number(feature.low)} to {format_number(feature.high)}", feature.meaning)
            for name, feature in rows
        ),
    )
    return f"{about} All are whole numbers (`int`).\n\n{listed}" if about else f"All are whole numbers.\n\n{listed}"


def _python() -> str:
    modules = "\n".join(f"- `{module}`: {', '.join(names)}" for module, names in MODULES.items())
    return (
        "Functions, lambdas, classes of your own with attributes and `__slots__`, all operators, containers, slices, "
        "comprehensions, loops, recursion, `try` and texts as labels. Attributes are those that your program defines, "
        "the fields above, and the ordinary methods of lists, dicts, sets, deques and numbers. Objects of your own "
        "classes are compared with `is` and cannot be put into a set or be the key of a dict: use ids for that.\n\n"
        f"Functions: {', '.join(FUNCTIONS)}. Exceptions: {', '.join(EXCEPTIONS)}.\n\n"
        "Modules, of which nothing else is there and which need not be imported:\n\n"
        f"{modules}\n\n"
        f"{', '.join(map(code, WITHOUT_IMPORT))} can be used without their module's name too. `random` begins alike in "
        "every run. Numbers at the top of the module (`NAME = 0.5`) are parameters, which are tuned afterwards: give "
        "every magnitude such a name."
    )


AnyPolicy = Policy | ProgramPolicy


def check_policy(source: str, task: Task) -> AnyPolicy:
    """Check the source of a policy, in Anvil or a program, and return it. Raises Rejected with the violations."""
    if isinstance(task.signature, Program):
        from vulcan.python_policy.check import check_program  # loads RestrictedPython, which few tasks need

        return check_program(source, task)
    return check(source, task)


def describe_policy(task: Task) -> str:
    """Describe the language of the task's policies in Markdown, for the language section of every prompt."""
    if isinstance(task.signature, Program):
        return describe_program(task.signature)
    return describe_language(task)
