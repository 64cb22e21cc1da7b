"""One expression out of two. The first's parameters are the draft's; the second's are taken over."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vulcan.anvil import ir
from vulcan.anvil.rewrite.traversal import Path, replaced
from vulcan.generator.draft import PolicyDraft, rounded
from vulcan.generator.expression_tree import is_constant, is_larger, operate, places
from vulcan.generator.terms import condition
from vulcan.generator.units import Unit, unit_of

Parameters = Mapping[str, float]
Crossover = Callable[[PolicyDraft, ir.Expression, ir.Expression, Parameters], ir.Expression | None]

_MAX_GRAFT = 25


def graft(draft: PolicyDraft, one: ir.Expression, other: ir.Expression, parameters: Parameters) -> ir.Expression | None:
    """A part of the one is replaced by a part of the other that has the same unit."""
    donors: dict[tuple[str, Unit | None], list[ir.Expression]] = {}
    for path, part in places(other):
        if path and not is_constant(part) and not is_larger(part, _MAX_GRAFT) and not _is_open(part):
            key = _kind(part), unit_of(part, draft.words.units, parameters)
            donors.setdefault(key, []).append(part)
    pairs: list[tuple[Path, list[ir.Expression]]] = []
    for path, part in places(one):
        if path and not is_constant(part):
            fitting = [d for d in donors.get((_kind(part), draft.unit(part)), []) if d != part]
            if fitting:
                pairs.append((path, fitting))
    if not pairs:
        return None
    path, fitting = draft.rng.choice(pairs)
    return replaced(one, path, draft.adopt(draft.rng.choice(fitting), parameters))


def insert_graft(
    draft: PolicyDraft, one: ir.Expression, other: ir.Expression, parameters: Parameters
) -> ir.Expression | None:
    """A factor or divisor of the other becomes one of the whole of the one, to a power."""
    factors = [
        (parent.operation, part)
        for _, parent in places(other)
        if isinstance(parent, ir.Operate) and parent.operation in ("multiply", "divide")
        for part in parent.operands[1:]
        if not is_constant(part) and not is_larger(part, _MAX_GRAFT) and not _is_open(part)
    ]
    factors = [(operation, part) for operation, part in factors if part not in [leaf for _, leaf in places(one)]]
    if not factors:
        return None
    operation, part = draft.rng.choice(factors)
    return operate(operation, one, draft.adopt(part, parameters))


def blend_product(
    draft: PolicyDraft, one: ir.Expression, other: ir.Expression, parameters: Parameters
) -> ir.Expression | None:
    """One times a power of the other."""
    if _is_open(other):
        return None
    exponent = draft.parameter("EXPONENT", draft.lognormal(0.5))
    return operate("multiply", one, operate("power", draft.adopt(other, parameters), exponent))


def blend_sum(
    draft: PolicyDraft, one: ir.Expression, other: ir.Expression, parameters: Parameters
) -> ir.Expression | None:
    """A weighted sum, where the units agree."""
    if _is_open(other) or draft.unit(one) != unit_of(other, draft.words.units, parameters):
        return None
    weight = draft.parameter("WEIGHT", draft.lognormal(1.0))
    return operate("add", one, operate("multiply", weight, draft.adopt(other, parameters)))


def blend_choice(
    draft: PolicyDraft, one: ir.Expression, other: ir.Expression, parameters: Parameters
) -> ir.Expression | None:
    """The one or the other by a condition, where the units agree."""
    if _is_open(other) or draft.unit(one) != unit_of(other, draft.words.units, parameters):
        return None
    return ir.Choose(condition(draft), one, draft.adopt(other, parameters))


def average_constants(
    draft: PolicyDraft, one: ir.Expression, other: ir.Expression, parameters: Parameters
) -> ir.Expression | None:
    """The constants that both have under one name, each on a random point of the line through its two values."""
    shared = [part.name for _, part in places(one) if isinstance(part, ir.Parameter)]
    differing = [n for n in dict.fromkeys(shared) if n in parameters and parameters[n] != draft.parameters[n]]
    if not differing:
        return None
    for name in differing:
        a, b = draft.parameters[name], parameters[name]
        draft.parameters[name] = rounded(a + draft.rng.uniform(-0.5, 1.5) * (b - a))
    return one


CROSSOVERS: tuple[tuple[float, str, Crossover], ...] = (
    (0.8, "put a part of the second into the first", graft),
    (4.0, "gave the first a factor of the second", insert_graft),
    (0.7, "multiplied the first by a power of the second", blend_product),
    (0.4, "added the second to the first", blend_sum),
    (0.5, "chose between the two by a condition", blend_choice),
    (1.5, "mixed the constants of the two", average_constants),
)


def _kind(e: ir.Expression) -> str:
    return "test" if isinstance(e, ir.Compare) else "number"


def _is_open(e: ir.Expression) -> bool:
    """Whether it names locals or helpers of the program it comes from."""
    return isinstance(e, ir.Local | ir.Call) or any(_is_open(part) for part in ir.children(e))
