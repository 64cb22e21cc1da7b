"""When a candidate is not worth more machine time, from scores alone: a resumed search decides as it would have."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np

from vulcan.searches.statistics import draws, quantile, standard_error, studentised

WINDOW = 60
"""How many of the candidates settled last a rung's score is compared with: a search improves, and its standard too."""

FEWEST_EARLIER = 10
"""With fewer to compare with, every candidate passes a rung."""

FEWEST_PAIRS = 5
"""Instances on which two candidates must have been compared before one is given up."""

_RESAMPLES = 2000


def passes(score: float, earlier: Sequence[float], keep: float, window: int = WINDOW) -> bool:
    """Whether a score on a rung is among the best `keep` of the last `window` ones there, the latest at the end.

    One that ties with the last to pass does so too. While a search improves, more than `keep` of its candidates pass,
    for they are compared with worse ones; fewer do with a shorter window. Raises ValueError for a share outside of
    (0, 1] or a window of nothing.
    """
    if window < 1:
        raise ValueError(f"window is {window}: at least 1 is needed")
    if not 0 < keep <= 1:
        raise ValueError(f"keep is {keep}: a share above 0 and at most 1 is needed")
    recent = earlier[-window:]
    better = sum(other > score for other in recent)
    return len(recent) < FEWEST_EARLIER or better < keep * len(recent)


def will_not_reach(
    candidate: Sequence[float], incumbent: Sequence[float], confidence: float = 0.95, seed: int = 1
) -> bool:
    """Whether the candidate's mean over all instances will, with this confidence, be below the incumbent's.

    `incumbent` has a score for every instance, `candidate` those of the first of them, in the same order. What the
    candidate will lose or gain on the rest is predicted from the differences seen so far, by a studentised bootstrap
    (Mojirsheibani and Tibshirani, Canadian Journal of Statistics 1996); so the test is about the mean, which is what
    the archive ranks by, and not about how many instances are lost. Never with fewer than `FEWEST_PAIRS` instances,
    unless those are all there are: then the two means decide. The same scores and seed give the same answer. Raises
    ValueError for more scores than the incumbent has, or a confidence outside of (0, 1).
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence}: a share between 0 and 1 is needed")
    seen, rest = len(candidate), len(incumbent) - len(candidate)
    if rest < 0:
        raise ValueError(f"{seen} scores of the candidate for {len(incumbent)} of the incumbent")
    if rest == 0:
        return math.fsum(candidate) < math.fsum(incumbent)
    if seen < FEWEST_PAIRS:
        return False
    differences = np.subtract(candidate, incumbent[:seen], dtype=np.float64)
    mean = float(differences.mean())
    error = standard_error(differences)
    if mean >= 0 or error == 0:
        return mean < 0
    chosen = draws(seed, (_RESAMPLES, seen + rest), seen)
    resampled, predicted = differences[chosen[:, :seen]], differences[chosen[:, seen:]]
    # of the mean over the rest around the mean seen, in standard errors of the latter
    spread = math.sqrt(1 + seen / rest)
    errors = resampled.std(axis=1, ddof=1) / math.sqrt(seen) * spread
    highest = quantile(studentised(predicted.mean(axis=1) - resampled.mean(axis=1), errors), confidence)
    return seen * mean + rest * (mean + highest * error * spread) < 0


def stages(count: int, seed: int = 1) -> tuple[tuple[int, ...], ...]:
    """Which of `count` instances are run first, and which only by those that `will_not_reach` does not give up.

    Two halves of a shuffle, for the first is to be like the second, which the order that a user names traces in seldom
    is; the first has at least `FEWEST_PAIRS`. One stage where that would leave the second with a single instance.
    """
    order = list(range(count))
    random.Random(seed).shuffle(order)
    first = max(FEWEST_PAIRS, (count + 1) // 2)
    return (tuple(order),) if count - first < 2 else (tuple(order[:first]), tuple(order[first:]))
