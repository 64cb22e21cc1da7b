"""The outcomes of the last run of a policy, from which a part of the same requests is counted without another run."""

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

Run = Callable[[Policy, CacheSpec, Requests, NDArray[np.uint32]], CacheResult]


@dataclass
class LastRun:
    """The last run, whichever requests of it were measured, and their outcomes."""

    _run: object = None
    _outcomes: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))

    def counted(self, policy: Policy, spec: CacheSpec, requests: Requests, run: Run) -> CacheResult:
        """Return the counts of the instance; `run` runs the policy on it where the last run was another or shorter."""
        start, stop = requests.measure_from, len(requests.objects)
        asked = policy.fingerprint, replace(spec, measure_from=0, measure_to=0)
        if asked != self._run or stop > len(self._outcomes):
            history = np.zeros(stop, np.uint32)
            result = run(policy, spec, requests, history)
            self._run, self._outcomes = asked, (history & np.uint32(OUTCOME)).astype(np.uint8)
            return result
        outcomes, sizes = self._outcomes[start:stop], requests.sizes[start:]
        missed = np.not_equal(outcomes, 0)
        return CacheResult(
            len(sizes),
            int(sizes.sum(dtype=np.int64)),
            int(np.count_nonzero(missed)),
            int(sizes[missed].sum(dtype=np.int64)),
            int(np.count_nonzero(outcomes == REFUSED)),
        )
