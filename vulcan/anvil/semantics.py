"""Semantics of every operation of Anvil, on float64, total: defined and finite for every finite input.

This is the definition. The compiler, the exporters and the interval analysis are tested against it.
A quotient or remainder by zero is 0; a logarithm, square root or power outside its domain is 0; overflow gives the
largest finite number of that sign. So NaN and infinity cannot arise.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

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
