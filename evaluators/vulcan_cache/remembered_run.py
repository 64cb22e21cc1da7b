"""The outcomes of the last run of a policy, from which a part of the same requests is counted without another run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.evaluator import Instance
from vulcan.task import Json
from vulcan_cache.findings.evaluator import OUTCOME, InstanceRequests
from vulcan_cache.simulate import CacheResult

REFUSED = 2
"""The outcome of a miss whose object did not enter the cache (`kernels.common`, which loads numba)."""

Run = Callable[[Policy, Instance, NDArray[np.uint32]], CacheResult]


@dataclass
class LastRun:
    """The policy and the instance of the last run, apart from which requests are measured, and their outcomes."""

    _fingerprint: str = ""
    _parameters: Mapping[str, Json] = field(default_factory=dict)
    _outcomes: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))

    def counted(self, policy: Policy, instance: Instance, requests: InstanceRequests, run: Run) -> CacheResult:
        """Return the counts of the instance; `run` runs the policy on it where the last run was another or shorter."""
        same = {name: v for name, v in instance.parameters.items() if name not in ("measure_from", "measure_to")}
        start, stop = requests.measure_from, len(requests.objects)
        known = policy.fingerprint == self._fingerprint and same == self._parameters and stop <= len(self._outcomes)
        if not known:
            history = np.zeros(stop, np.uint32)
            result = run(policy, instance, history)
            self._fingerprint, self._parameters = policy.fingerprint, same
            self._outcomes = (history & np.uint32(OUTCOME)).astype(np.uint8)
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
