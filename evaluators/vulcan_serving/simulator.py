"""The simulators of the tasks `request_scheduling` and `request_routing`: requests and servers in, latencies out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, ClassVar

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.evaluator import Instance, Rung, Sweep
from vulcan.findings import EvaluatorFinding
from vulcan.lessons import Lesson
from vulcan.robustness import shipped
from vulcan.simulator import Case, ExplainedSimulator, kinds_of, label_of, measured_range, override, parse_size, sources
from vulcan.simulator.account import Account
from vulcan.sizes import TOKENS
from vulcan.task import Json, Metrics, Split
from vulcan_serving.account import account, describe
from vulcan_serving.lessons import lesson_of
from vulcan_serving.server import find_server
from vulcan_serving.simulate import ServingRun, pace, simulate, without_waiting
from vulcan_serving.spec import ServingSpec, goals_of
from vulcan_serving.workload import ServingWorkload
from vulcan_traces.prompts import PromptTrace, load_prompts

WORKLOADS = {
    part: (
        *(f"{kind}:requests=6000,seed={seed}" for kind in ("chat", "agent", "documents")),
        f"mix:requests=6000,seed={seed},agent_share=0,documents_share=0,name=people-and-programs-{seed}",
    )
    for seed, part in enumerate(("train", "validation", "test"), 1)
}
"""Default workloads, by split; the last one has two classes of requests, with objectives of their own."""

BOUND = "no_wait"
"""No policy is better on any request (`without_waiting`)."""

_WARM_UP = 0.1
_PROBED, _PROBED_LOAD = 400, 2.0
"""Requests that tell policies apart, and what multiplies their load so that there is something to decide."""

_SAMPLED = 0.25
_TEACHER = "prefix_affinity"
"""The router that is watched: what a policy sees depends on what routed before."""

_SWEPT = (0.5, 0.7, 0.8, 0.9, 1.0, 1.1)


class ServingSimulator(ExplainedSimulator[ServingSpec, ServingWorkload, ServingRun]):
    """An instance is a trace of prompts at a load of the replicas, of which a range of requests is measured.

    A trace of one's own is cut along time, and its later parts come to the servers as the earlier ones left them.
    """

    spec = ServingSpec
    kernels = ("vulcan_serving.kernels.engine",)
    caches_baselines = describes_before = True
    least_window = 60
    unmeasured = ("trace", "trace_format", "block_tokens")
    task: ClassVar[str]
    oracles: ClassVar[Mapping[str, str]]
    """Policies of the task under another name, that are told the true lengths of outputs."""

    @override
    def cases(self, settings: Mapping[str, Json], split: Split) -> Iterable[Case[ServingSpec]]:
        s: Any = settings
        server = find_server(s["server"])
        if s["memory"]:
            size = parse_size(s["memory"], TOKENS, "memory", "tokens (500000, 500k, 1.2M)")
            server = replace(server, memory=int(size))
        for source, part, share in sources(s["trace"] or (), WORKLOADS, split):
            trace = self._trace(source, s["trace_format"], s["block_tokens"])
            start, stop = measured_range(share, trace.requests, source, "requests")
            largest = int((trace.prompt_tokens + trace.output_tokens).max())
            if largest + trace.block_tokens > server.memory:
                raise UserError(f"{source}: a request of {largest:,} tokens, and a memory of {server.memory:,}")
            if s["prefill"] == "whole" and largest > s["budget"]:
                raise UserError(f"--prefill whole: {source} has a request of {largest:,} tokens; give that --budget")
            for load in s["load"]:
                spec = ServingSpec(
                    trace=source,
                    trace_format=s["trace_format"],
                    block_tokens=s["block_tokens"] or 0,
                    digest=trace.digest,
                    requests=stop,
                    measure_from=max(start, round(_WARM_UP * stop)),
                    measure_to=stop,
                    load=load,
                    **asdict(server),
                    **{name: s[name] for name in ("replicas", "budget", "max_running", "prefill", "lengths")},
                    prediction_error=s["prediction_error"],
                    goals=goals_of(s["goal"] or []),
                    patience_s=s.get("patience", 0.0),
                    routers=s.get("routers", 1),
                    delay_ms=s.get("delay", 0.0),
                    seed=s["workload_seed"],
                )
                yield Case(f"{label_of(trace.name)}@{load:g}", part, spec, source)

    @override
    def load(self, spec: ServingSpec) -> ServingWorkload:
        """Return the requests up to the last one of the part."""
        trace = self._trace(spec.trace, spec.trace_format, spec.block_tokens)
        factor = self._pace(spec) / spec.load if spec.load else 1.0
        return ServingWorkload.of(spec, trace.first(spec.requests), factor)

    @override
    def source(self, spec: ServingSpec) -> object:
        return replace(spec, measure_from=0, measure_to=0, patience_s=0.0, delay_ms=0.0)

    def _pace(self, spec: ServingSpec) -> float:
        trace = self._trace(spec.trace, spec.trace_format, spec.block_tokens)
        key = spec.digest, spec.server, spec.replicas, spec.budget, spec.max_running, spec.prefill
        return self.once("pace", key, lambda: pace(spec, trace))

    def _trace(self, source: str, format: str | None, block_tokens: int) -> PromptTrace:
        key = source, format, block_tokens
        return self.once("trace", key, lambda: load_prompts(source, format=format, block_tokens=block_tokens or None))

    @override
    def run(self, who: Policy | str, spec: ServingSpec, workload: ServingWorkload) -> ServingRun:
        if who == BOUND:
            return without_waiting(spec, workload)
        if isinstance(who, str):
            workload = workload.known if who in self.oracles else workload
            who = self._shipped(who)
        return self.decide(who, spec, workload)

    def decide(self, policy: Policy, spec: ServingSpec, workload: ServingWorkload) -> ServingRun:
        """Serve the requests with a policy of the task."""
        return simulate(spec, workload, policy)

    def _shipped(self, name: str) -> Policy:
        return shipped(self.task, self.oracles.get(name, name))

    @override
    def version_of(self, baseline: str) -> Json:
        return 1 if baseline == BOUND else self._shipped(baseline).fingerprint

    @override
    def prepare(self, instances: Sequence[Instance]) -> None:
        super().prepare(instances)
        for name in self.known:
            self.version_of(name)

    @override
    def probe(self, spec: ServingSpec) -> ServingSpec:
        count = min(_PROBED, spec.requests)
        load = min(_PROBED_LOAD * spec.load, 10.0)
        return replace(spec, requests=count, measure_from=0, measure_to=count, load=load)

    @override
    def rungs(self, instances: Sequence[Instance]) -> Sequence[Rung]:
        """Return the first quarter of the requests."""
        counts = [round(_SAMPLED * self.spec_of(instance).requests) for instance in instances]
        if min(counts, default=0) < 1000:
            return ()
        cheaper = tuple(
            self.like(i, f"{i.name}, a quarter", requests=n, measure_from=round(_WARM_UP * n), measure_to=n)
            for i, n in zip(instances, counts, strict=True)
        )
        return (Rung("a quarter of the requests", cheaper, 0.4, _SAMPLED),)

    @override
    def windows(self, instance: Instance, count: int) -> Sequence[Instance]:
        """Return ranges of requests; none where a request waits for longer than one lasts: they share a queue."""
        if not (found := super().windows(instance, count)):
            return ()
        spec, workload = self.at(instance)
        lasting = float(workload.arrivals[spec.measure_to - 1] - workload.arrivals[spec.measure_from]) / count
        wait = self.evaluate_baseline(next(iter(self.known)), instance)["ttft_s"]
        return found if wait <= lasting else ()

    @override
    def notes(self, instance: Instance) -> Sequence[str]:
        """Return that requests arrive faster than they can be served, whoever decides."""
        spec = self.spec_of(instance)
        asked = spec.load or self._pace(spec)
        if asked <= 1.05:
            return ()
        return (
            f"{instance.name}: {asked:.0%} of what {spec.replicas} replicas can do is asked of them, and queues grow "
            "without end; give more --replicas or a lower --load",
        )

    @override
    def sweep(self, instance: Instance) -> Sweep:
        """Return loads from half of what the replicas can do to more than that."""
        steps = [(f"{load:g}", self.like(instance, f"{instance.name} at {load:g}", load=load)) for load in _SWEPT]
        return Sweep("load", "ttft_s", tuple(steps))

    @override
    def workload(self, instance: Instance) -> Sequence[EvaluatorFinding]:
        return describe(*self.at(instance))

    @override
    def account_of(self, who: Policy | str, name: str, spec: ServingSpec, workload: ServingWorkload) -> Account:
        """Return where the time to the first token goes, by kind, length, turn and time."""
        return account(name, spec, self.run(who, spec, workload))

    @override
    def quality(self, metrics: Metrics) -> float:
        return -metrics["ttft_s"]

    @override
    def beside(self, instance: Instance) -> Sequence[str]:
        """Return one that knows lengths."""
        return [next(iter(self.oracles))]


class SchedulingSimulator(ServingSimulator):
    """The policy schedules each replica; the router goes by its own requests that are not finished."""

    task = "request_scheduling"
    oracles: ClassVar[Mapping[str, str]] = {"shortest_remaining_known": "shortest_remaining"}
    known = kinds_of(
        (
            "fcfs", "shortest_prompt", "shortest_remaining", "longest_prefix", "priority", "feedback_queues",
            "token_counter", "earliest_deadline", "least_slack",
        ),
        (*oracles, BOUND),
    )  # fmt: skip


class RoutingSimulator(ServingSimulator):
    """The policy is the routers'; replicas schedule first come, first served."""

    task = "request_routing"
    oracles: ClassVar[Mapping[str, str]] = {"least_work_known": "least_work"}
    known = kinds_of(
        (
            "round_robin", "least_loaded", "power_of_two", "prefix_affinity", "kv_cost", "weighted_scorers",
            "least_work",
        ),
        (*oracles, BOUND),
    )  # fmt: skip

    @override
    def cases(self, settings: Mapping[str, Json], split: Split) -> Iterable[Case[ServingSpec]]:
        replicas: Any = settings["replicas"]
        if replicas < 2:
            raise UserError(f"--replicas {replicas}: between fewer than 2 there is nothing to choose")
        return super().cases(settings, split)

    @override
    def decide(self, policy: Policy, spec: ServingSpec, workload: ServingWorkload) -> ServingRun:
        return simulate(spec, workload, None, policy)

    @override
    def lessons(self, instance: Instance, metric: str) -> Sequence[Lesson]:
        spec, workload = self.at(instance)
        return (lesson_of(spec, simulate(spec, workload, None, self._shipped(_TEACHER), sees=True)),)
