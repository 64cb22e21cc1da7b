"""Known eviction policies: what a candidate is compared with.

A policy of the task `cache_eviction` that decides what is published is the baseline, run as a candidate is. Kernels are
here of oracles, and of what the mechanisms express only nearly: for the bounds on memory and operations (LHD, LIRS,
W-TinyLFU), by other draws (LeCaR), where sizes differ (ARC), or but for rounding (GDSF, as libCacheSim rounds).
All have the signature of `CacheBaseline.run`, and one meaning:

* `objects` holds dense ids in order of first appearance, `sizes` the bytes of each request, `next_access` the
  index of the next request to the same object (negative, or past the end of the trace: there is none).
* A simulation starts at request 0 with an empty cache. `measure_from` only says which requests are counted.
* A request for an object that is not resident is a miss, and misses the bytes of this request.
* A resident object occupies the size it had when it was inserted; a hit never changes that.
* An object larger than the whole cache is bypassed: a miss that evicts nothing. Any other missed object is
  admitted (unless the policy itself decides otherwise) after objects have been evicted until it fits, so that
  the resident bytes never exceed `capacity`. One that a policy refuses for its size is bypassed likewise.
* Random numbers come from a generator with a fixed seed: every kernel is deterministic.

This module does not import numba.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from vulcan.evaluator import BaselineKind
from vulcan.simulator import shipped
from vulcan_cache.remembered_run import OUTCOME
from vulcan_cache.simulate import simulate


@dataclass(frozen=True, slots=True)
class CacheBaseline:
    """A baseline: `module`, of those here, has its kernel; without one, `policy` is that of the task.

    One that `refuses` admits no object that is larger than a hundredth of the cache.
    """

    kind: BaselineKind
    module: str = ""
    policy: str = ""
    refuses: bool = False

    @property
    def source(self) -> str | None:
        """The policy's text, which results depend on; None of a kernel, which is the simulator's own code."""
        return shipped("cache_eviction", self.policy).source if self.policy else None

    def run(
        self,
        objects: NDArray[np.uint32],
        sizes: NDArray[np.int64],
        next_access: NDArray[np.int64],
        object_count: int,
        capacity: int,
        measure_from: int,
        missed: NDArray[np.uint8] | None = None,
    ) -> tuple[int, int, int]:
        """Simulate it on a trace: returns misses, missed bytes and bypassed requests.

        `missed`, of shape (requests,), is set to 1 at every miss. A kernel is compiled, or loaded from disk, at first.
        """
        record = np.empty(0, np.uint8) if missed is None else missed
        if not self.policy:
            kernel = importlib.import_module(f"{__name__}.{self.module}").simulate
            largest = max(1, capacity // 100) if self.refuses else capacity
            misses, missed_bytes, bypassed = kernel(
                objects, sizes, next_access, object_count, capacity, largest, measure_from, record
            )
            return int(misses), int(missed_bytes), int(bypassed)
        policy, history = shipped("cache_eviction", self.policy), np.zeros(len(record), np.uint32)
        run = simulate(
            policy, objects, sizes, capacity, measure_from=measure_from, object_count=object_count, history=history
        )
        record[:] = (history & np.uint32(OUTCOME)) != 0
        return run.misses, run.missed_bytes, run.bypassed


_REFUSING = "-refusing"
REFUSING = {name: name + _REFUSING for name in ("s3-fifo", "lirs", "w-tinylfu")}
"""Published variants that differ from the policy of the same name where sizes do, and are mostly stronger there.

S3-FIFO, as in libCacheSim, refuses more than its small queue holds, LIRS, as there, more than its share of HIR objects
holds, and W-TinyLFU more than its window holds.
"""


_POLICIES = ("fifo", "lru", "lfu", "clock", "sieve", "s3-fifo", "slru", "2q")
_NAMES = (*_POLICIES, "arc", "lirs", "gdsf", "lhd", "lecar", "w-tinylfu")


def _baseline(name: str) -> CacheBaseline:
    published, refuses = name.removesuffix(_REFUSING), name.endswith(_REFUSING)
    if published in _POLICIES:
        return CacheBaseline("baseline", policy="two_q" if name == "2q" else name.replace("-", "_"))
    return CacheBaseline("baseline", published.replace("-", "_"), refuses=refuses)


BASELINES: Mapping[str, CacheBaseline] = MappingProxyType(
    {name: _baseline(name) for name in (*_NAMES, *REFUSING.values())}
    | {name: CacheBaseline("oracle", name.replace("-", "_")) for name in ("belady", "belady-size-sampled")}
)
"""Every known policy by name, in the order in which they are shown."""
