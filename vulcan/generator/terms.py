"""Random terms with consistent units: quantities, powers, ratios, factors and conditions."""

from __future__ import annotations

from dataclasses import dataclass

from vulcan.anvil import ir
from vulcan.generator.draft import PolicyDraft
from vulcan.generator.expression_tree import operate
from vulcan.generator.statistic_calls import average, occurrence, percentile, stream
from vulcan.generator.units import UNITLESS, Unit, times
from vulcan.generator.vocabulary import Atom
from vulcan.task import History

_MOSTLY = 0.85
"""Probability that a term follows the direction given by the task's properties."""

ONE = ir.Number(1.0)


@dataclass(frozen=True, slots=True)
class UnitExpression:
    """An expression with its unit (never None), range, integrality and direction."""

    expression: ir.Expression
    unit: Unit
    low: float
    high: float
    whole: bool
    direction: int = 0


def quantity(draft: PolicyDraft, unit: Unit | None = None, *, varying: bool = True) -> UnitExpression | None:
    """Draw a quantity, of `unit` if given; `varying` prefers what differs between the calls of a RANK."""
    made = [(weight, maker) for weight, maker in _makers(draft, varying) if unit is None or maker.unit == unit]
    if not made:
        return None
    return _made(draft, draft.pick(made))


@dataclass(frozen=True, slots=True)
class _Maker:
    """A recipe for a quantity: an atom alone, or its distance from another."""

    atom: Atom
    unit: Unit
    other: Atom | None = None


def _makers(draft: PolicyDraft, varying: bool) -> list[tuple[float, _Maker]]:
    words = draft.words
    dull = 0.15 if varying and words.ranks else 1.0
    found: list[tuple[float, _Maker]] = []
    for atom in words.atoms:
        if atom.unit is None:
            continue
        match atom.kind:
            case "entity":
                found.append((4.0, _Maker(atom, atom.unit)))
            case "history":
                found.append((0.5, _Maker(atom, atom.unit)))
            case "instant":
                found += [(5.0, _Maker(atom, atom.unit, clock)) for clock in words.clocks_of(atom)]
                found += [(0.7, _Maker(atom, atom.unit, other)) for other in words.instants_like(atom)]
            case "global":
                found.append((2.0 * dull, _Maker(atom, atom.unit)))
                alike = [a for a in words.of("global") if a is not atom and a.unit == atom.unit]
                found += [(1.0 * dull / len(alike), _Maker(atom, atom.unit, other)) for other in alike]
            case "clock":
                found.append((0.2 * dull, _Maker(atom, atom.unit)))
            case "flag" | "scale":
                pass
    return found


def _made(draft: PolicyDraft, maker: _Maker) -> UnitExpression:
    atom, other = maker.atom, maker.other
    if other is not None and other.kind == "clock":
        since = average(draft, atom.expression, 0.2)
        return UnitExpression(
            operate("subtract", other.expression, since),
            maker.unit,
            0.0,
            atom.high,
            atom.whole and isinstance(since, ir.Read),
            -atom.direction,
        )
    if other is not None and atom.kind == "instant":
        gap = operate("abs", operate("subtract", atom.expression, other.expression))
        return UnitExpression(gap, maker.unit, 0.0, atom.high, atom.whole)
    if other is not None:
        difference = operate("subtract", atom.expression, other.expression)
        span = max(atom.high - other.low, other.high - atom.low)
        return UnitExpression(difference, maker.unit, -span, span, atom.whole and other.whole)
    made = average(draft, atom.expression, 0.12)
    low = atom.low if isinstance(made, ir.Read | ir.Query) else min(atom.low, _unknown(draft, atom))
    plain = UnitExpression(made, maker.unit, low, atom.high, atom.whole, atom.direction)
    remembered = [a for a in draft.words.of("history") if a.unit == maker.unit and _repeats(draft, a, atom)]
    if remembered and draft.chance(0.3):
        past: ir.Expression = draft.rng.choice(remembered).expression
        if draft.chance(0.6):
            past = operate("multiply", draft.parameter("MEMORY", draft.lognormal(0.7)), past)
        return UnitExpression(
            operate("add", plain.expression, past), plain.unit, plain.low, plain.high, False, plain.direction
        )
    return plain


