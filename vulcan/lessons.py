"""Lessons: decision situations of training data, and what came of each, from which programs are fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORTH = "worth"
"""Name of the helper that a lesson's program has, and whose body is fitted."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """Situations of one instance, in order of time, with what the future holds for each: a gain, at a cost.

    The `program` is a policy of the task that decides by a helper `worth`, the gain to be expected per cost.
    `situations` has a column of numbers of at least 0 for each argument of that helper; `gains` and `costs`, above 0,
    have shape (situations,). Lessons of one `name` on several instances are learnt together. Raises ValueError for
    other numbers.
    """

    name: str
    program: str
    situations: NDArray[np.float64]
    gains: NDArray[np.float64]
    costs: NDArray[np.float64]

    def __post_init__(self) -> None:
        rows = len(self.situations)
        if self.situations.ndim != 2 or self.gains.shape != (rows,) or self.costs.shape != (rows,):
            raise ValueError(f"lesson {self.name!r}: it needs as many gains and costs as situations")
        lowest = min((float(part.min(initial=0.0)) for part in (self.situations, self.gains)), default=0.0)
        if not lowest >= 0 or not all(np.isfinite(p).all() for p in (self.situations, self.gains, self.costs)):
            raise ValueError(f"lesson {self.name!r}: a number below 0, or one that is not finite")
        if not (self.costs > 0).all():
            raise ValueError(f"lesson {self.name!r}: a cost that is not above 0")


def lesson_of_returns(
    name: str,
    program: str,
    columns: Sequence[NDArray[Any]],
    returns: NDArray[np.float64],
    left: NDArray[np.float64],
    horizon: float,
    worth: NDArray[np.float64] | float = 1.0,
) -> Lesson:
    """Return the lesson on what is kept until it returns, for `worth`, or a horizon is over, or all of the data.

    `columns` are the situations; those in which the return, or the end (`left`), is not ahead are left out.
    """
    span = np.minimum(np.minimum(returns, horizon), left)
    waits = span > 0
    gains = np.where(returns <= np.minimum(horizon, left), worth, 0.0)
    return Lesson(name, program, np.column_stack(columns)[waits], gains[waits], span[waits])


def stay_that_fills(
    room: float, sizes: NDArray[np.float64], stays: NDArray[np.float64], low: float, high: float
) -> float:
    """Return how long each may stay at most, from `low` to `high`, so that sizes times stays are `room` in all.

    Of a cache, that is after how long without a request an entry leaves it (Che, Tung and Wang, 2002).
    """
    for _ in range(40):
        middle = (low * high) ** 0.5
        if (sizes * np.minimum(stays, middle)).sum() > room:
            high = middle
        else:
            low = middle
    return low
