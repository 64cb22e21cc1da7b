"""The simulator of the task `load_balancing`: clusters and requests in, latencies out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.evaluator import Instance, Rung, SplitName
from vulcan.findings import EvaluatorFinding
from vulcan.simulator import Case, Simulator, kinds_of, override
from vulcan.task import Json, Split
from vulcan_load.account import Reference, account, describe_cluster, differences, findings_of, shared_findings
from vulcan_load.simulate import BASELINES, LEAST_WORK, ORACLES, LoadResult, simulate
from vulcan_load.spec import Cluster
from vulcan_load.workload import ServiceWorkload

_DRAWS: tuple[tuple[SplitName, int], ...] = (("train", 0), ("validation", 1), ("test", 2))
_SEEDS_APART = 1_000_003
_TEST_ONLY = ("exponential", "bimodal")
"""Services of the test that the search never saw, alongside its own."""

_PROBED, _SAMPLED = 400, 0.2
"""Requests that tell policies apart, and the share of the requests on the first rung."""


class LoadSimulator(Simulator[Cluster, ServiceWorkload, LoadResult]):
    """An instance is a cluster at a load, with requests drawn for it; each split has draws of its own.

    The test has other distributions of work as well. With `--split none` there is the first draw alone.
    """

    spec = Cluster
    known = kinds_of(BASELINES, ORACLES)
    kernels = ("vulcan_load.kernels.engine",)
    explaining_kernels = ("vulcan_load.kernels.attribution",)
    identity = ("load", 1)

    @override
    def cases(self, settings: Mapping[str, Json], split: Split) -> Iterable[Case[Cluster]]:
        given: Any = settings
        if not given["load"] or not given["machines"]:
            raise UserError("name at least one --load and one --machines")
        for part, draw in _DRAWS if split.by != "none" else _DRAWS[:1]:
            services = dict.fromkeys((given["service"], *(_TEST_ONLY if part == "test" else ())))
            for service, machines, load in product(services, *map(dict.fromkeys, (given["machines"], given["load"]))):
                cluster = Cluster(
                    **{name: given[name] for name in ("servers", "cores", "balancers", "probes", "requests")},
                    load=load,
                    service=service,
                    machines=machines,
                    delay_ms=given["delay"],
                    seed=given["workload_seed"] + draw * _SEEDS_APART,
                    # a run from before these were settings has none of them
                    discipline=given.get("discipline", "queue"),
                    memory=given.get("memory", "last"),
                    bursts=given.get("bursts", 1.0),
                    timeout_ms=given.get("timeout", 0.0),
                    retries=given.get("retries", 0),
                )
                yield Case(f"{machines}@{load:g}-{service}", part, cluster)

    @override
    def load(self, spec: Cluster) -> ServiceWorkload:
        return ServiceWorkload.of(spec)

    @override
    def run(self, who: Policy | str, spec: Cluster, workload: ServiceWorkload) -> LoadResult:
        return simulate(who, workload)

    @override
    def probe(self, spec: Cluster) -> Cluster:
        return replace(spec, requests=_PROBED)

    @override
    def rungs(self, instances: Sequence[Instance]) -> Sequence[Rung]:
        """Return a fifth of the requests, redrawn."""
        requests = [round(self.spec_of(instance).requests * _SAMPLED) for instance in instances]
        if min(requests, default=0) < 1000:
            return ()
        cheaper = [self.like(i, f"{i.name}, a fifth", requests=n) for i, n in zip(instances, requests, strict=True)]
        return (Rung("a fifth of the requests", tuple(cheaper), 0.4, _SAMPLED),)

    @override
    def workload(self, instance: Instance) -> Sequence[EvaluatorFinding]:
        return describe_cluster(self.at(instance)[1])

    @override
    def findings(self, policy: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        """Return latency by cause, by server class and by time."""
        spec, workload = self.at(instance)
        oracle, best = self.compare_with(instance)
        result = simulate(policy, workload)
        if spec.discipline == "sharing" or spec.retries > 0:
            return shared_findings(result.measured, workload, oracle, best)
        return findings_of(account(workload, result), workload, oracle, best)

    @override
    def compare(self, first: Policy, second: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        workload = self.at(instance)[1]
        one, other = (simulate(policy, workload).measured for policy in (first, second))
        return differences(one, other, workload)

    @override
    def compare_with(self, instance: Instance) -> tuple[Reference, Reference]:
        """Return who knows everything, and the baseline of the lowest 99th percentile."""
        spec, workload = self.at(instance)

        def references() -> tuple[Reference, Reference]:
            oracle = LEAST_WORK if spec.discipline == "queue" else "shortest_queue"
            best = self.best_baseline(instance, lambda metrics: -metrics["p99_ms"])
            one, other = (Reference(name, simulate(name, workload).measured) for name in (oracle, best))
            return one, other

        return self.once("references", spec, references)