def _repeats(draft: PolicyDraft, remembered: Atom, atom: Atom) -> bool:
    """Check whether the history's answer is the entity's own feature as of when it left."""
    if not isinstance(remembered.expression, ir.Query) or remembered.expression.query != "count":
        return False
    return any(
        remembered.expression.history == a.name and atom.expression == ir.Read(f"{a.entity}.{a.count_of}")
        for a in draft.words.task.signature.arguments
        if isinstance(a, History)
    )


def _unknown(draft: PolicyDraft, atom: Atom) -> float:
    """Return the value of a statistic of the atom before there are enough observations."""
    declared = dict(draft.words.task.signature.features())
    return declared[atom.expression.feature].unknown if isinstance(atom.expression, ir.Read) else 0.0


def safe(draft: PolicyDraft, term: UnitExpression) -> ir.Expression:
    """Return the term bounded above zero, so that division by it, its logarithm and its powers make sense."""
    if term.low > 0.0:
        return term.expression
    if term.low == 0.0 and term.whole:
        return operate("add", term.expression, ONE)
    floor = draft.parameter("FLOOR", 1.0 if term.whole or term.high > 1e3 else 0.01 * min(term.high, 1.0))
    if term.low == 0.0:
        return operate("add", term.expression, floor)
    return operate("max", term.expression, floor)


def sign(draft: PolicyDraft, direction: int) -> int:
    """Draw +1 or -1: mostly the direction, or a coin flip if it is 0."""
    if direction:
        return direction if draft.chance(_MOSTLY) else -direction
    return draft.rng.choice((1, -1))


def magnitude(draft: PolicyDraft, base: ir.Expression) -> ir.Expression:
    """Return the base, mostly as it is, else under a positive power, root or logarithm."""
    form = draft.pick(((6.0, "plain"), (1.5, "root"), (1.0, "log"), (0.5, "square"), (3.0, "free")))
    match form:
        case "root":
            return operate("sqrt", base)
        case "log":
            return operate("log1p", base)
        case "square":
            return operate("power", base, ir.Number(2.0))
        case "free":
            return operate("power", base, draft.parameter("EXPONENT", draft.lognormal(0.6)))
        case _:
            return base


def multiplied(draft: PolicyDraft, e: ir.Expression | None, term: UnitExpression) -> ir.Expression:
    """Return the expression multiplied or divided by a power of the term."""
    power = magnitude(draft, safe(draft, term))
    if sign(draft, term.direction) > 0:
        return power if e is None else operate("multiply", e, power)
    return operate("divide", ONE if e is None else e, power)


def yardstick(draft: PolicyDraft, term: UnitExpression) -> ir.Expression:
    """Draw a value to compare the term with: a statistic, another quantity of its unit, or a constant."""
    for feature in draft.words.ranked:
        if term.expression == ir.Read(feature) and draft.chance(0.6):
            return percentile(draft, feature)
    if isinstance(term.expression, ir.Read) and draft.chance(0.15):
        feature = term.expression.feature
        if feature in draft.words.streamed:
            return stream(draft, feature, "system" if feature in draft.words.ranked else draft.words.streamed[feature])
    if draft.chance(0.45):
        other = quantity(draft, term.unit, varying=False)
        if other is not None and other.expression != term.expression:
            if draft.chance(0.5):
                return operate("multiply", draft.parameter("SHARE", draft.lognormal(1.0)), other.expression)
            return other.expression
    high = min(term.high, 2.0**24) if draft.words.ranks else term.high
    return draft.parameter("THRESHOLD", draft.within(max(term.low, 0.0) if term.high > 0.0 else term.low, high))


