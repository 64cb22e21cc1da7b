"""Total arithmetic: the operations of Anvil that are more than Python's, defined and finite for every finite input.

Exported Python modules carry a copy of each that they use, by its source: so they need nothing but `math`, `struct` and
each other, and are called there as here. `semantics` has the names that the language's table gives them.
"""

import math
import struct

_LARGEST = 1.7976931348623157e308


def _saturate(x: float) -> float:
    """x, or the largest finite number of its sign."""
    return min(max(x, -_LARGEST), _LARGEST)


def _divide(a: float, b: float) -> float:
    """a / b; 0 where b is 0."""
    return min(max(a / b, -_LARGEST), _LARGEST) if b != 0.0 else 0.0


def _floor_divide(a: float, b: float) -> float:
    """a // b; 0 where b is 0."""
    return min(max(a // b, -_LARGEST), _LARGEST) if b != 0.0 else 0.0


def _modulo(a: float, b: float) -> float:
    """a % b; 0 where b is 0."""
    return a % b if b != 0.0 else 0.0


def _power(a: float, b: float) -> float:
    """a ** b; 0 for 0 to a negative power and for a negative number to a fraction; saturates."""
    if (a == 0.0 and b < 0.0) or (a < 0.0 and b != math.floor(b)):
        return 0.0
    try:
        return math.pow(a, b)
    except OverflowError:
        return -_LARGEST if a < 0.0 and b % 2.0 == 1.0 else _LARGEST


def _exp(x: float) -> float:
    """e to the x; saturates."""
    try:
        return math.exp(x)
    except OverflowError:
        return _LARGEST


def _expm1(x: float) -> float:
    """e to the x, less 1; saturates."""
    try:
        return math.expm1(x)
    except OverflowError:
        return _LARGEST


def _log(x: float) -> float:
    """Natural logarithm; 0 where x <= 0."""
    return math.log(x) if x > 0.0 else 0.0


def _log1p(x: float) -> float:
    """log(1 + x); 0 where x <= -1."""
    return math.log1p(x) if x > -1.0 else 0.0


def _log2(x: float) -> float:
    """Logarithm to base 2; 0 where x <= 0."""
    return math.log2(x) if x > 0.0 else 0.0


def _log10(x: float) -> float:
    """Logarithm to base 10; 0 where x <= 0."""
    return math.log10(x) if x > 0.0 else 0.0


def _sqrt(x: float) -> float:
    """Square root; 0 where x is negative."""
    return math.sqrt(x) if x > 0.0 else 0.0


def _truncate(x: float) -> float:
    """x without its fraction, as a float; keeps the sign of a zero."""
    return math.copysign(float(math.trunc(x)), x)


def _floor(x: float) -> float:
    """The largest integer not above x, as a float; keeps the sign of a zero."""
    return float(math.floor(x)) if x != 0.0 else x


def _ceil(x: float) -> float:
    """The smallest integer not below x, as a float; keeps the sign of a zero."""
    return math.copysign(float(math.ceil(x)), x)


def _round(x: float) -> float:
    """The nearest integer, halves to the even one, as a float; keeps the sign of a zero."""
    return math.copysign(float(round(x)), x)


def _mix(word: int) -> int:
    """The number that splitmix64 gives next in this state, 64 bits."""
    z = (word + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
    return z ^ (z >> 31)


def _hash(a: float, k: float) -> float:
    """A hash of a, a whole number from 0 to 2**53 - 1; each k gives another function."""
    of_a, of_k = struct.unpack("<QQ", struct.pack("<dd", a + 0.0, k + 0.0))  # -0.0 + 0.0 is 0.0
    return float(_mix(_mix(of_k) ^ of_a) >> 11)


class _Random:
    """Random numbers from 0 to below 1, those of splitmix64 from a seed on."""

    __slots__ = ("_word",)

    def __init__(self, seed: int) -> None:
        self._word = seed & 0xFFFFFFFFFFFFFFFF

    def next(self) -> float:
        """The next one."""
        word = self._word
        self._word = (word + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        return float(_mix(word) >> 11) * 2.0**-53
