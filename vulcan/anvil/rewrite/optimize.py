"""Optimiser: an equivalent program in fewer nodes, by constant folding, dead code removal and inlining.

Only identities that hold exactly in float64 with total arithmetic are used: nothing is reassociated, and `x / x` is
not 1, since it is 0 where x is 0. Only the sign of a zero may differ, and no operation of the language tells zeros
apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from vulcan.anvil import ir
from vulcan.anvil.grammar import grammar
from vulcan.anvil.rewrite.dead_code import cells_read, state_slice, without_dead
from vulcan.anvil.rewrite.traversal import Change, expression_size, from_below, in_block, in_program
from vulcan.anvil.semantics import COMPARE

ZERO = ir.Number(0.0)
ONE = ir.Number(1.0)


def folded(e: ir.Expression) -> ir.Expression:
    """Fold constants in the expression, and remove operations without effect."""
    return from_below(e, _folded)


def constant(e: ir.Expression) -> float | None:
    """Return the value of a number, or of a negated one (the language's negative numbers); else None."""
    match e:
        case ir.Number(value):
            return value
        case ir.Operate("negate", (ir.Number(value),)):
            return -value
        case _:
            return None


def number(value: float) -> ir.Expression:
    """Return the expression of a number as the checker reads it: a negative one is a negated positive one."""
    return ir.Operate("negate", (ir.Number(-value),)) if value < 0.0 else ir.Number(value + 0.0)


def _folded(e: ir.Expression) -> ir.Expression:
    match e:
        case ir.Operate("negate", (ir.Number(),)):
            return e
        case ir.Operate("and" | "or" as operation, operands):
            return _connected(operation, operands, e)
        case ir.Operate(operation, operands):
            values = [value for o in operands if (value := constant(o)) is not None]
            if len(values) == len(operands):
                return number(grammar.OPERATIONS[operation].evaluate(*values))
            return _without_idle(e)
        case ir.Compare(operators, operands):
            values = [value for o in operands if (value := constant(o)) is not None]
            if len(values) == len(operands):
                pairs = zip(operators, values, values[1:], strict=False)
                return ONE if all(COMPARE[op](a, b) for op, a, b in pairs) else ZERO
            if len(operators) == 1 and operands[0] == operands[1]:
                return ONE if operators[0] in ("<=", ">=", "==") else ZERO
            return e
        case ir.Choose(test, then, otherwise):
            value = constant(test)
            if value is not None:
                return then if value != 0.0 else otherwise
            return then if then == otherwise else e
        case _:
            return e


def _without_idle(e: ir.Operate) -> ir.Expression:
    match e.operation, e.operands:
        case ("add", (x, ir.Number(0.0))) | ("add", (ir.Number(0.0), x)) | ("subtract", (x, ir.Number(0.0))):
            return x
        case ("multiply", (x, ir.Number(1.0))) | ("multiply", (ir.Number(1.0), x)):
            return x
        case ("divide", (x, ir.Number(1.0))) | ("power", (x, ir.Number(1.0))):
            return x
        case ("multiply", (_, ir.Number(0.0))) | ("multiply", (ir.Number(0.0), _)) | ("divide", (ir.Number(0.0), _)):
            return ZERO
        case ("power", (_, ir.Number(0.0))) | ("power", (ir.Number(1.0), _)):
            return ONE
        case ("subtract", (x, y)) if x == y:
            return ZERO
        case ("subtract", (ir.Number(0.0), x)):
            return ir.Operate("negate", (x,), e.at)
        case ("add", (x, ir.Operate("negate", (y,)))):
            return ir.Operate("subtract", (x, y), e.at)
        case ("subtract", (x, ir.Operate("negate", (y,)))):
            return ir.Operate("add", (x, y), e.at)
        case ("negate", (ir.Operate("negate", (x,)),)) | ("plus", (x,)):
            return x
        case ("truth", (ir.Compare() as x,)):
            return x
        case ("abs", (ir.Operate("abs") as x,)):
            return x
        case ("min" | "max" as operation, operands):
            kept = tuple(dict.fromkeys(operands))
            return kept[0] if len(kept) == 1 else ir.Operate(operation, kept, e.at)
        case _:
            return e


def _connected(operation: str, operands: tuple[ir.Expression, ...], e: ir.Operate) -> ir.Expression:
    """Simplify `and`, which gives its first 0 or the last, or `or`, which gives its first nonzero or the last."""
    kept: list[ir.Expression] = []
    for index, operand in enumerate(operands):
        value = constant(operand)
        decides = value is not None and (value == 0.0) == (operation == "and")
        if value is None or decides or index == len(operands) - 1:
            kept.append(operand)
        if decides:
            break
    if len(kept) == 1:
        return kept[0]
    return e if len(kept) == len(operands) else ir.Operate(operation, tuple(kept), e.at)


_Statements = tuple[ir.Statement, ...]


def cleaned(program: ir.Module) -> ir.Module:
    """Return the program in fewer nodes, with its docstrings; its results are equal except for the sign of a zero.

    Helpers of one `return` are inlined if that makes nothing longer or there is only one call. Unused functions,
    arguments of helpers and parameters are removed.
    """
    while True:
        functions = tuple(replace(f, body=_cleaned_body(f)) for f in program.functions)
        better = _without_unused(_inlined(replace(program, functions=functions)))
        if better == program:
            return program
        program = better


def _cleaned_body(function: ir.Function) -> _Statements:
    body = in_block(function.body, folded)
    body = _propagated(body, function.arguments)
    return without_dead(_straight(body))


# Copy propagation


def _propagated(body: _Statements, arguments: tuple[str, ...]) -> _Statements:
    """Replace names assigned once, to a leaf that does not change, by that leaf; the assignment is then dead."""
    times = Counter(arguments)
    values: dict[str, ir.Expression] = {}
    for statement in ir.statements(body):
        if isinstance(statement, ir.Assign | ir.Loop):
            times[statement.name] += 1
        if isinstance(statement, ir.Assign):
            values[statement.name] = statement.value
    uses = Counter(e.name for e in ir.expressions(body) if isinstance(e, ir.Local))

    def stands_for(name: str) -> ir.Expression | None:
        value = values.get(name)
        if times[name] != 1 or value is None:
            return None
        match value:
            case ir.Parameter() | ir.Read() | ir.Query():
                return value
            case ir.Local(other) if times[other] == 1 and (other in arguments or other in values):
                return value
            case _ if constant(value) is not None and (uses[name] == 1 or constant(value) in (0.0, 1.0)):
                return value  # a duplicated number would become several for a tuner
        return None

    def change(e: ir.Expression) -> ir.Expression:
        return (stands_for(e.name) or e) if isinstance(e, ir.Local) else e

    return in_block(body, lambda e: from_below(e, change))


# Statements


def _straight(body: _Statements) -> _Statements:
    """Remove branches that are never taken, tests that are always true, and statements after a `return`."""
    kept: list[ir.Statement] = []
    for statement in body:
        match statement:
            case ir.If(test, then, otherwise):
                then, otherwise = _straight(then), _straight(otherwise)
                value = constant(test)
                if value is not None or then == otherwise:
                    kept += otherwise if value == 0.0 else then
                else:
                    kept.append(replace(statement, then=then, otherwise=otherwise))
            case ir.Loop(body=inner):
                if statement.trips:
                    kept.append(replace(statement, body=_straight(inner)))
            case ir.Return(ir.Local(name)) if kept and isinstance(kept[-1], ir.Assign) and kept[-1].name == name:
                kept[-1] = replace(statement, value=kept[-1].value)
            case _:
                kept.append(statement)
        if ir.ends(tuple(kept)):
            break
    return tuple(kept)


# Helpers


def _inlined(program: ir.Module) -> ir.Module:
    """Inline the first helper that can be, if any."""
    calls = Counter(e.function for f in program.functions for e in ir.expressions(f.body) if isinstance(e, ir.Call))
    for helper in program.helpers:
        match helper.body:
            case (ir.Return(value),) if calls[helper.name]:
                changed = _called(program, _put(helper, value, calls[helper.name]))
                if changed != program:
                    return changed
    return program


def _called(program: ir.Module, change: Change) -> ir.Module:
    return in_program(program, lambda e: from_below(e, change))


def _put(helper: ir.Function, value: ir.Expression, calls: int) -> Change:
    uses = Counter(e.name for e in ir.expressions((ir.Return(value),)) if isinstance(e, ir.Local))

    def change(e: ir.Expression) -> ir.Expression:
        if not isinstance(e, ir.Call) or e.function != helper.name:
            return e
        given: Mapping[str, ir.Expression] = dict(zip(helper.arguments, e.arguments, strict=True))
        put = from_below(value, lambda part: given[part.name] if isinstance(part, ir.Local) else part)
        once = calls == 1 and all(uses[name] <= 1 or not ir.children(a) for name, a in given.items())
        return put if once or expression_size(put) <= expression_size(e) else e

    return change


def _without_unused(program: ir.Module) -> ir.Module:
    program = _without_constant_state(_without_unused_arguments(program))
    program = state_slice(program, cells_read(program, program.entries))
    needed = (*program.handlers, *program.entries)
    return replace(program, functions=(*program.reached(*needed), *needed)).without_unused_parameters()


def _without_constant_state(program: ir.Module) -> ir.Module:
    """Replace reads of state that nothing writes by its initial value."""
    written = frozenset[str]().union(*(ir.stored_names(f.body) for f in program.handlers))
    constants = {v.name: v.initial for v in program.variables if v.name not in written}

    def change(e: ir.Expression) -> ir.Expression:
        match e:
            case ir.Cell(name) | ir.Element(name) if name in constants:
                initial = constants[name]
                return number(initial.value) if isinstance(initial, ir.Number) else initial
            case _:
                return e

    return _called(program, change) if constants else program


def _without_unused_arguments(program: ir.Module) -> ir.Module:
    kept: dict[str, list[int]] = {}
    functions: list[ir.Function] = []
    for helper in program.helpers:
        used = ir.local_names(helper.body)
        kept[helper.name] = [index for index, name in enumerate(helper.arguments) if name in used]
        functions.append(replace(helper, arguments=tuple(helper.arguments[index] for index in kept[helper.name])))

    def change(e: ir.Expression) -> ir.Expression:
        if not isinstance(e, ir.Call):
            return e
        return replace(e, arguments=tuple(e.arguments[index] for index in kept[e.function]))

    return _called(replace(program, functions=(*functions, *program.handlers, *program.entries)), change)
