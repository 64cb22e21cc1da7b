"""The simulator of the task `load_balancing`: clusters and requests in, latencies out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.evaluator import Instance, Rung
from vulcan.findings import EvaluatorFinding
from vulcan.lessons import Lesson
from vulcan.simulator import Case, ExplainedSimulator, kinds_of, label_of, measured_range, override, shipped
from vulcan.simulator.account import Account
from vulcan.simulator.plan import SPLITS, shares_in_time
from vulcan.task import Json, Metrics, Split
from vulcan_load.account import account, describe_cluster
from vulcan_load.lessons import lesson_of
from vulcan_load.simulate import BASELINES, LEAST_WORK, ORACLES, LoadResult, simulate
from vulcan_load.spec import MACHINES, Cluster
from vulcan_load.workload import LEAST_MS, ServiceWorkload, offered, recorded_requests
from vulcan_traces.request_log import RequestLog, read_request_log

_SEEDS_APART = 1_000_003
_TEST_ONLY = ("exponential", "bimodal")
"""Services of the test that the search never saw, alongside its own."""

_HELD_OUT = 8
"""Instances of a held-out part at least: where a user has fewer clusters, each is drawn several times."""

_PROBED, _SAMPLED = 400, 0.2
"""Requests that tell policies apart, and the share of the requests on the first rung."""

_MANY_OVERTAKE = 0.01


_LOADS = (0.7, 0.9)


def _clusters(given: Any, loads: Sequence[float], machines: Sequence[str], servers: int = 0) -> Iterator[Cluster]:
    """Yield the clusters of the settings; their servers are as many as a log names if nothing else is said."""
    for kind, cores, delay, load in product(*map(dict.fromkeys, (machines, given["cores"], given["delay"], loads))):
        yield Cluster(
            **{name: given[name] for name in ("balancers", "probes", "requests", "discipline", "bursts")},
            servers=given["servers"] or servers or 20,
            cores=cores,
            load=load,
            machines=kind,
            service=given["service"],
            delay_ms=delay,
        )


def _name(cluster: Cluster, given: Any) -> str:
    """Return the cluster's name, with what else it differs from others of the settings in."""
    cores = f"-{cluster.cores}c" if len(given["cores"]) > 1 else ""
    delay = f"-{cluster.delay_ms:g}ms" if len(given["delay"]) > 1 else ""
    return f"{cluster.machines}{cores}{delay}@{cluster.load:.3g}"


class LoadSimulator(ExplainedSimulator[Cluster, ServiceWorkload, LoadResult]):
    """An instance is a cluster at a load, with requests drawn for it, each with a seed of its own, or those of a log.

    The test has other distributions of work as well. A log is cut along time.
    """

    spec = Cluster
    known = kinds_of(BASELINES, ORACLES)
    kernels = ("vulcan_load.kernels.engine",)
    caches_baselines = True
    least_window = 500
    unmeasured = ("trace",)

    @override
    def cases(self, settings: Mapping[str, Json], split: Split) -> Iterable[Case[Cluster]]:
        given: Any = settings
        if given["columns"] and not given["trace"]:
            raise UserError("--columns are those of a --trace, of which there is none")
        if given["trace"]:
            yield from self._recorded(given, split)
            return
        of_parts = {"train": (given["service"],), "validation": (given["service"],)}
        of_parts["test"] = tuple(dict.fromkeys((given["service"], *_TEST_ONLY)))
        for place, part in enumerate(SPLITS if split.by != "none" else SPLITS[:1]):
            clusters = [
                replace(cluster, service=service)
                for service in of_parts[part]
                for cluster in _clusters(given, given["load"] or _LOADS, given["machines"] or MACHINES)
            ]
            draws = 1 if part == "train" else -(-_HELD_OUT // len(clusters))
            for number, (draw, cluster) in enumerate(product(range(draws), clusters)):
                seed = given["workload_seed"] + (len(SPLITS) * number + place) * _SEEDS_APART
                again = f" draw {draw + 1}" if draws > 1 else ""
                yield Case(f"{_name(cluster, given)}-{cluster.service}{again}", part, replace(cluster, seed=seed))

    def _recorded(self, given: Any, split: Split) -> Iterable[Case[Cluster]]:
        for path in given["trace"]:
            log = self._log(path, given["columns"])
            for part, share in shares_in_time(split):
                first, stop = measured_range(share, len(log.arrivals), path, "requests")
                for cluster in _clusters(given, [0.5], given["machines"] or ["even"], log.servers):
                    own = replace(
                        cluster, service="recorded", trace=path, columns=given["columns"], digest=log.digest,
                        first=first, requests=stop - first,
                    )  # fmt: skip
                    as_recorded = offered(*recorded_requests(log, first, stop - first, own.cores), own)
                    for load in given["load"] or [as_recorded]:
                        loaded = replace(own, load=load)
                        yield Case(f"{label_of(log.name)} {_name(loaded, given)}", part, loaded, path)

    def _log(self, path: str, columns: str | None) -> RequestLog:
        return self.once("log", (path, columns), lambda: read_request_log(path, columns))

    @override
    def load(self, spec: Cluster) -> ServiceWorkload:
        return ServiceWorkload.of(spec, self._log(spec.trace, spec.columns) if spec.trace else None)

    @override
    def source(self, spec: Cluster) -> object:
        return replace(spec, measure_from=0, measure_to=0)

    @override
    def measured_range(self, spec: Cluster) -> tuple[int, int]:
        return spec.measured.start, spec.measured.stop

    @override
    def notes(self, instance: Instance) -> Sequence[str]:
        """Return that a log's requests were not served as first come, first served by so many cores."""
        spec, workload = self.at(instance)
        if not spec.trace:
            return ()
        took = self._log(spec.trace, spec.columns).durations[spec.first : spec.first + spec.requests]
        share = float(((workload.work <= LEAST_MS) & (took > LEAST_MS)).mean())
        if share <= _MANY_OVERTAKE:
            return ()
        return (f"{spec.trace}: {share:.0%} of the requests are done before one of {spec.cores} cores is free for "
                "them; give more --cores",)  # fmt: skip

    @override
    def run(self, who: Policy | str, spec: Cluster, workload: ServiceWorkload) -> LoadResult:
        return simulate(who, replace(workload, cluster=spec))  # loaded for all blocks of a run, each measured alone

    @override
    def version_of(self, baseline: str) -> Json:
        return shipped("load_balancing", baseline).fingerprint if baseline == "c3" else None

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
    def lessons(self, instance: Instance, metric: str) -> Sequence[Lesson]:
        """Return the lesson of queues; where cores are shared, how long a request takes depends on later ones.

        The views are those under a policy that sends few requests to slow servers, as a good one will.
        """
        spec, workload = self.at(instance)
        if spec.discipline == "sharing":
            return ()
        result = self.run(shipped("load_balancing", "expected_wait"), spec, workload)
        return (lesson_of(workload, result.chosen, result.latencies),)

    @override
    def account_of(self, who: Policy | str, name: str, spec: Cluster, workload: ServiceWorkload) -> Account:
        """Return the account of latencies by cause, by server class and by time."""
        measured = replace(workload, cluster=spec)
        return account(name, measured, simulate(who, measured, judges=spec.discipline == "queue"))

    @override
    def quality(self, metrics: Metrics) -> float:
        return -metrics["p99_ms"]

    @override
    def beside(self, instance: Instance) -> Sequence[str]:
        """Return who knows everything."""
        return [LEAST_WORK if self.spec_of(instance).discipline == "queue" else "shortest_queue"]
