"""Values to try for an input: the ends of its range, what the program compares with, all magnitudes, small integers."""

from __future__ import annotations

import numpy as np

from vulcan.anvil.flow.intervals import Interval
from vulcan.anvil.prove.vector import Numbers

Generator = np.random.Generator

_SPECIAL = (0.0, 1.0, -1.0, 2.0, 0.5, 3.0, 10.0, 100.0, 1000.0, 1e6, 1e9, 2.0**31, 2.0**53, 1e16, 1e100, 1e-5, 1e-300)


class Samples:
    """Draws values within a range; `constants` are those of the program."""

    def __init__(self, rng: Generator, constants: list[float]) -> None:
        self._rng = rng
        self._constants = np.array([*constants, *_SPECIAL])

    def column(self, within: Interval, size: int) -> Numbers:
        """`size` values, one an input."""
        rng = self._rng
        kind = rng.integers(0, 6, size)
        low, high = within.low, within.high
        ends = rng.choice(np.array([low, high, low + 1.0, high - 1.0, low + 2.0]), size)
        near = rng.choice(self._constants, size) + rng.choice(np.array([0.0, 0.0, 1.0, -1.0, 0.5]), size)
        uniform = low + (high / 2 - low / 2) * rng.random(size) * 2.0
        small = max(low, 0.0) + rng.integers(0, 30, size)
        values = np.choose(kind, [ends, near, self._magnitudes(low, high, size), uniform, small, near])
        return fitted(values, within)

    def _magnitudes(self, low: float, high: float, size: int) -> Numbers:
        rng = self._rng
        largest = np.log10(max(abs(low), abs(high), 1e-300))
        smallest = min(largest - 1.0, -3.0)
        exponents = np.where(rng.random(size) < 0.8, rng.uniform(smallest, largest, size), rng.uniform(-4, 4, size))
        signs = rng.choice(np.array([1.0, -1.0]), size)
        return np.asarray(np.power(10.0, exponents) * signs, dtype=np.float64)

    def above(self, values: Numbers, within: Interval) -> Numbers:
        """For each value one that is larger, where the range has one."""
        rng = self._rng
        size = len(values)
        kind = rng.integers(0, 5, size)
        least = values + 1.0 if within.whole else np.nextafter(values, np.inf)
        steps = np.power(10.0, rng.uniform(-3, 6, size))
        other = self.column(within, size)
        made = np.choose(kind, [least, values + 1.0, values + np.ceil(steps), values * (1.0 + steps), other])
        made = fitted(np.where(made > values, made, least), within)
        return made

    def moved(self, values: Numbers, within: Interval) -> Numbers:
        """For each value one near it, by some measure, or any other."""
        rng = self._rng
        size = len(values)
        kind = rng.integers(0, 8, size)
        factors = np.power(2.0, rng.normal(0.0, 2.0, size))
        choices = [
            values, values, values + rng.choice(np.array([1.0, -1.0]), size), values * factors, -values,
            np.nextafter(values, rng.choice(np.array([np.inf, -np.inf]), size)), values + rng.normal(0.0, 10.0, size),
            self.column(within, size),
        ]  # fmt: skip
        return fitted(np.choose(kind, choices), within)


def fitted(values: Numbers, within: Interval) -> Numbers:
    """The values drawn into the range, and to whole numbers where it has no others."""
    values = np.where(np.isfinite(values), values, within.high)
    if within.whole:
        values = np.rint(values)
    return np.clip(values, within.low, within.high) + 0.0
