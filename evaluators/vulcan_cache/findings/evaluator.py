"""The findings of the cache evaluators: a base class, for all that they have in common with measuring."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.evaluator import Evaluator, Instance
from vulcan.findings import EvaluatorFinding
from vulcan.task import Json, Metrics
from vulcan_cache.baselines import BASELINES
from vulcan_cache.findings.attribution import Attribution, attribute, new_history
from vulcan_cache.findings.evidence import Evidence, cached_misses, oracle_for
from vulcan_cache.findings.policy import Setting, differences, findings_of
from vulcan_cache.probe import ProbeScale
from vulcan_cache.simulate import CacheResult
from vulcan_traces import Trace

OUTCOME = 3
"""Bits of a history that hold the outcome of a request, 0 being a hit (`kernels.common`, which loads numba)."""

_REMEMBERED = 32
"""Runs whose misses are kept, a bit a request: in a search a policy's parent was explained before it."""


@dataclass(frozen=True, slots=True)
class InstanceRequests:
    """Requests of an instance, up to the last one measured.

    On a spatial sample `times` has the number of each request in the trace; else it is None, and they are the indices.
    """

    objects: NDArray[np.uint32]
    sizes: NDArray[np.int64]
    following: NDArray[np.int64]
    times: NDArray[np.float64] | None
    measure_from: int


