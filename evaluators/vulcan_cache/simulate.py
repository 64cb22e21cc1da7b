"""Running a policy over a trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan_cache.layout import LAYOUT, MOST_SAMPLED, RECORD

_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Result:
    """Counts over the measured requests. `bypassed` are misses of objects larger than the cache.

    `evictions` is a hash of the sequence of all evicted objects, None where it is not known.
    """

    requests: int
    bytes: int
    misses: int
    missed_bytes: int
    bypassed: int
    evictions: int | None = None

    @property
    def miss_ratio(self) -> float:
        return self.misses / self.requests if self.requests else 0.0

    @property
    def byte_miss_ratio(self) -> float:
        return self.missed_bytes / self.bytes if self.bytes else 0.0


def simulate(
    policy: Policy,
    objects: NDArray[np.uint32],
    sizes: NDArray[np.uint32],
    capacity: int,
    *,
    mechanism: str = "sample",
    sample_size: int = 16,
    sample_seed: int = 1,
    measure_from: int = 0,
    object_count: int | None = None,
    times: NDArray[np.float64] | None = None,
    weight: int = 1,
) -> Result:
    """Run a policy of the task `cache_eviction` over a trace, starting with an empty cache.

    `objects` and `sizes` have shape (requests,): dense ids in order of first appearance, and bytes. `capacity` is
    in bytes. Requests from `measure_from` on are counted. `mechanism` is `sample` or `heap`. For a spatial sample,
    `times` of shape (requests,) has the number of each request in the trace, `weight` is how many objects each stands
    for, and `capacity` that of the whole cache. Raises UserError for a `sample_size` that is out of range.
    """
    from vulcan_cache.heap import new_nodes
    from vulcan_cache.mechanisms import MECHANISMS

    check_sample_size(sample_size)
    count = object_count if object_count is not None else int(objects.max(initial=0)) + 1
    native = policy.native(LAYOUT)
    records = _aligned(count * RECORD)
    misses, missed_bytes, bypassed, evicted = MECHANISMS[mechanism](
        (native.score, native.enter, native.update, native.leave),
        objects,
        sizes,
        np.empty(0) if times is None else times,
        float(weight),
        native.new_globals(),
        records,
        records.view(np.int64),
        native.new_statistics(count),
        np.uint64(native.entity_slots),
        capacity,
        measure_from,
        sample_size,
        np.uint64(generator_state(sample_seed)),
        new_nodes(count),
        np.zeros(count + 1, np.uint32),
        np.empty(sample_size, np.uint64),
    )
    measured = sizes[measure_from:]
    return Result(len(measured), int(measured.sum(dtype=np.int64)), misses, missed_bytes, bypassed, int(evicted))


def check_sample_size(count: int) -> None:
    """Raises UserError for a number of objects that cannot be drawn at an eviction."""
    if not 1 <= count <= MOST_SAMPLED:
        raise UserError(f"sample size {count}: from 1 to {MOST_SAMPLED} objects can be drawn at an eviction")


def generator_state(seed: int) -> int:
    """Where the generator of the mechanism `sample` starts: splitmix64 of the seed, but never 0."""
    z = (seed + 1) * _GOLDEN & _MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return (z ^ (z >> 31)) or _GOLDEN


def _aligned(slots: int) -> NDArray[Any]:
    """Zeroed float64, each record of 8 in one cache line."""
    block = np.zeros(slots + RECORD)
    offset = (-block.ctypes.data // 8) % RECORD
    return block[offset : offset + slots]
