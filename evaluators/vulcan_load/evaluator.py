"""The evaluator of the task `load_balancing`: clusters and requests in, latencies out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.evaluator import BaselineKind, Instance, Rung, SplitName
from vulcan.findings import EvaluatorFinding
from vulcan.task import Json, Metrics, Split
from vulcan_load.cluster import Cluster, ServiceWorkload
from vulcan_load.findings.account import account
from vulcan_load.findings.words import Reference, describe_cluster, differences, findings_of, shared_findings
from vulcan_load.simulate import BASELINES, LEAST_WORK, ORACLES, simulate

_DRAWS: tuple[tuple[SplitName, int], ...] = (("train", 0), ("validation", 1), ("test", 2))
_SEEDS_APART = 1_000_003
_TEST_ONLY = ("exponential", "bimodal")
"""Services of the test that the search never saw, alongside its own."""

_PROBED, _SAMPLED = 400, 0.2
"""Requests that tell policies apart, and the share of the requests on the first rung."""


class LoadEvaluator:
    """An instance is a cluster at a load, with requests drawn for it; each split has draws of its own.

    The test has other distributions of work as well. With `--split none` there is the first draw alone.
    """

    def __init__(self) -> None:
        self._workloads: dict[Cluster, ServiceWorkload] = {}
        self._probes: tuple[ServiceWorkload, ...] | None = None
        self._references: dict[Cluster, tuple[Reference, Reference]] = {}

    def instances(self, settings: Mapping[str, Json], split: Split) -> Sequence[Instance]:
        """See `vulcan.evaluator.Evaluator`."""
        given = cast(dict[str, Any], settings)
        found: list[Instance] = []
        for name, draw in _DRAWS if split.by != "none" else _DRAWS[:1]:
            for service in dict.fromkeys((given["service"], *(_TEST_ONLY if name == "test" else ()))):
                for machines in dict.fromkeys(given["machines"]):
                    for load in dict.fromkeys(given["load"]):
                        cluster = Cluster(
                            servers=given["servers"],
                            cores=given["cores"],
                            balancers=given["balancers"],
                            load=load,
                            service=service,
                            machines=machines,
                            probes=given["probes"],
                            delay_ms=given["delay"],
                            requests=given["requests"],
                            seed=given["workload_seed"] + draw * _SEEDS_APART,
                            # a run from before these were settings has none of them
                            discipline=given.get("discipline", "queue"),
                            memory=given.get("memory", "last"),
                            bursts=given.get("bursts", 1.0),
                            timeout_ms=given.get("timeout", 0.0),
                            retries=given.get("retries", 0),
                        )
                        parameters: dict[str, Json] = {slot: getattr(cluster, slot) for slot in Cluster.__slots__}
                        if cluster.retries == 0:  # an instance as it was before there were any
                            del parameters["timeout_ms"], parameters["retries"]
                        found.append(Instance(f"{machines}@{load:g}-{service}", name, parameters))
        if not found:
            raise UserError("name at least one --load and one --machines")
        return found

    def prepare(self, instances: Sequence[Instance]) -> None:
        """See `vulcan.evaluator.Evaluator`."""
        from vulcan.anvil.native.jit import warm_up
        from vulcan_load.kernels import engine as kernel  # noqa: F401 - compiles it, or loads it

        warm_up()
        for instance in instances:
            self._workload(instance)
        searched = [i for i in instances if i.split == "train"] or list(instances)
        short = [replace(cluster_of(instance), requests=_PROBED) for instance in searched]
        self._probes = tuple(ServiceWorkload.of(cluster) for cluster in short)

    def evaluate(self, policy: Policy, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`; the metrics are those of `vulcan_load.Result`."""
        return simulate(policy, self._workload(instance)).metrics()

    def baselines(self) -> Mapping[str, BaselineKind]:
        """See `vulcan.evaluator.Evaluator`."""
        return {**dict.fromkeys(BASELINES, "baseline"), **dict.fromkeys(ORACLES, "oracle")}

    def evaluate_baseline(self, name: str, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`."""
        return simulate(name, self._workload(instance)).metrics()

    def decisions(self, policy: Policy) -> str:
        """See `vulcan.evaluator.OffersDecisions`: where the first requests of other, short draws go."""
        if self._probes is None:
            raise ValueError("decisions are known only after prepare")
        digest = 0
        for workload in self._probes:
            digest = (digest * 6364136223846793005 + simulate(policy, workload).decisions + 1) % 2**64
        return f"{digest:016x}"

    def rungs(self, instances: Sequence[Instance]) -> Sequence[Rung]:
        """See `vulcan.evaluator.OffersRungs`: a fifth of the requests, redrawn."""
        if any(cluster_of(instance).requests * _SAMPLED < 1000 for instance in instances):
            return ()
        cheaper = []
        for instance in instances:
            parameters = dict(instance.parameters)
            parameters["requests"] = round(cluster_of(instance).requests * _SAMPLED)
            cheaper.append(Instance(f"{instance.name}, a fifth", "train", parameters))
        return (Rung("a fifth of the requests", tuple(cheaper), 0.4, _SAMPLED),)

    def workload(self, instance: Instance) -> Sequence[EvaluatorFinding]:
        """See `vulcan.findings.DescribesWorkloads`."""
        return describe_cluster(self._workload(instance))

    def prepare_findings(self, instances: Sequence[Instance]) -> None:
        """See `vulcan.findings.PreparesFindings`."""
        from vulcan_load.kernels import attribution  # noqa: F401 - compiles it, or loads it

        for instance in instances:
            self._compared_with(instance)

    def findings(self, policy: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        """See `vulcan.findings.OffersFindings`: latency by cause, by server class and by time."""
        workload = self._workload(instance)
        oracle, best = self._compared_with(instance)
        result = simulate(policy, workload)
        if workload.cluster.discipline == "sharing" or workload.cluster.retries > 0:
            return shared_findings(result.measured, workload, oracle, best)
        return findings_of(account(workload, result), workload, oracle, best)

    def compare(self, first: Policy, second: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        """See `vulcan.findings.ComparesPolicies`."""
        workload = self._workload(instance)
        one, other = (simulate(policy, workload).measured for policy in (first, second))
        return differences(one, other, workload)

    def _compared_with(self, instance: Instance) -> tuple[Reference, Reference]:
        """Return who knows everything, and the baseline of the lowest 99th percentile."""
        workload = self._workload(instance)
        if workload.cluster not in self._references:
            oracle = LEAST_WORK if workload.cluster.discipline == "queue" else "shortest_queue"
            runs = {name: simulate(name, workload) for name in (oracle, *BASELINES)}
            best = min(BASELINES, key=lambda name: runs[name].percentile(0.99))
            oracle_run, best_run = (Reference(name, runs[name].measured) for name in (oracle, best))
            self._references[workload.cluster] = oracle_run, best_run
        return self._references[workload.cluster]

    def _workload(self, instance: Instance) -> ServiceWorkload:
        cluster = cluster_of(instance)
        if cluster not in self._workloads:
            self._workloads[cluster] = ServiceWorkload.of(cluster)
        return self._workloads[cluster]


def cluster_of(instance: Instance) -> Cluster:
    """Return the instance's cluster. Raises UserError for one that cannot be."""
    return Cluster(**cast(dict[str, Any], instance.parameters))
