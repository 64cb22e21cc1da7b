"""Known eviction policies as native kernels: what a candidate is compared with.

Every kernel has one signature, `Kernel`, and one meaning:

* `objects` holds dense ids in order of first appearance, `sizes` the bytes of each request, `next_access` the
  index of the next request to the same object (negative, or past the end of the trace: there is none).
* A simulation starts at request 0 with an empty cache. `measure_from` only says which requests are counted.
* A request for an object that is not resident is a miss, and misses the bytes of this request.
* A resident object occupies the size it had when it was inserted; a hit never changes that.
* An object larger than the whole cache is bypassed: a miss that evicts nothing. Any other missed object is
  admitted (unless the policy itself decides otherwise) after objects have been evicted until it fits, so that
  the resident bytes never exceed `capacity`.
* Random numbers come from a generator with a fixed seed: every kernel is deterministic.

This module does not import numba; a policy's module is imported, and its kernel compiled or loaded from disk,
on first use.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from vulcan.evaluator import BaselineKind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
    """A baseline policy.

    `kind` is `bound` for a policy that sees the future. `module` is the module here that has its kernel, `function`.
    `unit_sizes_only` marks a bound that is one only where all objects have the same size. `version` grows
    when the policy's results change, so that results cached on disk can be told from new ones.
    """

    name: str
    kind: BaselineKind
    source: str
    module: str
    function: str = "simulate"
    version: int = 1
    unit_sizes_only: bool = False

    def kernel(self) -> Kernel:
        """Return the policy's native kernel; the first call in a process compiles it or loads it from disk."""
        import numpy as np

        simulate = getattr(importlib.import_module(f"{__name__}.{self.module}"), self.function)
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
            counts: tuple[int, int, int] = simulate(
                objects, sizes, next_access, object_count, capacity, measure_from, record
            )
            return counts

        return run


_ALL = (
    CacheBaseline("fifo", "baseline", "first in, first out", "fifo"),
    CacheBaseline("lru", "baseline", "least recently used", "lru"),
    CacheBaseline("lfu", "baseline", "least frequently used, of equals the least recently", "lfu"),
    CacheBaseline("clock", "baseline", "Corbató, A Paging Experiment with the Multics System, 1968", "clock"),
    CacheBaseline("sieve", "baseline", "Zhang et al., SIEVE, NSDI 2024", "sieve"),
    CacheBaseline("s3-fifo", "baseline", "Yang et al., FIFO Queues Are All You Need, SOSP 2023", "s3_fifo"),
    CacheBaseline("slru", "baseline", "Karedla, Love and Wherry, IEEE Computer 1994 (four segments)", "slru"),
    CacheBaseline("2q", "baseline", "Johnson and Shasha, 2Q, VLDB 1994 (full version)", "two_q"),
    CacheBaseline("arc", "baseline", "Megiddo and Modha, ARC, FAST 2003", "arc"),
    CacheBaseline("lirs", "baseline", "Jiang and Zhang, LIRS, SIGMETRICS 2002", "lirs"),
    CacheBaseline("gdsf", "baseline", "Cherkasova, GDSF, HPL-98-69R1, 1998", "gdsf"),
    CacheBaseline("lhd", "baseline", "Beckmann, Chen and Cidon, LHD, NSDI 2018", "lhd"),
    CacheBaseline("lecar", "baseline", "Vietri et al., LeCaR, HotStorage 2018", "lecar"),
    CacheBaseline("w-tinylfu", "baseline", "Einziger, Friedman and Manes, TinyLFU, ACM ToS 2017", "w_tinylfu"),
    CacheBaseline("s3-fifo-refusing", "baseline", "S3-FIFO in libCacheSim: refuses more than its small queue holds",
                  "s3_fifo", "refusing"),
    CacheBaseline("lirs-refusing", "baseline", "LIRS in libCacheSim: refuses more than its share of HIR objects holds",
                  "lirs", "refusing"),
    CacheBaseline("w-tinylfu-refusing", "baseline", "W-TinyLFU that refuses more than its window holds",
                  "w_tinylfu", "refusing"),
    CacheBaseline("belady", "oracle", "Belady, MIN, IBM Systems Journal 1966", "belady", unit_sizes_only=True),
    CacheBaseline(
        "belady-size-sampled",
        "oracle",
        "of 64 sampled objects the one with the largest size x time to its next request (no proven bound)",
        "belady_size_sampled",
    ),
)  # fmt: skip

REFUSING = tuple(baseline.name for baseline in _ALL if baseline.name.endswith("-refusing"))
"""Published variants that differ from the policy of the same name where sizes do, and are mostly stronger there."""

BASELINES: Mapping[str, CacheBaseline] = MappingProxyType({baseline.name: baseline for baseline in _ALL})
"""Every known policy by name, in the order in which they are shown."""
