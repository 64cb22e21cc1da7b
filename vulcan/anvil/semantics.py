"""Semantics of every operation of Anvil, on float64, total: defined and finite for every finite input.

This is the definition, with `arithmetic`, whose functions exported modules copy. The compiler, the other exporters and
the interval analysis are tested against it.
A quotient or remainder by zero is 0; a logarithm, square root or power outside its domain is 0; overflow gives the
largest finite number of that sign. So NaN and infinity cannot arise.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping

from vulcan.anvil import arithmetic

MAX = arithmetic._LARGEST
saturate, divide, floor_divide = arithmetic._saturate, arithmetic._divide, arithmetic._floor_divide
modulo, power, sqrt = arithmetic._modulo, arithmetic._power, arithmetic._sqrt
exp, expm1, log, log1p = arithmetic._exp, arithmetic._expm1, arithmetic._log, arithmetic._log1p
log2, log10, mix = arithmetic._log2, arithmetic._log10, arithmetic._mix
truncate, floor, ceil, round_half_even = arithmetic._truncate, arithmetic._floor, arithmetic._ceil, arithmetic._round


def add(a: float, b: float) -> float:
    return saturate(a + b)


def subtract(a: float, b: float) -> float:
    return saturate(a - b)


def multiply(a: float, b: float) -> float:
    return saturate(a * b)


COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}

_MASK = (1 << 64) - 1
GOLDEN, FIRST_FACTOR, SECOND_FACTOR = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""Constants of splitmix64."""


def hash(a: float, k: float) -> float:
    """Return a hash of a: a whole number from 0 to 2^53 - 1; each k gives another function. Zeros are one number."""
    return arithmetic._hash(a, k)


def draw(word: int) -> tuple[float, int]:
    """Return the random number from 0 to below 1 of a generator in this state, and its next state (splitmix64)."""
    return (mix(word) >> 11) * 2.0**-53, (word + GOLDEN) & _MASK


_plain_generator = 0


def random() -> float:
    """Return the next random number, for a policy that runs in CPython as it stands; they are those of the seed 0."""
    global _plain_generator
    number, _plain_generator = draw(_plain_generator)
    return number


def wrap(index: float, length: int) -> int:
    """Return the index of an array's element: rounded down, and wrapped to the length as negative ones are too."""
    return int(math.floor(index) % length)


def negate(a: float) -> float:
    return -a


def plus(a: float) -> float:
    return a


def minimum(*values: float) -> float:
    return min(values)


def maximum(*values: float) -> float:
    return max(values)


def truth(x: float) -> float:
    return 1.0 if x != 0.0 else 0.0


def both(a: float, b: float) -> float:
    """Return a if it is 0, else b: an operand, as in Python."""
    return b if a != 0.0 else a


def either(a: float, b: float) -> float:
    return a if a != 0.0 else b


def invert(a: float) -> float:
    return 1.0 if a == 0.0 else 0.0
