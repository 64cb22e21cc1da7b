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
    """A baseline policy: `module` is the module here that has its kernel, `function`, and says where it is from."""

    kind: BaselineKind
    module: str
    function: str = "simulate"

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


REFUSING = {name: f"{name}-refusing" for name in ("s3-fifo", "lirs", "w-tinylfu")}
"""Published variants that differ from the policy of the same name where sizes do, and are mostly stronger there.

S3-FIFO, as in libCacheSim, refuses more than its small queue holds, LIRS, as there, more than its share of HIR objects
holds, and W-TinyLFU more than its window holds.
"""


def _baseline(name: str, function: str = "simulate") -> CacheBaseline:
    if name in ("fifo", "lru", "clock", "sieve"):
        return CacheBaseline("baseline", "one_list", name)
    return CacheBaseline("baseline", "two_q" if name == "2q" else name.replace("-", "_"), function)


_NAMES = (
    "fifo", "lru", "lfu", "clock", "sieve", "s3-fifo", "slru", "2q", "arc", "lirs", "gdsf", "lhd", "lecar", "w-tinylfu",
)  # fmt: skip

BASELINES: Mapping[str, CacheBaseline] = MappingProxyType(
    {name: _baseline(name) for name in _NAMES}
    | {variant: _baseline(name, "refusing") for name, variant in REFUSING.items()}
    | {name: CacheBaseline("oracle", name.replace("-", "_")) for name in ("belady", "belady-size-sampled")}
)
"""Every known policy by name, in the order in which they are shown."""
