"""The smallest magnitude that a term has where it is not 0: what bounds a quotient whose divisor may be 0.

A quotient by 0 is 0, so only divisors close to 0 make it large. Float64 numbers of one size do not cancel to less than
a unit in the last place: x + y is 0 or at least 2**-54 of the larger one, however close they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from vulcan.anvil.analysis.intervals import Interval
from vulcan.anvil.proofs.terms import Term

MIN = 5e-324
_CANCELLED = 2.0**-54
_CAREFUL = 1.0 - 1e-9


def least_magnitude(term: Term, ranges: list[Interval], found: Interval, least: Callable[[Term], float]) -> float:
    """For a term that lies within `found` and its parts within `ranges`; `least` gives the same of each part."""
    if not found.has_zero or found.whole:
        return max(found.least_magnitude, MIN)
    parts = [least(part) for part in term.parts]
    return max(_of(term, ranges, parts), MIN)


def _of(term: Term, ranges: list[Interval], parts: list[float]) -> float:
    match term.operation:
        case "add" | "subtract":
            return _sum(ranges, parts)
        case "multiply":
            return parts[0] * parts[1]
        case "divide":
            return parts[0] / ranges[1].magnitude if ranges[1].magnitude > 0.0 else MIN
        case "negate" | "abs":
            return parts[0]
        case "min" | "max":
            return min(parts)
        case "choose":
            return min(parts[1:])
        case "sqrt":
            return math.sqrt(parts[0])
        case "log" | "log2" | "log10":
            return 1e-17  # the logarithm of the neighbours of 1
        case "log1p" | "tanh" | "atan":
            return min(parts[0], 1.0) * 0.4
        case "expm1":
            return min(parts[0], 1.0) * 0.4
        case "power":
            return _power(ranges, parts)
    return MIN


def _sum(ranges: list[Interval], parts: list[float]) -> float:
    """Both are 0 or not: a sum with 0 is the other, and any other one cancels to a unit of the larger at the least."""
    cases = [max(parts) * _CANCELLED]
    if ranges[0].has_zero:
        cases.append(parts[1])
    if ranges[1].has_zero:
        cases.append(parts[0])
    return min(cases)


def _power(ranges: list[Interval], parts: list[float]) -> float:
    base, exponent = ranges
    most = max(abs(exponent.low), abs(exponent.high))
    extremes = [parts[0], base.magnitude]
    logs = [abs(math.log(x)) for x in extremes if x > 0.0]
    return math.exp(-max(logs, default=0.0) * most) * _CAREFUL if max(logs, default=0.0) * most < 700.0 else MIN
