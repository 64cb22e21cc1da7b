"""Semantics of every operation of Anvil, on float64, total: defined and finite for every finite input.

This is the definition. The compiler, the exporters and the interval analysis are tested against it.
A quotient or remainder by zero is 0; a logarithm, square root or power outside its domain is 0; overflow gives the
largest finite number of that sign. So NaN and infinity cannot arise.
"""

from __future__ import annotations

import math
import operator
import struct
import sys
from collections.abc import Callable, Mapping

MAX = sys.float_info.max


def saturate(x: float) -> float:
    return min(max(x, -MAX), MAX)


def add(a: float, b: float) -> float:
    return saturate(a + b)


def subtract(a: float, b: float) -> float:
    return saturate(a - b)


def multiply(a: float, b: float) -> float:
    return saturate(a * b)


def divide(a: float, b: float) -> float:
    return saturate(a / b) if b != 0.0 else 0.0


def floor_divide(a: float, b: float) -> float:
    return saturate(a // b) if b != 0.0 else 0.0


def modulo(a: float, b: float) -> float:
    return a % b if b != 0.0 else 0.0


def power(a: float, b: float) -> float:
    if (a == 0.0 and b < 0.0) or (a < 0.0 and b != math.floor(b)):
        return 0.0
    try:
        return math.pow(a, b)
    except OverflowError:
        return -MAX if a < 0.0 and b % 2.0 == 1.0 else MAX


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


def mix(word: int) -> int:
    """Return splitmix64's next number after this state, 64 bits (Steele, Lea and Flood, OOPSLA 2014)."""
    z = (word + GOLDEN) & _MASK
    z = (z ^ (z >> 30)) * FIRST_FACTOR & _MASK
    z = (z ^ (z >> 27)) * SECOND_FACTOR & _MASK
    return z ^ (z >> 31)


def _bits(a: float) -> int:
    return int.from_bytes(struct.pack("<d", a + 0.0), "little")


def hash(a: float, k: float) -> float:
    """Return a hash of a: a whole number from 0 to 2^53 - 1; each k gives another function. Zeros are one number."""
    return float(mix(mix(_bits(k)) ^ _bits(a)) >> 11)


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


def _where_positive(function: Callable[[float], float]) -> Callable[[float], float]:
    def total(x: float) -> float:
        return function(x) if x > 0.0 else 0.0

    return total


def _saturating(function: Callable[[float], float]) -> Callable[[float], float]:
    def total(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return MAX

    return total


log = _where_positive(math.log)
log2 = _where_positive(math.log2)
log10 = _where_positive(math.log10)
exp = _saturating(math.exp)
expm1 = _saturating(math.expm1)


def log1p(x: float) -> float:
    return math.log1p(x) if x > -1.0 else 0.0


def sqrt(x: float) -> float:
    return math.sqrt(x) if x > 0.0 else 0.0


def truncate(x: float) -> float:
    return math.copysign(float(math.trunc(x)), x)


def floor(x: float) -> float:
    return math.copysign(float(math.floor(x)), x) if x >= 0.0 else float(math.floor(x))


def ceil(x: float) -> float:
    return math.copysign(float(math.ceil(x)), x)


def round_half_even(x: float) -> float:
    return math.copysign(float(round(x)), x)


def truth(x: float) -> float:
    return 1.0 if x != 0.0 else 0.0


def both(a: float, b: float) -> float:
    """Return a if it is 0, else b: an operand, as in Python."""
    return b if a != 0.0 else a


def either(a: float, b: float) -> float:
    return a if a != 0.0 else b


def invert(a: float) -> float:
    return 1.0 if a == 0.0 else 0.0
