"""A program that computes the same in fewer nodes: constants folded, dead code and idle names left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from vulcan.anvil import program as p
from vulcan.anvil.rewriting.fold import constant, folded
from vulcan.anvil.rewriting.liveness import without_dead
from vulcan.anvil.rewriting.rewrite import Change, expression_size, from_below, in_block, in_program

_Statements = tuple[p.Statement, ...]


def cleaned(program: p.Program) -> p.Program:
    """The program in fewer nodes, with its docstrings; it computes the same, but perhaps for the sign of a zero.

    Helpers of one `return` are put where they are called if that makes nothing longer or it is the only call.
    Functions, arguments of helpers and parameters that nothing uses go.
    """
    while True:
        functions = tuple(replace(f, body=_cleaned_body(f)) for f in program.functions)
        better = _without_unused(_inlined(replace(program, functions=functions)))
        if better == program:
            return program
        program = better


def _cleaned_body(function: p.Function) -> _Statements:
    body = in_block(function.body, folded)
    body = _propagated(body, function.arguments)
    return without_dead(_straight(body))


# Names that stand for a leaf


def _propagated(body: _Statements, arguments: tuple[str, ...]) -> _Statements:
    """With names assigned once, to a leaf that stays what it is, replaced by it; the assignment is then dead."""
    times = Counter(arguments)
    values: dict[str, p.Expression] = {}
    for statement in _every(body):
        if isinstance(statement, p.Assign):
            times[statement.name] += 1
            values[statement.name] = statement.value
        elif isinstance(statement, p.Loop):
            times[statement.name] += 1
    uses = Counter(e.name for e in p.expressions(body) if isinstance(e, p.Local))

    def stands_for(name: str) -> p.Expression | None:
        value = values.get(name)
        if times[name] != 1 or value is None:
            return None
        match value:
            case p.Parameter() | p.Read() | p.Query():
                return value
            case p.Local(other) if times[other] == 1 and (other in arguments or other in values):
                return value
            case _ if constant(value) is not None and (uses[name] == 1 or constant(value) in (0.0, 1.0)):
                return value  # a number in several places would be several for a tuner
        return None

    def change(e: p.Expression) -> p.Expression:
        return (stands_for(e.name) or e) if isinstance(e, p.Local) else e

    return in_block(body, lambda e: from_below(e, change))


def _every(body: _Statements) -> list[p.Statement]:
    found: list[p.Statement] = []
    for statement in body:
        found.append(statement)
        match statement:
            case p.If(_, then, otherwise):
                found += [*_every(then), *_every(otherwise)]
            case p.Loop(body=inner):
                found += _every(inner)
    return found


# Statements


def _straight(body: _Statements) -> _Statements:
    """Without branches that are never or always taken, and what stands behind a `return`."""
    kept: list[p.Statement] = []
    for statement in body:
        match statement:
            case p.If(test, then, otherwise):
                then, otherwise = _straight(then), _straight(otherwise)
                value = constant(test)
                if value is not None or then == otherwise:
                    kept += otherwise if value == 0.0 else then
                else:
                    kept.append(replace(statement, then=then, otherwise=otherwise))
            case p.Loop(body=inner):
                if statement.trips:
                    kept.append(replace(statement, body=_straight(inner)))
            case p.Return(p.Local(name)) if kept and isinstance(kept[-1], p.Assign) and kept[-1].name == name:
                kept[-1] = replace(statement, value=kept[-1].value)
            case _:
                kept.append(statement)
        if kept and ends(kept[-1]):
            break
    return tuple(kept)


def ends(statement: p.Statement) -> bool:
    """Whether what stands behind the statement is never reached."""
    match statement:
        case p.Return() | p.Break() | p.Continue():
            return True
        case p.If(_, then, otherwise):
            return bool(then and otherwise) and ends(then[-1]) and ends(otherwise[-1])
        case _:
            return False


# Helpers


def _inlined(program: p.Program) -> p.Program:
    """With the first helper that can be, if any, put where it is called."""
    calls = Counter(e.function for f in program.functions for e in p.expressions(f.body) if isinstance(e, p.Call))
    for helper in program.helpers:
        match helper.body:
            case (p.Return(value),) if calls[helper.name]:
                changed = _called(program, _put(helper, value, calls[helper.name]))
                if changed != program:
                    return changed
    return program


def _called(program: p.Program, change: Change) -> p.Program:
    return in_program(program, lambda e: from_below(e, change))


def _put(helper: p.Function, value: p.Expression, calls: int) -> Change:
    uses = Counter(e.name for e in p.expressions((p.Return(value),)) if isinstance(e, p.Local))

    def change(e: p.Expression) -> p.Expression:
        if not isinstance(e, p.Call) or e.function != helper.name:
            return e
        given: Mapping[str, p.Expression] = dict(zip(helper.arguments, e.arguments, strict=True))
        put = from_below(value, lambda part: given[part.name] if isinstance(part, p.Local) else part)
        once = calls == 1 and all(uses[name] <= 1 or not p.children(a) for name, a in given.items())
        return put if once or expression_size(put) <= expression_size(e) else e

    return change


def _without_unused(program: p.Program) -> p.Program:
    program = _without_unused_arguments(program)
    needed = {entry.name for entry in program.entries}
    for function in reversed(program.functions):
        if function.name in needed:
            needed |= {e.function for e in p.expressions(function.body) if isinstance(e, p.Call)}
    functions = tuple(f for f in program.functions if f.name in needed)
    used = {e.name for f in functions for e in p.expressions(f.body) if isinstance(e, p.Parameter)}
    parameters = tuple((name, value) for name, value in program.parameters if name in used)
    return replace(program, functions=functions, parameters=parameters)


def _without_unused_arguments(program: p.Program) -> p.Program:
    kept: dict[str, list[int]] = {}
    functions: list[p.Function] = []
    for helper in program.helpers:
        used = {e.name for e in p.expressions(helper.body) if isinstance(e, p.Local)}
        kept[helper.name] = [index for index, name in enumerate(helper.arguments) if name in used]
        functions.append(replace(helper, arguments=tuple(helper.arguments[index] for index in kept[helper.name])))

    def change(e: p.Expression) -> p.Expression:
        if not isinstance(e, p.Call):
            return e
        return replace(e, arguments=tuple(e.arguments[index] for index in kept[e.function]))

    return _called(replace(program, functions=(*functions, *program.entries)), change)
