"""Takes a program of several functions apart, and puts one together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from vulcan.anvil import grammar
from vulcan.anvil import program as p
from vulcan.anvil.rewriting.rewrite import from_below, in_block
from vulcan.task import Signature


def part_of(program: p.Program, name: str) -> p.Program:
    """The program of one of its functions: with the helpers and the parameters that it uses. Raises KeyError."""
    part = program.of(name)
    used = {e.name for f in part.functions for e in p.expressions(f.body) if isinstance(e, p.Parameter)}
    return replace(part, parameters=tuple((name, value) for name, value in part.parameters if name in used))


def join(parts: Sequence[p.Program], named: Sequence[str], interface: Signature, documentation: str) -> p.Program:
    """One program with the functions of all parts, in the order of `named`.

    Parameters and helpers that are the same in two parts are there once. Other names that two parts use for different
    things are changed in the later one.
    """
    arguments = {argument.name for argument in interface.arguments}
    parameters: dict[str, float] = {}
    helpers: dict[str, p.Function] = {}
    entries: dict[str, p.Function] = {}
    locals_: set[str] = set()
    for part in parts:
        reserved = {*grammar.BUILT_IN_NAMES, *arguments, *named}
        new = _renamed(part, reserved, parameters, helpers, locals_)
        parameters |= dict(new.parameters)
        helpers |= {helper.name: helper for helper in new.helpers}
        entries[new.entry.name] = new.entry
        locals_ |= _locals(new)
    functions = (*helpers.values(), *(entries[name] for name in named))
    return p.Program(tuple(parameters.items()), functions, documentation, len(named))


def _renamed(
    part: p.Program,
    reserved: set[str],
    parameters: Mapping[str, float],
    helpers: Mapping[str, p.Function],
    locals_: set[str],
) -> p.Program:
    """The part with names of its own where those before it mean something else by them."""
    of_module = {*reserved, *parameters, *helpers}
    changed: dict[str, str] = {}
    for name in sorted(_locals(part) & of_module):
        changed[name] = _free(name, {*of_module, *locals_, *_all(part), *changed.values()})
    for name, value in part.parameters:
        is_known = parameters.get(name) == value and name in parameters
        if not is_known and name in {*of_module, *locals_}:
            changed[name] = _free(name, {*of_module, *locals_, *_all(part), *changed.values()})
    for helper in part.helpers:
        if helpers.get(helper.name) == _with_names(helper, changed):
            continue
        if helper.name in {*of_module, *locals_}:
            changed[helper.name] = _free(helper.name, {*of_module, *locals_, *_all(part), *changed.values()})
    return replace(
        part,
        parameters=tuple((changed.get(name, name), value) for name, value in part.parameters),
        functions=tuple(_with_names(function, changed) for function in part.functions),
    )


def _with_names(function: p.Function, changed: Mapping[str, str]) -> p.Function:
    """The function with other names of parameters, helpers, arguments and locals."""

    def change(e: p.Expression) -> p.Expression:
        match e:
            case p.Parameter(name) | p.Local(name):
                return replace(e, name=changed.get(name, name))
            case p.Call(name):
                return replace(e, function=changed.get(name, name))
            case _:
                return e

    body = _with_targets(in_block(function.body, lambda e: from_below(e, change)), changed)
    arguments = tuple(changed.get(name, name) for name in function.arguments)
    return replace(function, name=changed.get(function.name, function.name), arguments=arguments, body=body)


def _with_targets(body: tuple[p.Statement, ...], changed: Mapping[str, str]) -> tuple[p.Statement, ...]:
    """The statements with other names of what they assign."""
    made: list[p.Statement] = []
    for statement in body:
        match statement:
            case p.Assign(name):
                made.append(replace(statement, name=changed.get(name, name)))
            case p.If(_, then, otherwise):
                then, otherwise = _with_targets(then, changed), _with_targets(otherwise, changed)
                made.append(replace(statement, then=then, otherwise=otherwise))
            case p.Loop(name, body=inner):
                inner = _with_targets(inner, changed)
                made.append(replace(statement, name=changed.get(name, name), body=inner))
            case _:
                made.append(statement)
    return tuple(made)


def _locals(part: p.Program) -> set[str]:
    """Locals of all functions, and the arguments of helpers."""
    assigned = {name for function in part.functions for name in p.assigned_names(function.body)}
    return assigned | {name for helper in part.helpers for name in helper.arguments}


def _all(part: p.Program) -> set[str]:
    own = {name for name, _ in part.parameters} | {function.name for function in part.functions}
    return own | _locals(part)


def _free(name: str, taken: Iterable[str]) -> str:
    """The name, with a number behind it that none of those taken has."""
    reserved = set(taken)
    stem = name.rstrip("0123456789").rstrip("_") or name
    number, free = 2, name
    while free in reserved:
        free = f"{stem}_{number}"
        number += 1
    return free
