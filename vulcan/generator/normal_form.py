"""Flattening of a program into the one expression it computes, and simplification of that expression.

Flattening substitutes assignments, unrolls short loops, inlines helpers and turns branches into choices.
Simplification folds constants and powers of powers, and drops the positive scale of a RANK.
"""

from __future__ import annotations

from collections.abc import Mapping

from vulcan.anvil import ir
from vulcan.anvil.grammar import grammar
from vulcan.anvil.rewrite.traversal import with_children
from vulcan.generator.draft import PolicyDraft
from vulcan.generator.expression_tree import is_constant, is_larger, operate, subexpressions
from vulcan.generator.units import constant

MAX = 300
_MAX_LOOP = 8
_MAX_STEPS = 2_000


class _NotFlat(Exception):
    """The program has a long loop or one with an early exit, or its expression would become too large."""


def flatten(program: ir.Module) -> ir.Expression | None:
    """Return the expression a program computes; None if it cannot be flattened to a workable size."""
    try:
        return _Flattener(program).result(program.entry, {})
    except _NotFlat:
        return None


class _Flattener:
    def __init__(self, program: ir.Module) -> None:
        self.helpers = {function.name: function for function in program.functions}
        self.steps = 0

    def result(self, function: ir.Function, names: Mapping[str, ir.Expression]) -> ir.Expression:
        value, _ = self.block(function.body, names)
        if value is None:
            raise _NotFlat
        return value

    def block(
        self, body: tuple[ir.Statement, ...], names: Mapping[str, ir.Expression]
    ) -> tuple[ir.Expression | None, dict[str, ir.Expression]]:
        """Return the value the statements return, None if not on every path, and the names' values after them."""
        known = dict(names)
        for index, statement in enumerate(body):
            self.steps += 1
            if self.steps > _MAX_STEPS:  # the code after a branch is walked once per arm
                raise _NotFlat
            match statement:
                case ir.Return(value):
                    return self.put(value, known), known
                case ir.Assign(name, value):
                    known[name] = self.put(value, known)
                case ir.If(test, then, otherwise):
                    condition = self.put(test, known)
                    if ir.may_return((*then, *otherwise)):
                        rest = body[index + 1 :]
                        one, _ = self.block((*then, *rest), known)
                        other, _ = self.block((*otherwise, *rest), known)
                        if one is None or other is None:
                            raise _NotFlat
                        return self.small(ir.Choose(condition, one, other)), known
                    _, after_then = self.block(then, known)
                    _, after_otherwise = self.block(otherwise, known)
                    known = self.merged(condition, after_then, after_otherwise)
                case ir.Loop(name, start, stop, step, inner) if statement.trips <= _MAX_LOOP:
                    if _leaves(inner):
                        raise _NotFlat
                    for value_now in range(start, stop, step):
                        known[name] = _integer(value_now)
                        _, known = self.block(inner, known)
                case _:
                    raise _NotFlat
        return None, known

    def merged(
        self, condition: ir.Expression, one: Mapping[str, ir.Expression], other: Mapping[str, ir.Expression]
    ) -> dict[str, ir.Expression]:
        return {
            name: value if value == other[name] else self.small(ir.Choose(condition, value, other[name]))
            for name, value in one.items()
            if name in other
        }

    def put(self, e: ir.Expression, known: Mapping[str, ir.Expression]) -> ir.Expression:
        match e:
            case ir.Local(name):
                return known[name]
            case ir.Call(function, arguments):
                helper = self.helpers[function]
                given = (self.put(a, known) for a in arguments)
                return self.small(self.result(helper, dict(zip(helper.arguments, given, strict=True))))
            case _:
                return self.small(with_children(e, tuple(self.put(part, known) for part in ir.children(e))))

    def small(self, e: ir.Expression) -> ir.Expression:
        if is_larger(e, MAX):
            raise _NotFlat
        return e


def _leaves(body: tuple[ir.Statement, ...]) -> bool:
    """Check whether a loop body may end the loop, or an iteration, early."""
    return ir.may_return(body) or any(
        isinstance(s, ir.Break | ir.Continue) or (isinstance(s, ir.If) and (_leaves(s.then) or _leaves(s.otherwise)))
        for s in body
    )


def _integer(value: int) -> ir.Expression:
    return ir.Number(float(value)) if value >= 0 else ir.Operate("negate", (ir.Number(float(-value)),))


_IDLE = frozenset({"subtract", "divide", "floor_divide", "modulo", "min", "max", "and", "or"})


def tidy(draft: PolicyDraft, e: ir.Expression) -> ir.Expression:
    """Simplify an expression; folded constants become new parameters of the draft."""
    e = _tidied(draft, e)
    while draft.words.ranks:
        match e:
            case ir.Operate("multiply", (scale, rest)) if (constant(scale, draft.parameters) or 0.0) > 0.0:
                e = rest
            case ir.Operate("multiply" | "divide", (rest, scale)) if (constant(scale, draft.parameters) or 0.0) > 0.0:
                e = rest
            case _:
                break
    return e


def has_idle_part(e: ir.Expression) -> bool:
    """Check whether an idle operation (comparison, division, subtraction, ...) has two equal operands."""
    return any(
        part.operands[0] == part.operands[1]
        for _, part in subexpressions(e)
        if isinstance(part, ir.Compare) or (isinstance(part, ir.Operate) and part.operation in _IDLE)
    )


def _tidied(draft: PolicyDraft, e: ir.Expression) -> ir.Expression:
    e = with_children(e, tuple(_tidied(draft, part) for part in ir.children(e)))
    match e:
        case ir.Operate(operation, operands) if constant(e, draft.parameters) is None and is_constant(e):
            values = [constant(operand, draft.parameters) for operand in operands]
            known = [value for value in values if value is not None]
            if len(known) == len(values):
                return draft.parameter("CONSTANT", grammar.OPERATIONS[operation].evaluate(*known))
            return e
        case ir.Operate("multiply", (scale, ir.Operate("multiply", (inner, rest)))):
            a, b = constant(scale, draft.parameters), constant(inner, draft.parameters)
            if a is not None and b is not None:
                return operate("multiply", draft.parameter("WEIGHT", a * b), rest)
            return e
        case ir.Operate("power", (ir.Operate("power", (base, inner)), outer)):
            a, b = constant(inner, draft.parameters), constant(outer, draft.parameters)
            if a is not None and b is not None:
                return operate("power", base, draft.parameter("EXPONENT", a * b))
            return e
        case ir.Operate("abs", (ir.Operate("abs") as inner,)):
            return inner
        case ir.Choose(_, then, otherwise) if then == otherwise:
            return then
        case _:
            return e
