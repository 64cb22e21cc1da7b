"""The misses of a policy and of its references, attributed to causes and to what the objects were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vulcan.errors import UserError
from vulcan_cache.spec import Requests

MAX_REQUESTS = 1 << 30
"""Longest simulation with a history: a request's number takes the 30 bits beside its outcome."""

(
    REQUESTS, MISSES, REGRET, LOST, WON, BASELINE_MISSES, BASELINE_REGRET, SHARED_REGRET, PARENT_MISSES, PARENT_REGRET,
    PARENT_LOST, PARENT_WON, ORACLE_MISSES, COUNTS,
) = range(14)  # fmt: skip
"""What is counted in each class. The regret are misses that the oracle hits; LOST are misses where the baseline hits,
and WON hits where it misses, likewise beside the parent; SHARED_REGRET is that of the policy and the baseline both."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """Counts of `kernels.attribution` over the measured requests, by the names of its constants.

    `causes` has shape (CAUSES,) and adds up to the misses; `classes` (DIMENSIONS, CLASSES, COUNTS), of which each
    dimension adds up to all requests and misses, as does `along` of shape (STRETCHES, COUNTS); `facts` (FACTS,). Of all
    requests, `holders` of shape (USES,) and `used` (OTHERS,) are in bytes times requests, and `stays` is how
    many times as long each object of the regret, hit before it left, would have had to stay.
    """

    causes: NDArray[np.int64]
    classes: NDArray[np.int64]
    along: NDArray[np.int64]
    facts: NDArray[np.int64]
    holders: NDArray[np.float64]
    used: NDArray[np.float64]
    stays: NDArray[np.float32]

    @property
    def misses(self) -> int:
        return int(self.causes.sum())

    @property
    def whole(self) -> NDArray[np.int64]:
        """All counts, of shape (COUNTS,)."""
        whole: NDArray[np.int64] = self.along.sum(axis=0)
        return whole


def attribute(
    requests: Requests,
    history: NDArray[np.uint32],
    oracle_missed: NDArray[np.uint8],
    baseline_missed: NDArray[np.uint8],
    capacity: int,
    mean_size: float,
    parent_missed: NDArray[np.uint8] | None = None,
) -> Attribution:
    """Attribute the requests of a simulation; every array has shape (requests,).

    `history` is what `simulate` recorded.
    """
    from vulcan_cache.kernels import attribution as kernel  # compiles the kernel, or loads it

    others = oracle_missed * np.uint8(kernel.FROM_ORACLE) + baseline_missed * np.uint8(kernel.FROM_BASELINE)
    if parent_missed is not None:
        others += parent_missed * np.uint8(kernel.FROM_PARENT)
    causes = np.zeros(kernel.CAUSES, np.int64)
    classes = np.zeros((kernel.DIMENSIONS, kernel.CLASSES, kernel.CODES), np.int64)
    along = np.zeros((kernel.STRETCHES, kernel.CODES), np.int64)
    facts = np.zeros(kernel.FACTS, np.int64)
    holders = np.zeros(kernel.USES)
    used = np.zeros(kernel.OTHERS)
    stays = np.empty(len(requests.objects), np.float32)
    count = kernel.attribute(
        requests.objects, requests.sizes, history, others, capacity, mean_size, max(1.0, capacity / mean_size),
        requests.measure_from, np.zeros(requests.object_count * kernel.FIELDS, np.uint32),
        causes, classes, along, facts, holders, used, stays,
    )  # fmt: skip
    counted = _counted()
    return Attribution(causes, classes @ counted, along @ counted, facts, holders, used, stays[:count].copy())


def _counted() -> NDArray[np.int64]:
    """Return which codes each count is of, of shape (CODES, COUNTS)."""
    from vulcan_cache.kernels.attribution import BASELINE, CODES, MISSED, PARENT, SAVED

    codes = np.arange(CODES)
    missed, saved, baseline, parent = ((codes & bit) != 0 for bit in (MISSED, SAVED, BASELINE, PARENT))
    counts = [
        codes >= 0, missed, missed & saved, missed & ~baseline, ~missed & baseline, baseline, baseline & saved,
        missed & baseline & saved, parent, parent & saved, missed & ~parent, ~missed & parent, ~saved,
    ]  # fmt: skip
    return np.stack(counts, axis=1).astype(np.int64)


def new_history(requests: int) -> NDArray[Any]:
    """Return an empty history. Raises UserError for more requests than one holds."""
    if requests >= MAX_REQUESTS:
        raise UserError(f"findings are of at most {MAX_REQUESTS:,} requests; this instance has {requests:,}")
    return np.zeros(requests, np.uint32)


@dataclass(frozen=True, slots=True)
class References:
    """Names of the oracle and of the best baseline, with their misses: arrays of shape (requests,), 1 at each."""

    oracle: str
    oracle_missed: NDArray[np.uint8]
    baseline: str
    baseline_missed: NDArray[np.uint8]


def oracle_for(sizes: NDArray[np.int64]) -> str:
    """Return the name of the oracle for objects of these sizes: Belady's where all are the same."""
    uniform = bool(len(sizes)) and bool((sizes == sizes[0]).all())
    return "belady" if uniform else "belady-size-sampled"
