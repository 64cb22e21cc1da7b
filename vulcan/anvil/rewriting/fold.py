"""Expressions that compute the same in fewer nodes.

Only what holds exactly in float64 with total arithmetic is used: nothing is reassociated, and `x / x` is not 1, for
it is 0 where x is 0. Only the sign of a zero may differ, and no operation of the language tells zeros apart.
"""

from __future__ import annotations

import operator

from vulcan.anvil import grammar
from vulcan.anvil import program as p
from vulcan.anvil.rewriting.rewrite import from_below

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
