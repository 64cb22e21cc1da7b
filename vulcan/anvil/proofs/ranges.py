"""Bounds of an operation's result from those of its operands, tighter than `anvil.analysis.intervals`.

Rounding is monotone and so is saturation, so for + - * / and sqrt bounds computed in float64 hold as they are. The
mathematical library is trusted to err by under 1e-12 of the result (it documents 4 units in the last place, 1e-15).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from vulcan.anvil import semantics as total
from vulcan.anvil.analysis.intervals import OPERATION_BOUNDS, Interval, clamped
from vulcan.anvil.proofs.terms import Term

_SUBNORMAL = 1e-300
_FUZZ = 1e-320
"""Bounds of library functions closer to 0 than the first are widened by the second: precision is lower there."""

MAX_EXACT_FLOOR = 2.0**49
"""Magnitude below which CPython's floor division is the floor of the exact quotient.

Its two roundings move the quotient by under a quarter, which the last step of the algorithm corrects.
"""

LIBRARY = frozenset({"exp", "expm1", "log", "log2", "log10", "log1p", "tanh", "atan", "sin", "cos", "power"})
"""Operations computed by the mathematical library: near the exact result but not always the nearest float64."""


def bounds(term: Term, ranges: list[Interval], least: Callable[[Term], float]) -> Interval:
    """Return bounds of the term's operation for operands within these ranges.

    `least` gives the smallest nonzero magnitude of a part.
    """
    if term.operation in _BY_LEAST:
        place = 1 if term.operation != "power" else 0
        smallest = least(term.parts[place]) if ranges[place].has_zero else 0.0
        found = _BY_LEAST[term.operation](ranges[0], ranges[1], smallest)
        return _fuzzy(found) if term.operation in LIBRARY else found
    if term.operation == "multiply" and term.parts[0] is term.parts[1]:
        return _square(ranges[0])
    found = OPERATION_BOUNDS[term.operation](*ranges)
    return _fuzzy(found) if term.operation in LIBRARY else found


def _fuzzy(interval: Interval) -> Interval:
    low, high = interval.low, interval.high
    if 0.0 < low < _SUBNORMAL:
        low = max(0.0, low - _FUZZ)
    elif -_SUBNORMAL < low < 0.0:
        low -= _FUZZ
    if 0.0 <= high < _SUBNORMAL and not (low == high == 0.0):
        high += _FUZZ
    elif -_SUBNORMAL < high < 0.0:
        high = min(0.0, high + _FUZZ)
    return Interval(low, high, interval.whole)


def _square(a: Interval) -> Interval:
    least = 0.0 if a.has_zero else a.least_magnitude
    return clamped(least * least, a.magnitude * a.magnitude, a.whole)


def _pieces(b: Interval, least: float) -> list[Interval]:
    """Return the nonzero values of b, by sign."""
    found = []
    if b.high > 0.0:
        found.append(Interval(b.low if b.low > 0.0 else min(least, b.high), b.high, b.whole))
    if b.low < 0.0:
        found.append(Interval(b.low, b.high if b.high < 0.0 else max(-least, b.low), b.whole))
    return found


def _by_pieces(
    a: Interval, b: Interval, least: float, quotient: Callable[[float, float], float], whole: bool
) -> Interval:
    pieces = _pieces(b, least)
    values = [quotient(x, y) for piece in pieces for x, y in product((a.low, a.high), (piece.low, piece.high))]
    if b.has_zero:
        values.append(0.0)
    return Interval(min(values), max(values), whole)


def _divide(a: Interval, b: Interval, least: float) -> Interval:
    return _by_pieces(a, b, least, total.divide, False)


def _floor_divide(a: Interval, b: Interval, least: float) -> Interval:
    quotient = _divide(a, b, least)
    if quotient.magnitude < MAX_EXACT_FLOOR:
        return _by_pieces(a, b, least, total.floor_divide, True)
    low = quotient.low - 1.0 - abs(quotient.low) * 1e-14
    if a.low >= 0.0 and b.low >= 0.0:
        low = 0.0  # a - a % b is at least 0
    high = quotient.high + 1.0 + abs(quotient.high) * 1e-14
    return Interval(total.saturate(low), total.saturate(high), True)


def _power(a: Interval, b: Interval, least: float) -> Interval:
    """Bound a power: for positive bases it is monotone in each operand; 0 and negative bases are separate cases."""
    found: list[Interval] = []
    positive = [piece for piece in _pieces(a, least) if piece.low > 0.0]
    for piece in positive:
        found.append(_power_of_positive(piece, b))
    if a.has_zero:
        found.append(Interval(0.0, 1.0 if b.has_zero else 0.0))
    if a.low < 0.0:
        found.append(_power_of_negative(a, b, least))
    joined = found[0]
    for other in found[1:]:
        joined = joined | other
    return joined


def _power_of_positive(a: Interval, b: Interval) -> Interval:
    values = [total.power(x, y) for x, y in product((a.low, a.high), (b.low, b.high))]
    return clamped(min(values) * (1.0 - 1e-12), max(values) * (1.0 + 1e-12))


def _power_of_negative(a: Interval, b: Interval, least: float) -> Interval:
    """Bound powers of a negative base: only integer ones are nonzero, plus or minus those of its magnitude."""
    nothing = Interval(0.0, 0.0)
    if b.low == b.high and not b.low.is_integer():
        return nothing
    magnitudes = Interval(least if a.high >= 0.0 else -a.high, -a.low)
    image = _power_of_positive(magnitudes, b)
    if b.low == b.high and b.low % 2.0 == 0.0:
        return image
    if b.low == b.high:
        return Interval(-image.high, -image.low)
    return Interval(-image.high, image.high) | nothing


_BY_LEAST: dict[str, Callable[[Interval, Interval, float], Interval]] = {
    "divide": _divide,
    "floor_divide": _floor_divide,
    "power": _power,
}
"""Operations that are large where an operand is near 0, but not where it is 0."""
