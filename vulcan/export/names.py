"""Names of an exported module: a policy's own, moved out of the way of what the module needs for itself."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Mapping

from vulcan.anvil import program as p

_EASILY_MISREAD = frozenset({"l", "O", "I"})  # E741 of pycodestyle


def renamed(program: p.Program, taken: Collection[str]) -> Mapping[str, str]:
    """What each name that the program chose (parameters, helpers, arguments of helpers, locals) is called.

    A name that is Python's, easily misread, or in `taken` gets underscores behind it; every other one stays.
    """
    reserved = {*dir(builtins), *_EASILY_MISREAD, *taken}
    chosen = _chosen(program)
    result: dict[str, str] = {}
    for name in sorted(chosen):
        new = name
        if name.startswith("__") and name.endswith("__"):  # it could mean something to Python
            new = name.strip("_") + "_"
        while new in reserved or (new != name and new in chosen):
            new += "_"
        result[name] = new
        reserved.add(new)
    return result


def _chosen(program: p.Program) -> set[str]:
    names = {name for name, _ in program.parameters}
    for function in program.functions:
        names |= p.assigned_names(function.body)
        if function not in program.entries:
            names |= {function.name, *function.arguments}
    return names
