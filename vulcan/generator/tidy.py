"""Leaves out what says nothing: constants among themselves, powers of powers, the scale of a RANK."""

from __future__ import annotations

from vulcan.anvil import ir
from vulcan.anvil.grammar import grammar
from vulcan.anvil.rewrite.traversal import with_children
from vulcan.generator.draft import PolicyDraft
from vulcan.generator.expression_tree import is_constant, operate, places
from vulcan.generator.units import constant

_IDLE = frozenset({"subtract", "divide", "floor_divide", "modulo", "min", "max", "and", "or"})


def tidy(draft: PolicyDraft, e: ir.Expression) -> ir.Expression:
    """The expression in fewer words; new constants become parameters of the draft."""
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
    """Whether something is compared with, divided by or taken from itself."""
    return any(
        part.operands[0] == part.operands[1]
        for _, part in places(e)
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