class CacheFindings(Evaluator):
    """Findings on instances of a cache; a subclass knows the instances and runs policies on them."""

    def __init__(self) -> None:
        self._evidence: dict[str, Evidence] = {}
        self._missed: OrderedDict[tuple[str, str], NDArray[np.uint8]] = OrderedDict()

    @abstractmethod
    def run(self, policy: Policy, instance: Instance, history: NDArray[np.uint32] | None = None) -> CacheResult:
        """Run the policy on the instance, and record the history if an array is given (`simulate`)."""

    @abstractmethod
    def run_baseline(self, name: str, instance: Instance, missed: NDArray[np.uint8] | None = None) -> CacheResult:
        """Run a baseline on the instance, and record its misses if an array is given."""

    @abstractmethod
    def evaluate_baseline(self, name: str, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`."""

    @abstractmethod
    def _trace(self, source: Mapping[str, Json]) -> Trace: ...

    @abstractmethod
    def _requests(self, instance: Instance) -> InstanceRequests: ...

    @abstractmethod
    def _scale(self, instance: Instance) -> ProbeScale: ...

    def workload(self, instance: Instance) -> Sequence[EvaluatorFinding]:
        """See `vulcan.evaluator.Evaluator`."""
        from vulcan_cache.findings.workload import describe  # with the kernels of fingerprints
        from vulcan_traces.fingerprint import fingerprint

        p = cast(dict[str, Any], instance.parameters)
        found = fingerprint(self._trace({**p, "one_in": 1}), first=p["measure_to"])
        return describe(found, p["capacity"], is_unit=bool(p["unit_sizes"]))

    def prepare_findings(self, instances: Sequence[Instance]) -> None:
        """See `vulcan.evaluator.Evaluator`."""
        from vulcan_cache.kernels import attribution  # noqa: F401  # compiles the kernel, or loads it

        for instance in instances:
            if instance.parameters["one_in"] == 1:
                self._compared_with(instance)

    def findings(self, policy: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        """See `vulcan.evaluator.Evaluator`: the misses by cause, and by what the objects were."""
        against = self._compared_with(instance)
        found = self._attributed(self._recorded(policy, instance), against.baseline_missed, instance)
        return findings_of(found, self._setting(instance, against.baseline))

    def findings_beside(self, policy: Policy, parent: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        """See `vulcan.evaluator.Evaluator`."""
        against = self._compared_with(instance)
        history, parent_missed = self._recorded(policy, instance), self._missed_by_policy(parent, instance)
        found = self._attributed(history, against.baseline_missed, instance, parent_missed)
        return findings_of(found, replace(self._setting(instance, against.baseline), has_parent=True))

    def compare(self, first: Policy, second: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        """See `vulcan.evaluator.Evaluator`."""
        found = self._attributed(self._recorded(first, instance), self._missed_by_policy(second, instance), instance)
        return differences(found, self._setting(instance, "second"))

    def _recorded(self, policy: Policy, instance: Instance) -> NDArray[np.uint32]:
        history = new_history(len(self._requests(instance).objects))
        self.run(policy, instance, history)
        self._missed[self._run_of(policy, instance)] = np.packbits(history.astype(np.uint8) & np.uint8(OUTCOME))
        if len(self._missed) > _REMEMBERED:
            self._missed.popitem(last=False)
        return history

    def _run_of(self, policy: Policy, instance: Instance) -> tuple[str, str]:
        return policy.source, json.dumps(dict(instance.parameters), sort_keys=True)

    def _missed_by_policy(self, policy: Policy, instance: Instance) -> NDArray[np.uint8]:
        run = self._run_of(policy, instance)
        if run not in self._missed:
            self._recorded(policy, instance)
        return np.unpackbits(self._missed[run], count=len(self._requests(instance).objects))

    def attribution(self, policy: Policy, instance: Instance) -> Attribution:
        """Return the numbers behind `findings`."""
        against = self._compared_with(instance)
        return self._attributed(self._recorded(policy, instance), against.baseline_missed, instance)

    def _attributed(
        self,
        history: NDArray[np.uint32],
        baseline_missed: NDArray[np.uint8],
        instance: Instance,
        parent_missed: NDArray[np.uint8] | None = None,
    ) -> Attribution:
        p = cast(dict[str, Any], instance.parameters)
        requests = self._requests(instance)
        return attribute(
            requests.objects,
            requests.sizes,
            history,
            self._compared_with(instance).oracle_missed,
            baseline_missed,
            p["capacity"],
            requests.measure_from,
            self._trace(p).object_count,
            self._scale(instance).object_size,
            parent_missed,
        )

    def _setting(self, instance: Instance, baseline: str) -> Setting:
        p = cast(dict[str, Any], instance.parameters)
        requests, scale = self._requests(instance), self._scale(instance)
        return Setting(
            self._compared_with(instance).oracle,
            baseline,
            len(requests.objects) - requests.measure_from,
            len(requests.objects),
            p["capacity"],
            scale.object_size,
            max(1.0, p["capacity"] / scale.object_size),
            bool((requests.sizes == requests.sizes[:1]).all()),
        )

    def _compared_with(self, instance: Instance) -> Evidence:
        """Return the misses of the oracle and of the baseline with the fewest.

        On an instance that was not prepared the baseline is that of one that was: to look for it could take files.
        """
        identity = self.identity(instance)
        key = json.dumps(identity)
        if key not in self._evidence:
            names = [name for name, baseline in BASELINES.items() if baseline.kind == "baseline"]
            prepared = next(iter(self._evidence.values()), None)
            best = (
                prepared.baseline
                if prepared is not None and instance.name.partition(" first ")[1]
                else min(names, key=lambda name: self.evaluate_baseline(name, instance)["misses"])
            )
            oracle = oracle_for(self._requests(instance).sizes)
            misses = [self._missed_by(name, instance) for name in (oracle.name, best)]
            self._evidence[key] = Evidence(oracle.name, misses[0], best, misses[1])
        return self._evidence[key]

    def _missed_by(self, name: str, instance: Instance) -> NDArray[np.uint8]:
        return cached_misses(
            [name, BASELINES[name].version, *self.identity(instance)],
            len(self._requests(instance).objects),
            lambda missed: self.run_baseline(name, instance, missed),
        )

    def identity(self, instance: Instance) -> list[Json]:
        """Return all that the result of a baseline depends on."""
        of = ("digest", "unit_sizes", "capacity", "measure_from", "measure_to")
        return [instance.parameters[name] for name in of]
