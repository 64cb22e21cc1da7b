"""The outcomes of the latest runs, from which a part of the same requests is counted without another run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan_cache.simulate import CacheResult
from vulcan_cache.spec import CacheSpec, Requests

OUTCOME, REFUSED = 3, 2
"""Bits of a history that hold the outcome of a request, and that of a miss whose object did not enter the cache; a hit
is 0 (`kernels.common`, which loads numba)."""

ROOM = 64 << 20
"""Bytes of outcomes that are remembered, one a request: a search measures its finalists, and then on their windows."""

Run = Callable[[Policy, CacheSpec, Requests, NDArray[np.uint32]], CacheResult]


@dataclass
class RecentRuns:
    """The outcomes of runs, whichever requests of them were measured, the latest last."""

    _outcomes: dict[object, NDArray[np.uint8]] = field(default_factory=dict)

    def counted(self, policy: Policy, spec: CacheSpec, requests: Requests, run: Run) -> CacheResult:
        """Return the counts of the instance; `run` runs the policy on it where no run is remembered as long."""
        start, stop = requests.measure_from, len(requests.objects)
        asked = policy.fingerprint, replace(spec, measure_from=0, measure_to=0)
        known = self._outcomes.pop(asked, None)
        if known is None or stop > len(known):
            history = np.zeros(stop, np.uint32)
            result = run(policy, spec, requests, history)
            self._outcomes[asked] = (history & np.uint32(OUTCOME)).astype(np.uint8)
            while sum(map(len, self._outcomes.values())) > max(ROOM, stop):
                del self._outcomes[next(iter(self._outcomes))]
            return result
        self._outcomes[asked] = known
        outcomes, sizes = known[start:stop], requests.sizes[start:]
        missed = np.not_equal(outcomes, 0)
        return CacheResult(
            len(sizes),
            int(sizes.sum(dtype=np.int64)),
            int(np.count_nonzero(missed)),
            int(sizes[missed].sum(dtype=np.int64)),
            int(np.count_nonzero(outcomes == REFUSED)),
        )
