"""Confidence intervals of a mean over few instances, or over blocks of time.

Two 95% intervals are computed, and the wider end of each is taken. Student's t covers symmetric scores. The bootstrap-t
(Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 12; Hall, Annals of Statistics 1988) follows
skewed ones, but fails for few: a resample of [0.3, 0.3, 0.3, 0.3001] has next to no spread, its ratio has no bound, and
neither has the interval. The spread of a resample is therefore mixed with that of the sample. Coverage is measured in
tests/searches/test_statistics.py and stated in docs/explanation/fair-numbers.md.

Instances are treated as a sample of the workloads that the user cares for. Blocks of time follow one another: where
neighbours are alike, they count for fewer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from vulcan.documents.run import ConfidenceInterval

MIN = 4
"""Minimum number of values: of three, an interval says next to nothing."""

ANY = (-math.inf, math.inf)
"""The range of an objective that has no bounds."""

_RESAMPLES = 10_000
_MIXED = 0.05
"""Weight of the sample's variance in that of a resample, relative to its own."""

_MAX_CORRELATION = 0.8
_MAX_T = 1e6


def mean_interval(
    values: Sequence[float],
    confidence: float = 0.95,
    *,
    within: tuple[float, float] = ANY,
    in_time: bool = False,
) -> ConfidenceInterval | None:
    """Return the interval of the mean of values, one per instance; None for fewer than `MIN` values.

    `within` has the ends of the range that the mean can lie in. With `in_time`, the values are of consecutive blocks of
    time. Differences of two policies give a paired interval. The same values in the same order give the same interval;
    equal values give one of width zero.
    """
    if len(values) < MIN:
        return None
    sample = np.asarray(values, np.float64)
    mean, error = float(sample.mean()), standard_error(sample)
    if error == 0:
        return {"low": mean, "high": mean, "confidence": confidence}
    tail = (1 - confidence) / 2
    drawn = sample[draws((_RESAMPLES, len(sample)), len(sample))]
    spread = np.sqrt((drawn.var(axis=1, ddof=1) + _MIXED * sample.var(ddof=1)) / ((1 + _MIXED) * len(sample)))
    ratios = studentised(drawn.mean(axis=1) - mean, spread)
    half = student_quantile(1 - tail, len(sample) - 1) * error * (_inflation(sample) if in_time else 1.0)
    low = min(mean - half, mean - quantile(ratios, 1 - tail) * error)
    high = max(mean + half, mean - quantile(ratios, tail) * error)
    lowest, highest = within
    return {"low": min(max(low, lowest), mean), "high": max(min(high, highest), mean), "confidence": confidence}


def _inflation(sample: NDArray[np.float64]) -> float:
    """Return the factor by which the correlation of neighbours widens the interval of a mean over time (AR(1))."""
    deviations = sample - sample.mean()
    found = float(deviations[1:] @ deviations[:-1] / (deviations @ deviations)) + 1 / len(sample)  # biased by -1/n
    correlation = min(max(found, 0.0), _MAX_CORRELATION)
    return math.sqrt((1 + correlation) / (1 - correlation))


def student_quantile(share: float, freedom: int) -> float:
    """Return the quantile of Student's t distribution, of a share above one half, to 1e-9."""
    low, high = 0.0, _MAX_T
    while high - low > 1e-9 * (1 + low):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_share(middle, freedom) < share else (low, middle)
    return high


def _student_share(t: float, freedom: int) -> float:
    """Return the distribution function at t >= 0 (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan2(t, math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = freedom % 2
    term = total = (cosine if odd else 1.0) if freedom > 1 else 0.0
    for n in range(3 if odd else 2, freedom - 1, 2):
        term *= cosine * cosine * (n - 1) / n
        total += term
    inside = 2 / math.pi * (angle + sine * total) if odd else sine * total
    return 0.5 + inside / 2


def selection_bias(scores: Sequence[Sequence[float]]) -> float:
    """Return by how much the mean of the best of several policies exceeds what it would be on new data.

    `scores` has a row for each policy, with its score on each instance. The best is chosen again on resampled
    instances: on average it is this much better there than on the instances themselves (the bootstrap's estimate of
    optimism). So policies that hardly differ count as few, however many they are.
    """
    table = np.asarray(scores, np.float64)
    if len(table) < 2 or table.shape[1] < 2:
        return 0.0
    drawn = table[:, draws((_RESAMPLES // 5, table.shape[1]), table.shape[1])].mean(axis=2)
    best = drawn.argmax(axis=0)
    gained = drawn[best, np.arange(drawn.shape[1])] - table.mean(axis=1)[best]
    return max(0.0, float(gained.mean()))


def standard_error(sample: NDArray[np.float64]) -> float:
    """Return the standard error of the mean of two values or more; exactly 0 for equal values, despite rounding."""
    return 0.0 if np.all(sample == sample[0]) else float(sample.std(ddof=1)) / math.sqrt(len(sample))


def draws(shape: tuple[int, int], count: int) -> NDArray[np.int64]:
    """Draw the same indices below `count` each time: also by other versions of numpy, unlike its new generators."""
    return np.random.RandomState(1).randint(0, count, shape)


def studentised(differences: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide differences by their errors; infinite where a resample of one value has no error, but 0 for 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(differences == 0, 0.0, differences / errors)


def quantile(values: NDArray[np.float64], share: float) -> float:
    """Return the nearest-rank quantile: interpolation has no meaning between infinite values."""
    return float(np.quantile(values, share, method="inverted_cdf"))
