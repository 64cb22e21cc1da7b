"""A cache that follows the best of several policies, simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.robustness import GuardSource
from vulcan_cache.exported import directories, following_cache, mapping
from vulcan_cache.guard import bodies, departures
from vulcan_cache.simulate import CacheResult, simulate

BYTES = "byte_miss_ratio"
"""The metric by which bytes are compared."""

EVIDENCE = 32.0
"""Default of `exported.following_cache`."""


@dataclass(frozen=True, slots=True)
class FollowedResult:
    """The counts of a run, how often another policy was followed, and the number of the one followed at its end."""

    counts: CacheResult
    switches: int
    last: int


def simulate_following(
    policies: Sequence[tuple[Policy, Mapping[str, Any]]],
    objects: NDArray[np.uint32],
    sizes: NDArray[np.int64],
    capacity: int,
    *,
    by_bytes: bool = False,
    measure_from: int = 0,
    object_count: int | None = None,
    evidence: float = EVIDENCE,
) -> FollowedResult:
    """Run a cache that follows these policies, each with what `simulate` needs for it, and first the first of them.

    With `by_bytes` the bytes that they miss are compared, else the requests.
    """
    from vulcan_cache.kernels.following import following  # compiles the kernel, or loads it

    count = object_count if object_count is not None else int(objects.max(initial=0)) + 1
    histories = np.zeros((len(policies), len(objects)), np.uint32)
    for history, (policy, how) in zip(histories, policies, strict=True):
        simulate(policy, objects, sizes, capacity, object_count=count, history=history, **how)
    left = [departures(history) for history in histories]
    misses, missed_bytes, bypassed, switches, last = following(
        objects,
        sizes,
        histories,
        np.concatenate(left),
        np.cumsum([0, *map(len, left)], dtype=np.int64),
        count,
        capacity,
        measure_from,
        by_bytes,
        evidence,
    )
    measured = sizes[measure_from:]
    total = int(measured.sum(dtype=np.int64))
    return FollowedResult(CacheResult(len(measured), total, misses, missed_bytes, bypassed), switches, last)


def source() -> GuardSource:
    """Return what follows at run time: see `vulcan.evaluator.Evaluator`."""
    return GuardSource("Cache", "\n\n\n".join([*bodies(mapping, directories, following_cache), _CACHE]))


_CACHE = f"""class Cache(_FollowingCache):
    __doc__ = _FollowingCache.__doc__

    def __init__(self, capacity, **how):
        super().__init__(capacity, [policy() for policy in FOLLOWED], by_bytes=METRIC == "{BYTES}", **how)
"""
