"""The misses of a policy, attributed to causes and to what their objects were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vulcan.errors import UserError

MAX_REQUESTS = 1 << 30
"""Longest simulation with a history: a request's number takes the 30 bits beside its outcome."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """Counts of `kernels.attribution` over the measured requests, by the names of its constants.

    `causes` has shape (CAUSES,) and adds up to the misses; `classes` (DIMENSIONS, CLASSES, COUNTS), of which each
    dimension adds up to all requests and misses; `facts` (FACTS,); `spaces` (SPACES,), bytes times requests.
    """

    causes: NDArray[np.int64]
    classes: NDArray[np.int64]
    facts: NDArray[np.int64]
    spaces: NDArray[np.float64]

    @property
    def misses(self) -> int:
        return int(self.causes.sum())


def attribute(
    objects: NDArray[np.uint32],
    sizes: NDArray[np.uint32],
    following: NDArray[np.int64],
    history: NDArray[np.uint32],
    oracle_missed: NDArray[np.uint8],
    baseline_missed: NDArray[np.uint8],
    capacity: int,
    measure_from: int,
    object_count: int,
    mean_size: float,
) -> Attribution:
    """Attribute the requests of a simulation; every array has shape (requests,).

    `history` is what `simulate` recorded, `following` the index of the object's next request or none in range.
    """
    from vulcan_cache.kernels import attribution as kernel  # compiles the kernel, or loads it

    causes = np.zeros(kernel.CAUSES, np.int64)
    classes = np.zeros((kernel.DIMENSIONS, kernel.CLASSES, kernel.COUNTS), np.int64)
    facts = np.zeros(kernel.FACTS, np.int64)
    spaces = np.zeros(kernel.SPACES)
    kernel.attribute(
        objects,
        sizes,
        following,
        history,
        oracle_missed,
        baseline_missed,
        capacity,
        mean_size,
        max(1.0, capacity / mean_size),
        measure_from,
        np.zeros(object_count * kernel.FIELDS, np.uint32),
        causes,
        classes,
        facts,
        spaces,
    )
    return Attribution(causes, classes, facts, spaces)


def new_history(requests: int) -> NDArray[Any]:
    """Return an empty history. Raises UserError for more requests than one holds."""
    if requests >= MAX_REQUESTS:
        raise UserError(f"findings are of at most {MAX_REQUESTS:,} requests; this instance has {requests:,}")
    return np.zeros(requests, np.uint32)