def condition(draft: PolicyDraft) -> ir.Expression:
    """Draw a test: a flag, an occurrence, or a quantity compared with a yardstick."""
    flags = draft.words.of("flag")
    term = quantity(draft)
    if draft.chance(0.08) and (found := occurrence(draft)) is not None:
        return found
    if term is None or (flags and draft.chance(0.3)):
        flag: ir.Expression = draft.rng.choice(flags or list(draft.words.atoms)).expression
        return flag
    return ir.Compare((draft.rng.choice(("<", ">")),), (term.expression, yardstick(draft, term)))


def ratio(draft: PolicyDraft) -> ir.Expression:
    """Draw a unitless number, mostly a ratio of two quantities of one unit or the logarithm of a quantity."""
    flags = draft.words.of("flag")
    if draft.chance(0.06) and (found := occurrence(draft)) is not None:
        return operate("add", ONE, operate("multiply", draft.parameter("BONUS", draft.lognormal(1.0)), found))
    if flags and draft.chance(0.2):
        flag = draft.rng.choice(flags).expression
        return operate("add", ONE, operate("multiply", draft.parameter("BONUS", draft.lognormal(1.0)), flag))
    term = quantity(draft)
    if term is None:
        return draft.parameter("FACTOR", draft.lognormal(0.5))
    if not term.unit:
        return safe(draft, term)
    other = quantity(draft, term.unit, varying=False)
    if other is not None and other.expression != term.expression and draft.chance(0.75):
        return operate("divide", term.expression, safe(draft, other))
    return operate("log1p", operate("abs", term.expression) if term.low < 0.0 else term.expression)


def factor(draft: PolicyDraft) -> ir.Expression:
    """Draw a unitless factor: a constant, 1 plus a weighted ratio, or a power of a ratio."""
    form = draft.pick(((2.0, "constant"), (2.0, "power"), (2.0, "bonus")))
    if form == "constant":
        return draft.parameter("FACTOR", draft.lognormal(0.8))
    part = ratio(draft)
    if form == "bonus":
        return operate("add", ONE, operate("multiply", draft.parameter("WEIGHT", draft.lognormal(1.0)), part))
    return operate("power", operate("abs", part), draft.parameter("EXPONENT", draft.lognormal(0.6)))


def of_unit(draft: PolicyDraft, unit: Unit, depth: int = 2) -> ir.Expression | None:
    """Draw an expression of that unit; None if the task's features allow none.

    It is a quantity of the unit or a product that has it, such as a rate times a time.
    """
    if unit == UNITLESS:
        return ratio(draft)
    whole = quantity(draft, unit)
    if whole is not None and (depth == 0 or draft.chance(0.6)):
        return whole.expression
    made = _converted(draft, unit, depth) if depth else None
    return made or (whole.expression if whole is not None else None)


def _converted(draft: PolicyDraft, unit: Unit, depth: int) -> ir.Expression | None:
    """Draw a quantity that shares a base unit with `unit`, multiplied or divided by the missing unit."""
    term = quantity(draft)
    shared = {name for name, _ in unit}
    for _ in range(6):
        if term is not None and term.unit != unit and shared & {name for name, _ in term.unit}:
            break
        term = quantity(draft)
    else:
        return _product_of_powers(draft, unit)
    if term is None:
        return None
    missing = times(unit, term.unit, -1.0)
    rest = of_unit(draft, missing, depth - 1)
    if rest is not None:
        return operate("multiply", term.expression, rest)
    inverse = quantity(draft, times(UNITLESS, missing, -1.0))
    return operate("divide", term.expression, safe(draft, inverse)) if inverse is not None else None


def _product_of_powers(draft: PolicyDraft, unit: Unit) -> ir.Expression | None:
    made: ir.Expression | None = None
    for name, exponent in unit:
        part = quantity(draft, ((name, 1.0),))
        if part is None:
            return None
        power = safe(draft, part)
        if abs(exponent) != 1.0:
            power = operate("power", power, ir.Number(abs(exponent)))
        if exponent > 0.0:
            made = power if made is None else operate("multiply", made, power)
        else:
            made = operate("divide", ONE if made is None else made, power)
    return made
