"""Guaranteed distances between terms, and what they imply for functions of the mathematical library.

glibc documents the error of its functions (at most 2 units in the last place, 4.4e-16 of the result, for those of the
language), but not that they are monotone. Arguments that are far enough apart, such as different integers, have exact
results that differ by more than that error; then the computed results are in order too. Four units are allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from vulcan.anvil import semantics as total
from vulcan.anvil.analysis.intervals import Interval
from vulcan.anvil.proofs.facts import Facts
from vulcan.anvil.proofs.ranges import is_exact
from vulcan.anvil.proofs.terms import Term
from vulcan.anvil.semantics import MAX

_UNIT = 2.0**-53
_LIBRARY_ERROR = 1e-14
"""More than twice four units in the last place: a relative distance of exact results that preserves their order."""

_NORMAL = 1e-290
"""Magnitude from which rounding errors are relative to the result, not to the smallest number."""

_CAREFUL = 1.0 - 1e-9  # allows for the rounding of the bounds computed here

AtMost = Callable[..., bool]


class Distances:
    def __init__(self, at_most: AtMost, same: AtMost) -> None:
        self._at_most = at_most
        self._same = same

    def least(self, u: Term, v: Term, known: Facts) -> float:
        """Return a lower bound of v - u, computed exactly from the two float64."""
        u, v = known.head(u), known.head(v)
        if u is v:
            return 0.0
        x, y = known.range(u), known.range(v)
        found = _down(y.low - x.high)
        if x.whole and y.whole and known.ordered(u, v, True):
            found = max(found, 1.0)
        elif known.ordered(u, v):
            found = max(found, 0.0)
        if max(x.magnitude, y.magnitude) >= MAX:
            return found  # it may have saturated
        return max(found, self._by_operation(u, v, known))

    def _by_operation(self, u: Term, v: Term, known: Facts) -> float:
        least = self.least
        match u.operation, u.parts, v.operation, v.parts:
            case "add", (a, b), "add", (c, d):
                straight = least(a, c, known) + least(b, d, known)
                return self._rounded(max(straight, least(a, d, known) + least(b, c, known)), u, v, known)
            case "subtract", (a, b), "subtract", (c, d):
                return self._rounded(least(a, c, known) + least(d, b, known), u, v, known)
            case "negate", (a,), "negate", (c,):
                return least(c, a, known)
            case "multiply", (a, b), "multiply", (c, d):
                pairs = (((a, c), (b, d)), ((a, d), (b, c)), ((b, c), (a, d)), ((b, d), (a, c)))
                return max(self._scaled(one, factor, u, v, known) for one, factor in pairs)
            case "divide", (a, b), "divide", (c, d):
                return max(self._divided(a, c, b, d, u, v, known), self._shared_out(a, c, b, d, u, v, known))
            case "sqrt", (a,), "sqrt", (c,):
                most = known.range(c).high
                apart = least(a, c, known)
                if known.range(a).low < 0.0 or most <= 0.0 or apart <= 0.0:
                    return -math.inf
                return self._rounded(apart / (2.0 * math.sqrt(most)), u, v, known)
            case (("min" | "max"), (a, b), ("min" | "max"), (c, d)) if u.operation == v.operation:
                return min(least(a, c, known), least(b, d, known))
            case _, _, "add", (c, d):
                return self._rounded(
                    max(least(u, c, known) + known.range(d).low, least(u, d, known) + known.range(c).low), u, v, known
                )
            case "add", (a, b), _, _:
                return self._rounded(
                    max(least(a, v, known) - known.range(b).high, least(b, v, known) - known.range(a).high), u, v, known
                )
        return -math.inf

    def _scaled(self, pair: tuple[Term, Term], factors: tuple[Term, Term], u: Term, v: Term, known: Facts) -> float:
        if not self._same(*factors, known):
            return -math.inf
        factor = known.range(factors[0])
        if factor.low > 0.0:
            apart, scale = self.least(*pair, known), factor.low
        elif factor.high < 0.0:
            apart, scale = self.least(pair[1], pair[0], known), -factor.high
        else:
            return -math.inf
        return self._rounded(apart * scale, u, v, known) if apart > 0.0 else -math.inf

    def _divided(self, a: Term, c: Term, b: Term, d: Term, u: Term, v: Term, known: Facts) -> float:
        """Return the distance of a / b and c / b."""
        if not self._same(b, d, known):
            return -math.inf
        divisor = known.range(b)
        if divisor.has_zero:
            return -math.inf
        apart = self.least(a, c, known) if divisor.low > 0.0 else self.least(c, a, known)
        return self._rounded(apart / divisor.magnitude, u, v, known) if apart > 0.0 else -math.inf

    def _shared_out(self, a: Term, c: Term, b: Term, d: Term, u: Term, v: Term, known: Facts) -> float:
        """Return the distance of a / b and a / d, for a positive a."""
        if not self._same(a, c, known):
            return -math.inf
        x, y, z = known.range(a), known.range(b), known.range(d)
        apart = self.least(d, b, known)
        if x.low <= 0.0 or y.low <= 0.0 or z.low <= 0.0 or apart <= 0.0:
            return -math.inf
        return self._rounded(x.low * (apart / y.high) / z.high, u, v, known)

    def _rounded(self, exact: float, u: Term, v: Term, known: Facts) -> float:
        """Return the distance of the rounded results, from that of the exact ones."""
        if not math.isfinite(exact):
            return -math.inf
        x, y = known.range(u), known.range(v)
        careful = exact * (_CAREFUL if exact > 0.0 else 2.0 - _CAREFUL)
        if self._is_exact(u, x, known) and self._is_exact(v, y, known):
            return float(math.ceil(careful)) if x.whole and y.whole else careful
        error = (x.magnitude + y.magnitude) * _UNIT * (1.0 + 1e-9) + 1e-320
        return careful - error

    def _is_exact(self, term: Term, found: Interval, known: Facts) -> bool:
        if not term.parts:
            return True
        ring = term.operation in ("add", "subtract", "multiply")
        return ring and is_exact(found) and all(known.range(part).whole for part in term.parts)

    def share(self, u: Term, v: Term, known: Facts) -> float:
        """Return a lower bound of (v - u) / v for positive u and v; 0 where nothing is known."""
        u, v = known.head(u), known.head(v)
        x, y = known.range(u), known.range(v)
        if x.low <= 0.0 or y.low <= 0.0:
            return 0.0
        found = max(0.0, self.least(u, v, known) / y.high * _CAREFUL)
        normal = min(x.low, y.low) >= _NORMAL and max(x.high, y.high) < MAX
        return max(found, self._share_of_parts(u, v, known)) if normal else found

    def _share_of_parts(self, u: Term, v: Term, known: Facts) -> float:
        match u.operation, u.parts, v.operation, v.parts:
            case "multiply", (a, b), "multiply", (c, d):
                pairs = ((a, c, b, d), (a, d, b, c), (b, c, a, d), (b, d, a, c))
                found = [self.share(one, other, known) for one, other, f, g in pairs if self._same(f, g, known)]
            case "divide", (a, b), "divide", (c, d):
                found = [self.share(a, c, known)] if self._same(b, d, known) else []
                found += [self.share(d, b, known)] if self._same(a, c, known) else []
            case "sqrt", (a,), "sqrt", (c,):
                found = [0.5 * self.share(a, c, known)]  # 1 - sqrt(1 - s) is at least s / 2
            case _:
                found = []
        return max(0.0, max(found, default=0.0) * _CAREFUL - _LIBRARY_ERROR)

    # Functions of the library

    def through_library(self, u: Term, v: Term, known: Facts) -> bool:
        """Check whether f(a) <= f(b) for the function f of both."""
        if u.operation == "power":
            return self._powers(u, v, known)
        (a,), (b,) = u.parts, v.parts
        if u.operation in ("sin", "cos") or not self._at_most(a, b, known):
            return False
        x, y = known.range(a), known.range(b)
        if u.operation in ("log", "log2", "log10") and x.low <= 0.0:
            return False  # it is 0 up to 0, and falls from there
        if u.operation == "log1p" and x.low <= -1.0:
            return False
        if self._keeps_order(u.operation, x.low, y.high, self.least(a, b, known)):
            return True
        if u.operation not in ("log", "log2", "log10"):
            return False
        most = max(abs(math.log(x.low)), abs(math.log(y.high)))
        return self.share(a, b, known) > 3.0 * _LIBRARY_ERROR * most

    def _keeps_order(self, function: str, low: float, high: float, apart: float) -> bool:
        """Check whether exact results of arguments in the range that are `apart` differ by more than the errors."""
        if not apart > 0.0:
            return False
        match function:
            case "log" | "log2" | "log10":
                logarithm: Callable[[float], float] = getattr(total, function)
                most = max(abs(logarithm(low)), abs(logarithm(high)))
                return 0.4 * apart / high > _LIBRARY_ERROR * most
            case "log1p":
                return 0.9 * apart / (1.0 + high) > _LIBRARY_ERROR * max(abs(total.log1p(low)), abs(total.log1p(high)))
            case "exp":
                return low >= -700.0 and high <= 709.0 and min(apart, 1.0) > 2.0 * _LIBRARY_ERROR
            case "expm1":
                return low >= -30.0 and high <= 709.0 and min(apart, 1.0) * math.exp(min(low, 0.0)) > 4 * _LIBRARY_ERROR
            case "tanh":
                most = max(abs(low), abs(high))
                return most <= 15.0 and apart / math.cosh(most) ** 2 > 2.0 * _LIBRARY_ERROR
            case "atan":
                most = max(abs(low), abs(high))
                return apart / (1.0 + most * most) > 4.0 * _LIBRARY_ERROR
        return False

    def _powers(self, u: Term, v: Term, known: Facts) -> bool:
        """Check a ** e <= b ** e, or a ** e <= a ** f, for positive a and b."""
        (a, e), (b, f) = u.parts, v.parts
        x, y = known.range(a), known.range(b)
        if x.low <= 0.0 or y.low <= 0.0:
            return False
        if self._same(e, f, known):
            exponent = known.range(e)
            if exponent.low < 0.0 < exponent.high:
                return False
            lower, upper = (a, b) if exponent.low >= 0.0 else (b, a)
            apart = self.share(lower, upper, known) * exponent.least_magnitude
        elif self._same(a, b, known) and (x.low >= 1.0 or x.high <= 1.0):
            lower, upper = (e, f) if x.low >= 1.0 else (f, e)
            apart = self.least(lower, upper, known) * min(abs(math.log(x.low)), abs(math.log(x.high)))
        else:
            return False
        if not self._at_most(lower, upper, known):
            return False
        results = known.range(u), known.range(v)
        normal = all(found.low >= 1e-300 and found.high <= 1e300 for found in results)
        return normal and min(apart, 1.0) * 0.5 > _LIBRARY_ERROR


def _down(value: float) -> float:
    return math.nextafter(value, -math.inf)
