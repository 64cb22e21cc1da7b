"""The scales on which a tuner moves numbers: steps of one size mean about the same everywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from vulcan.anvil.rewriting.lift import Knob

DIGITS = 3
"""Significant digits of every number that a scale gives: more would be noise."""

_LARGEST_EXPONENT = 690.0
_EDGE = 0.02


class Scale(Protocol):
    """A number as a place on the real line, and back."""

    def place(self, value: float) -> float: ...

    def value(self, place: float) -> float: ...


def scale_of(knob: Knob) -> Scale:
    """The scale for a number: by its bounds where it has some, else by its magnitude and sign."""
    if knob.is_bounded:
        return Share(knob.low, knob.high)
    return Magnitude(math.copysign(1.0, knob.value)) if knob.value else AroundZero()


def rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


@dataclass(frozen=True, slots=True)
class Magnitude:
    """Logarithmic: a step is a factor, and the sign stays."""

    sign: float

    def place(self, value: float) -> float:
        return math.log(abs(value))

    def value(self, place: float) -> float:
        return self.sign * rounded(math.exp(min(max(place, -_LARGEST_EXPONENT), _LARGEST_EXPONENT)))


@dataclass(frozen=True, slots=True)
class AroundZero:
    """For what starts at 0: linear within 1 of it, and logarithmic beyond."""

    def place(self, value: float) -> float:
        return math.asinh(value)

    def value(self, place: float) -> float:
        return rounded(math.sinh(min(max(place, -_LARGEST_EXPONENT), _LARGEST_EXPONENT)))


@dataclass(frozen=True, slots=True)
class Share:
    """The logit of the share of the way from `low` to `high`, so that the bounds are never left."""

    low: float
    high: float

    def place(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        inner = min(max(share, _EDGE), 1.0 - _EDGE)
        return math.log(inner / (1.0 - inner))

    def value(self, place: float) -> float:
        share = 0.5 * (1.0 + math.tanh(0.5 * place))
        return min(max(rounded(self.low + (self.high - self.low) * share), self.low), self.high)
