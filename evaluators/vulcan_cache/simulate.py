"""Running a policy over a trace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan_cache.layout import MAX_SAMPLED
from vulcan_cache.mechanisms import MECHANISMS, MechanismRun, generator_state

__all__ = ["CacheResult", "check_sample_size", "generator_state", "simulate"]


@dataclass(frozen=True, slots=True)
class CacheResult:
    """Counts over the measured requests. `bypassed` are misses of objects larger than the cache or not admitted.

    `decisions` is a hash of the sequence of all objects that were evicted or not admitted, 0 where it is not known.
    """

    requests: int
    bytes: int
    misses: int
    missed_bytes: int
    bypassed: int
    decisions: int = 0

    @property
    def miss_ratio(self) -> float:
        return self.misses / self.requests if self.requests else 0.0

    @property
    def byte_miss_ratio(self) -> float:
        return self.missed_bytes / self.bytes if self.bytes else 0.0

    def metrics(self) -> dict[str, float]:
        """Return `miss_ratio` and `byte_miss_ratio` (shares of 1) with the counts behind them."""
        counts = ("requests", "bytes", "misses", "missed_bytes", "bypassed")
        return {
            "miss_ratio": self.miss_ratio,
            "byte_miss_ratio": self.byte_miss_ratio,
            **{name: float(getattr(self, name)) for name in counts},
        }


def simulate(
    policy: Policy,
    objects: NDArray[np.uint32],
    sizes: NDArray[np.int64],
    capacity: int,
    *,
    sample_size: int = 16,
    sample_seed: int = 1,
    measure_from: int = 0,
    object_count: int | None = None,
    times: NDArray[np.float64] | None = None,
    weight: int = 1,
    history: NDArray[np.uint32] | None = None,
) -> CacheResult:
    """Run a policy of `cache_eviction` over a trace, starting with an empty cache.

    `objects` and `sizes` have shape (requests,): dense ids in order of first appearance, and bytes. `capacity` is
    in bytes. Requests from `measure_from` on are counted. `sample_size` and `sample_seed` are for policies of the
    mechanism `sample`. For a spatial sample, `times` of shape (requests,) has the number of each request in the trace,
    `weight` is how many objects each stands for, and `capacity` that of the whole cache. `history`, zeros of shape
    (requests,), receives the outcome of each request and, without `times`, the departure of its object
    (`kernels.common`). Raises UserError for a `sample_size` that is out of range.
    """
    check_sample_size(sample_size)
    misses, missed_bytes, bypassed, evicted = MECHANISMS[policy.mechanism](
        MechanismRun(
            policy=policy,
            objects=objects,
            sizes=sizes,
            times=np.empty(0) if times is None else times,
            weight=weight,
            object_count=object_count if object_count is not None else int(objects.max(initial=0)) + 1,
            capacity=capacity,
            measure_from=measure_from,
            sample_size=sample_size,
            sample_seed=sample_seed,
            history=np.empty(0, np.uint32) if history is None else history,
        ),
    )
    measured = sizes[measure_from:]
    return CacheResult(len(measured), int(measured.sum(dtype=np.int64)), misses, missed_bytes, bypassed, int(evicted))


def check_sample_size(count: int) -> None:
    """Raises UserError for a number of objects that cannot be drawn at an eviction."""
    if not 1 <= count <= MAX_SAMPLED:
        raise UserError(f"sample size {count}: from 1 to {MAX_SAMPLED} objects can be drawn at an eviction")
