"""An instance: a trace, a cache size and a measured range of requests; and the requests that it is run on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vulcan.simulator import sparse


@dataclass(frozen=True, slots=True)
class CacheSpec:
    """Requests from `measure_from` to `measure_to` are measured, always from an empty cache.

    `capacity` is in bytes, of which each object has one with `unit_sizes`. `digest` is that of the trace, of which one
    in `one_in` objects is requested.
    `guard` is the safe policy that guards the policy, and `told` how a program hears of requests.
    """

    trace: str
    trace_format: str | None
    columns: str | None
    skip_bad_lines: bool
    digest: str = ""
    unit_sizes: bool = False
    capacity: int = 0
    measure_from: int = 0
    measure_to: int = 0
    one_in: int = 1
    sample_size: int | None = sparse(None)
    sample_seed: int | None = sparse(None)
    told: str = sparse("")
    guard: str = sparse("")

    @property
    def drawn(self) -> dict[str, Any]:
        """Return how objects are drawn for a policy of the mechanism `sample`, as `simulate` takes it."""
        how = {"sample_size": self.sample_size, "sample_seed": self.sample_seed}
        return {name: value for name, value in how.items() if value is not None}

    @property
    def measured(self) -> tuple[str, int, bool, int, int, int]:
        """Return all that the result of a baseline depends on."""
        return self.digest, self.one_in, self.unit_sizes, self.capacity, self.measure_from, self.measure_to


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests of an instance, up to the last one measured.

    On a spatial sample `times` has the number of each request in the trace; else it is None, and they are the indices.
    """

    objects: NDArray[np.uint32]
    sizes: NDArray[np.int64]
    following: NDArray[np.int64]
    times: NDArray[np.float64] | None
    measure_from: int
    object_count: int
