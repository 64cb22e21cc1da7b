"""Random expressions for a whole policy, drawn from the task's declaration alone."""

from __future__ import annotations

from vulcan.anvil import ir
from vulcan.generator.draft import PolicyDraft
from vulcan.generator.expression_tree import operate
from vulcan.generator.statistic_calls import average
from vulcan.generator.terms import (
    condition,
    factor,
    multiplied,
    of_unit,
    quantity,
    ratio,
    safe,
    sign,
)
from vulcan.generator.vocabulary import Atom, near_result_range


def fresh(draft: PolicyDraft) -> ir.Expression:
    return _rank(draft) if draft.words.ranks else _value(draft)


def simplest(draft: PolicyDraft) -> ir.Expression:
    """Return the first atom, preferring those of the entity; valid for every task."""
    own = draft.words.of("entity", "instant") or list(draft.words.atoms)
    return own[0].expression


# RANK: only the order counts, so the forms differ in shape, not in scale


def _rank(draft: PolicyDraft) -> ir.Expression:
    form = draft.pick(((5.0, _product), (1.5, _sum_of_alike), (1.5, _sum_of_logarithms)))
    made = form(draft)
    extra = draft.pick(((7.0, "none"), (1.5, "factor"), (1.0, "branch"), (0.5, "scale")))
    if extra == "factor":
        return operate("multiply", made, factor(draft))
    if extra == "branch":
        return ir.Choose(
            condition(draft), operate("multiply", draft.parameter("FACTOR", draft.lognormal(1.0)), made), made
        )
    scale = draft.words.of("scale")
    if extra == "scale" and scale:
        return operate("add", draft.rng.choice(scale).expression, made)
    return made


def _product(draft: PolicyDraft) -> ir.Expression:
    """Draw a product of powers of up to four quantities."""
    made: ir.Expression | None = None
    used: list[ir.Expression] = []
    for _ in range(draft.pick(((1.0, 1), (3.0, 2), (3.0, 3), (1.0, 4)))):
        term = quantity(draft)
        if term is None or term.expression in used:
            continue
        used.append(term.expression)
        made = multiplied(draft, made, term)
    return made if made is not None else simplest(draft)


def _sum_of_alike(draft: PolicyDraft) -> ir.Expression:
    """Draw a weighted sum of quantities or instants of one unit."""
    words = draft.words
    start = [a for a in words.of("entity", "instant", "history") if a.unit is not None]
    if not start:
        return _product(draft)
    first = draft.rng.choice(start)
    made: ir.Expression = average(draft, first.expression, 0.2)
    if sign(draft, first.direction) < 0:
        made = operate("negate", made)
    for _ in range(draft.pick(((2.0, 1), (1.0, 2)))):
        others: list[Atom] = [a for a in start if a.unit == first.unit]
        other = draft.rng.choice(others)
        operation = "add" if sign(draft, other.direction) > 0 else "subtract"
        part = operate(
            "multiply", draft.parameter("WEIGHT", draft.lognormal(2.0)), average(draft, other.expression, 0.2)
        )
        made = operate(operation, made, part)
    return made


def _sum_of_logarithms(draft: PolicyDraft) -> ir.Expression:
    made: ir.Expression | None = None
    for _ in range(draft.pick(((2.0, 2), (1.5, 3)))):
        term = quantity(draft)
        if term is None:
            continue
        part: ir.Expression = operate("log", safe(draft, term))
        if made is not None:
            part = operate("multiply", draft.parameter("WEIGHT", draft.lognormal(0.7)), part)
        upward = sign(draft, term.direction) > 0
        if made is None:
            made = part if upward else operate("negate", part)
        else:
            made = operate("add" if upward else "subtract", made, part)
    return made if made is not None else simplest(draft)


# VALUE: the scale counts, so the forms start from values in the result's range


def _value(draft: PolicyDraft) -> ir.Expression:
    form = draft.pick(
        ((3.0, _scaled_anchor), (3.0, _converted), (1.5, _scaled_ratio), (1.5, _amount), (1.0, _shifted_anchor))
    )
    made = form(draft)
    extra = draft.pick(((5.0, "none"), (3.0, "branch"), (2.0, "factor")))
    if extra == "factor":
        return operate("multiply", made, factor(draft))
    if extra == "branch":
        return ir.Choose(condition(draft), alternative(draft, made), made)
    return made


def alternative(draft: PolicyDraft, made: ir.Expression) -> ir.Expression:
    """Draw another result for the other arm of a branch, mostly of the same unit."""
    unit = draft.unit(made)
    form = draft.pick(((4.0, "factor"), (2.0, "unit"), (1.0, "constant")))
    if form == "unit" and unit is not None:
        other = of_unit(draft, unit)
        if other is not None:
            return other
    if form == "constant" and not draft.words.ranks:
        return result_constant(draft)
    return operate("multiply", draft.parameter("FACTOR", draft.lognormal(0.7)), made)


def result_constant(draft: PolicyDraft) -> ir.Expression:
    low, high = draft.words.result_range or (0.0, 1.0)
    return draft.parameter("LEVEL", draft.within(low, high))


def _anchor(draft: PolicyDraft) -> ir.Expression | None:
    bounds = draft.words.result_range
    near = [a for a in draft.words.atoms if bounds is not None and near_result_range(a, bounds)]
    return draft.rng.choice(near).expression if near else None


def _scaled_anchor(draft: PolicyDraft) -> ir.Expression:
    anchor = _anchor(draft)
    return _scaled_ratio(draft) if anchor is None else operate("multiply", anchor, factor(draft))


def _shifted_anchor(draft: PolicyDraft) -> ir.Expression:
    anchor = _anchor(draft)
    if anchor is None:
        return result_constant(draft)
    low, high = draft.words.result_range or (0.0, 1.0)
    step = draft.parameter("STEP", draft.within(0.0, high - low) * draft.rng.choice((0.01, 0.1, 1.0)))
    return operate(draft.rng.choice(("add", "subtract")), anchor, step)


def _scaled_ratio(draft: PolicyDraft) -> ir.Expression:
    return operate("multiply", result_constant(draft), ratio(draft))


def _converted(draft: PolicyDraft) -> ir.Expression:
    """Draw an expression in the unit of a feature near the result's range, such as a rate times a time."""
    anchor = _anchor(draft)
    unit = None if anchor is None else draft.unit(anchor)
    made = of_unit(draft, unit) if unit is not None else None
    if made is None:
        return _amount(draft)
    return made if draft.chance(0.5) else operate("multiply", draft.parameter("FACTOR", draft.lognormal(0.5)), made)


def _amount(draft: PolicyDraft) -> ir.Expression:
    made = _product(draft)
    return operate("multiply", draft.parameter("FACTOR", draft.lognormal(0.7)), made)
