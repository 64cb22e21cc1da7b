"""The binary scale of each value in a fixed-point program: how many of its 63 bits stand behind the point.

A value x of scale s is held as the integer nearest to x * 2**s. The bounds of the value and its typical magnitude
decide. Where the bounds leave room for enough bits behind the leading one of a typical value, the scale is the finest
with which nothing saturates. Else, as for the cube of a time whose declared range is years, it is the one that gives a
typical value so many bits, and what is many times the typical saturates. What is certainly whole is kept whole.

The typical magnitude of a feature is the geometric middle of its declared range; it follows the operations from there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from vulcan.anvil.flow.intervals import ANYTHING, Interval
from vulcan.task import Feature

BITS = 62
"""Of 64: one is the sign, and one is left for the rounding of bounds."""
TYPICAL_BITS = 28
"""Bits behind the leading one of a typical value, at least; they leave 2**34 times the typical before it saturates."""
MOST_SATURATING = 40
"""The finest scale of what may saturate: however small it is taken to be, there is room up to 2**22."""
LEAST, MOST = -60, 90
"""Scales stay in between: coarser or finer ones are beyond 64-bit integers."""
_LEAST_TYPICAL, _MOST_TYPICAL = -90.0, 90.0


@dataclass(frozen=True, slots=True)
class Kind:
    """Bounds of a value, and the binary logarithm of its typical magnitude."""

    bounds: Interval
    typical: float

    def __or__(self, other: Kind) -> Kind:
        return Kind(self.bounds | other.bounds, max(self.typical, other.typical))

    @property
    def scale(self) -> int:
        room = BITS - integer_bits(self.bounds.magnitude)
        wanted = min(math.ceil(TYPICAL_BITS - self.typical), MOST_SATURATING)
        if self.bounds.whole:
            return 0 if room >= 0 else max(min(0, max(room, wanted)), LEAST)
        return min(max(room, wanted, LEAST), MOST)


def integer_bits(magnitude: float) -> int:
    """Bits before the point of the largest value, rounding included; negative where they begin behind it."""
    return math.frexp(magnitude)[1] if magnitude > 0.0 else LEAST


def limited(typical: float) -> float:
    return min(max(typical, _LEAST_TYPICAL), _MOST_TYPICAL)


def typical_of_feature(feature: Feature) -> float:
    """The middle, on a logarithmic scale, of the magnitudes from the lowest (at least 1, if any are) to the highest."""
    highest = max(abs(feature.low), abs(feature.high))
    if highest == 0.0:
        return 0.0
    lowest = 0.0 if feature.low <= 0.0 <= feature.high else min(abs(feature.low), abs(feature.high))
    lowest = max(lowest, min(1.0, highest / 16.0))
    return limited((math.log2(lowest) + math.log2(highest)) / 2.0)


def typical_of_number(value: float) -> float:
    return limited(math.log2(abs(value))) if value != 0.0 else 0.0  # which says nothing of what it will become


def typical_of_operation(operation: str, operands: list[Kind], bounds: Interval) -> float:
    """The typical magnitude of a result; `bounds` are those of the result."""
    first, last = operands[0].typical, operands[-1].typical
    match operation:
        case "multiply":
            found = first + last
        case "divide" | "floor_divide":
            found = first - last
        case "modulo" | "and":
            found = last
        case "min":
            found = min(operand.typical for operand in operands)
        case "add" | "subtract" | "max" | "or":
            found = max(operand.typical for operand in operands)
        case "sqrt":
            found = first / 2.0
        case "power":
            exponent = operands[-1].bounds
            found = first * exponent.low if exponent.low == exponent.high else first
        case "exp" | "expm1":
            found = _middle(bounds)
        case "log" | "log2" | "log10" | "log1p":
            found = 2.0
        case "not" | "truth" | "tanh":
            found = 0.0
        case _:
            found = first
    if bounds.magnitude > 0.0:
        found = min(found, math.log2(bounds.magnitude))
    return limited(found)


def _middle(bounds: Interval) -> float:
    """Of a result that may lie anywhere between 2**-20 and 2**20 as far as is known, but for its bounds."""
    low, high = (math.log2(b) if b > 0.0 else -20.0 for b in (bounds.low, bounds.high))
    return (max(low, -20.0) + min(high, 20.0)) / 2.0


def quantised(value: float, scale: int) -> int:
    """The integer that stands for a number; never 0 where the number is not, for it may guard a division."""
    scaled = round(math.ldexp(value, scale))
    limit = 2**63 - 1
    return min(max(scaled, -limit), limit) or (0 if value == 0.0 else int(math.copysign(1, value)))


def scale_of_number(value: float) -> int:
    """The finest scale that holds a number, less the zeros at its end; exact for what a double can say."""
    if value == 0.0:
        return 0
    numerator, denominator = abs(value).as_integer_ratio()
    exact = denominator.bit_length() - 1 if denominator > 1 else 0
    if denominator == 1:
        exact = min(0, BITS - numerator.bit_length())
    return max(min(exact, BITS - integer_bits(value if value > 0 else -value)), -1000)


def beyond(bounds: Interval) -> bool:
    """Whether no value of it, but 0, could be held by 63 bits at any scale there is."""
    return bounds.magnitude > 2.0 ** (BITS - LEAST) or bounds == ANYTHING
