"""A program that computes the same in fewer nodes: constants folded, dead code and idle names left out.

Expressions that compute the same in fewer nodes.

Only what holds exactly in float64 with total arithmetic is used: nothing is reassociated, and `x / x` is not 1, for
it is 0 where x is 0. Only the sign of a zero may differ, and no operation of the language tells zeros apart.

Assignments whose values nothing reads.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from vulcan.anvil import ir as p
from vulcan.anvil.grammar import grammar
from vulcan.anvil.rewrite.traversal import Change, expression_size, from_below, in_block, in_program

ZERO = p.Number(0.0)
ONE = p.Number(1.0)

_COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def folded(e: p.Expression) -> p.Expression:
    """The expression with its constants among themselves computed, and what does nothing left out."""
    return from_below(e, _folded)


def constant(e: p.Expression) -> float | None:
    """The value of a number, or of the negative of one, which is how the language spells a negative number."""
    match e:
        case p.Number(value):
            return value
        case p.Operate("negate", (p.Number(value),)):
            return -value
        case _:
            return None


def number(value: float) -> p.Expression:
    """The expression of a number, as the checker reads it: a negative one is the negative of a positive one."""
    return p.Operate("negate", (p.Number(-value),)) if value < 0.0 else p.Number(value + 0.0)


def _folded(e: p.Expression) -> p.Expression:
    match e:
        case p.Operate("negate", (p.Number(),)):
            return e
        case p.Operate("and" | "or" as operation, operands):
            return _connected(operation, operands, e)
        case p.Operate(operation, operands):
            values = [value for o in operands if (value := constant(o)) is not None]
            if len(values) == len(operands):
                return number(grammar.OPERATIONS[operation].evaluate(*values))
            return _without_idle(e)
        case p.Compare(operators, operands):
            values = [value for o in operands if (value := constant(o)) is not None]
            if len(values) == len(operands):
                pairs = zip(operators, values, values[1:], strict=False)
                return ONE if all(_COMPARE[op](a, b) for op, a, b in pairs) else ZERO
            if len(operators) == 1 and operands[0] == operands[1]:
                return ONE if operators[0] in ("<=", ">=", "==") else ZERO
            return e
        case p.Choose(test, then, otherwise):
            value = constant(test)
            if value is not None:
                return then if value != 0.0 else otherwise
            return then if then == otherwise else e
        case _:
            return e


def _without_idle(e: p.Operate) -> p.Expression:
    match e.operation, e.operands:
        case ("add", (x, p.Number(0.0))) | ("add", (p.Number(0.0), x)) | ("subtract", (x, p.Number(0.0))):
            return x
        case ("multiply", (x, p.Number(1.0))) | ("multiply", (p.Number(1.0), x)):
            return x
        case ("divide", (x, p.Number(1.0))) | ("power", (x, p.Number(1.0))):
            return x
        case ("multiply", (_, p.Number(0.0))) | ("multiply", (p.Number(0.0), _)) | ("divide", (p.Number(0.0), _)):
            return ZERO
        case ("power", (_, p.Number(0.0))) | ("power", (p.Number(1.0), _)):
            return ONE
        case ("subtract", (x, y)) if x == y:
            return ZERO
        case ("subtract", (p.Number(0.0), x)):
            return p.Operate("negate", (x,), e.at)
        case ("add", (x, p.Operate("negate", (y,)))):
            return p.Operate("subtract", (x, y), e.at)
        case ("subtract", (x, p.Operate("negate", (y,)))):
            return p.Operate("add", (x, y), e.at)
        case ("negate", (p.Operate("negate", (x,)),)) | ("plus", (x,)):
            return x
        case ("truth", (p.Compare() as x,)):
            return x
        case ("abs", (p.Operate("abs") as x,)):
            return x
        case ("min" | "max" as operation, operands):
            kept = tuple(dict.fromkeys(operands))
            return kept[0] if len(kept) == 1 else p.Operate(operation, kept, e.at)
        case _:
            return e


def _connected(operation: str, operands: tuple[p.Expression, ...], e: p.Operate) -> p.Expression:
    """`and` gives its first 0, or the last; `or` its first that is not 0, or the last."""
    kept: list[p.Expression] = []
    for index, operand in enumerate(operands):
        value = constant(operand)
        decides = value is not None and (value == 0.0) == (operation == "and")
        if value is None or decides or index == len(operands) - 1:
            kept.append(operand)
        if decides:
            break
    if len(kept) == 1:
        return kept[0]
    return e if len(kept) == len(operands) else p.Operate(operation, tuple(kept), e.at)


Names = frozenset[str]


def without_dead(body: tuple[p.Statement, ...], after: Names = frozenset()) -> tuple[p.Statement, ...]:
    """The statements without those that assign what nothing reads before it is assigned again.

    `after` are the names that are read behind the statements.
    """
    return _walked(body, after, after)[0]


def _walked(body: tuple[p.Statement, ...], live: Names, leaving: Names) -> tuple[tuple[p.Statement, ...], Names]:
    """What is kept, and the names live before it; `leaving` are those live where `break` and `continue` lead."""
    kept: list[p.Statement] = []
    for statement in reversed(body):
        match statement:
            case p.Assign(name, value):
                if name not in live:
                    continue
                live = (live - {name}) | _reads(value)
            case p.Return(value):
                live = _reads(value)
            case p.Break() | p.Continue():
                live = leaving
            case p.If(test, then, otherwise):
                then, after_test = _walked(then, live, leaving)
                otherwise, instead = _walked(otherwise, live, leaving)
                if not then and not otherwise:
                    continue
                live = after_test | instead | _reads(test)
                kept.append(replace(statement, then=then, otherwise=otherwise))
                continue
            case p.Loop(name, body=inner):
                inner, before = _looped(inner, live)
                if name not in live and _leads_nowhere(inner):
                    continue
                live = before
                kept.append(replace(statement, body=inner))
                continue
        kept.append(statement)
    return tuple(reversed(kept)), live


def _looped(body: tuple[p.Statement, ...], live: Names) -> tuple[tuple[p.Statement, ...], Names]:
    """What is kept of a loop's body, and what is live before the loop: what is live behind it, or in a further pass."""
    while True:
        kept, before = _walked(body, live, live)
        if before <= live:
            return kept, live
        live |= before


def _leads_nowhere(body: tuple[p.Statement, ...]) -> bool:
    """Whether the body of a loop can do nothing but end the loop."""
    return all(
        isinstance(s, p.Break | p.Continue)
        or (isinstance(s, p.If) and _leads_nowhere(s.then) and _leads_nowhere(s.otherwise))
        for s in body
    )


def _reads(e: p.Expression) -> Names:
    return frozenset(part.name for part in p.expressions((p.Return(e),)) if isinstance(part, p.Local))


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
