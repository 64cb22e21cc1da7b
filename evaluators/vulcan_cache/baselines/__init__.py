"""Known eviction policies: what a candidate is compared with.

A policy of the task `cache_eviction` that decides what is published is the baseline, run as a candidate is. Kernels are
here of oracles, and of what the mechanisms express only nearly: for the bounds on memory and operations (LHD, LIRS,
W-TinyLFU), by other draws (LeCaR), where sizes differ (ARC, 2Q), or but for rounding (GDSF, as libCacheSim rounds).
All have one signature, `Kernel`, and one meaning:

* `objects` holds dense ids in order of first appearance, `sizes` the bytes of each request, `next_access` the
  index of the next request to the same object (negative, or past the end of the trace: there is none).
* A simulation starts at request 0 with an empty cache. `measure_from` only says which requests are counted.
* A request for an object that is not resident is a miss, and misses the bytes of this request.
* A resident object occupies the size it had when it was inserted; a hit never changes that.
* An object larger than the whole cache is bypassed: a miss that evicts nothing. Any other missed object is
  admitted (unless the policy itself decides otherwise) after objects have been evicted until it fits, so that
  the resident bytes never exceed `capacity`. One that a policy refuses for its size is bypassed likewise.
* Random numbers come from a generator with a fixed seed: every kernel is deterministic.

This module does not import numba; a kernel is compiled, or loaded from disk, on first use.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.evaluator import BaselineKind
from vulcan.simulator import shipped
from vulcan_cache.remembered_run import OUTCOME
from vulcan_cache.simulate import simulate


class Kernel(Protocol):
    """A simulation of one policy on one trace: returns (misses, missed bytes, bypassed requests).

    `missed`, of shape (requests,), is set to 1 at every miss.
    """

    def __call__(
        self,
        objects: NDArray[np.uint32],
        sizes: NDArray[np.int64],
        next_access: NDArray[np.int64],
        object_count: int,
        capacity: int,
        measure_from: int,
        missed: NDArray[np.uint8] | None = None,
    ) -> tuple[int, int, int]: ...


@dataclass(frozen=True, slots=True)
class CacheBaseline:
    """A baseline: `module`, of those here, has its kernel, `function`; without one, `policy` is that of the task."""

    kind: BaselineKind
    module: str = ""
    function: str = "simulate"
    policy: str = ""

    @property
    def source(self) -> str | None:
        """The policy's text, which results depend on; None of a kernel, which is the simulator's own code."""
        return shipped("cache_eviction", self.policy).source if self.policy else None

    def kernel(self) -> Kernel:
        """Return what runs it; the first call in a process compiles it, or loads a native kernel from disk."""
        simulated = (
            partial(_run_policy, shipped("cache_eviction", self.policy))
            if self.policy
            else getattr(importlib.import_module(f"{__name__}.{self.module}"), self.function)
        )
        unrecorded = np.empty(0, np.uint8)

        def run(
            objects: NDArray[np.uint32],
            sizes: NDArray[np.int64],
            next_access: NDArray[np.int64],
            object_count: int,
            capacity: int,
            measure_from: int,
            missed: NDArray[np.uint8] | None = None,
        ) -> tuple[int, int, int]:
            record = unrecorded if missed is None else missed
            counts: tuple[int, int, int] = simulated(
                objects, sizes, next_access, object_count, capacity, measure_from, record
            )
            return counts

        return run


def _run_policy(
    policy: Policy,
    objects: NDArray[np.uint32],
    sizes: NDArray[np.int64],
    _: NDArray[np.int64],
    object_count: int,
    capacity: int,
    measure_from: int,
    missed: NDArray[np.uint8],
) -> tuple[int, int, int]:
    history = np.zeros(len(missed), np.uint32)
    run = simulate(
        policy, objects, sizes, capacity, measure_from=measure_from, object_count=object_count, history=history
    )
    missed[:] = (history & np.uint32(OUTCOME)) != 0
    return run.misses, run.missed_bytes, run.bypassed


REFUSING = {name: f"{name}-refusing" for name in ("s3-fifo", "lirs", "w-tinylfu")}
"""Published variants that differ from the policy of the same name where sizes do, and are mostly stronger there.

S3-FIFO, as in libCacheSim, refuses more than its small queue holds, LIRS, as there, more than its share of HIR objects
holds, and W-TinyLFU more than its window holds.
"""


_POLICIES = ("fifo", "lru", "lfu", "clock", "sieve", "s3-fifo", "slru")
_NAMES = (*_POLICIES, "2q", "arc", "lirs", "gdsf", "lhd", "lecar", "w-tinylfu")


def _baseline(name: str, function: str = "simulate") -> CacheBaseline:
    if name in (*_POLICIES, REFUSING["s3-fifo"]):
        return CacheBaseline("baseline", policy=name.replace("-", "_"))
    return CacheBaseline("baseline", "two_q" if name == "2q" else name.replace("-", "_"), function)


BASELINES: Mapping[str, CacheBaseline] = MappingProxyType(
    {name: _baseline(name) for name in _NAMES}
    | {REFUSING["s3-fifo"]: _baseline(REFUSING["s3-fifo"])}
    | {REFUSING[name]: _baseline(name, "refusing") for name in ("lirs", "w-tinylfu")}
    | {name: CacheBaseline("oracle", name.replace("-", "_")) for name in ("belady", "belady-size-sampled")}
)
"""Every known policy by name, in the order in which they are shown."""
