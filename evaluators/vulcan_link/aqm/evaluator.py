"""Evaluator of the task `active_queue_management`: links and flows in, delay, utilisation and losses out."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, cast

from vulcan.anvil import Policy, check
from vulcan.errors import UserError
from vulcan.evaluator import BaselineKind, Evaluator, Instance, Rung, SplitName
from vulcan.findings import EvaluatorFinding
from vulcan.registry import find_task
from vulcan.simulator.plan import shares_in_time
from vulcan.task import Json, Metrics, Split
from vulcan_link.aqm.findings import QueueRun, describe_queue, differences, findings_of
from vulcan_link.aqm.manager import QueueManager
from vulcan_link.result import LinkResult
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import jain, simulate
from vulcan_traces.links import LinkTrace, cut_link, load_link

# Default workloads, used where no link is named: generated, so that no file is needed.


@dataclass(frozen=True, slots=True)
class QueueWorkload:
    """A link (see `vulcan_traces.links`), and the flows over it: every other one stops half-way and comes again.

    `algorithm` is the congestion control of all of them, or of every other one, `cubic-reno`.
    """

    name: str
    link: str
    delay_ms: float
    flows: int
    algorithm: str


QUEUE_WORKLOADS: Mapping[SplitName, tuple[QueueWorkload, ...]] = {
    "train": (
        QueueWorkload("few", "constant:rate=20", 20.0, 2, "cubic"),
        QueueWorkload("many", "constant:rate=40", 15.0, 25, "reno"),
        QueueWorkload("slow", "constant:rate=4", 30.0, 4, "cubic-reno"),
        QueueWorkload("steps", "steps:rates=24-6-16-3,every=3", 25.0, 6, "cubic"),
        QueueWorkload("cellular", "markov:low=1.5,high=20,states=10,dwell=0.25,seed=1,seconds=60", 20.0, 5, "cubic"),
    ),
    "validation": (
        QueueWorkload("few", "constant:rate=12", 35.0, 3, "reno"),
        QueueWorkload("many", "constant:rate=30", 25.0, 18, "cubic"),
        QueueWorkload("steps", "steps:rates=8-30-12-20,every=4", 12.0, 8, "cubic-reno"),
        QueueWorkload("cellular", "markov:low=2,high=30,states=12,dwell=0.4,seed=2,seconds=60", 25.0, 4, "cubic"),
    ),
    "test": (
        QueueWorkload("few", "constant:rate=30", 25.0, 1, "cubic"),
        QueueWorkload("many", "constant:rate=50", 10.0, 40, "cubic-reno"),
        QueueWorkload("slow", "constant:rate=2.5", 40.0, 5, "cubic"),
        QueueWorkload("steps", "steps:rates=5-25-2-14,every=3.5", 30.0, 10, "reno"),
        QueueWorkload("cellular", "markov:low=1,high=12,states=9,dwell=0.15,seed=3,seconds=60", 35.0, 6, "cubic"),
    ),
}


BASELINES = ("drop_tail", "short_buffer", "red", "codel", "pie", "cobalt", "fq_codel")
SHORT_BUFFER_MS = 10.0
"""Of the baseline that only has a smaller queue."""
SHORT_PACKETS, BURST_PACKETS, BURST_EVERY = 10, 40, 4
"""A short flow is an initial window; every so many is a burst."""
MAX_SHORT_SHARE = 0.1
"""Share of the link that short flows offer at most."""
MAX_SHORT_FLOWS = 50
ALGORITHMS = ("cubic", "reno", "cubic-reno")
WARM_UP_S = 2.0
"""Not measured, while flows begin."""

_OLD_MIN_PACKETS = 50
"""Least queue of runs that were started before `short_flows` was a setting."""
_AT_ONCE_S = 1e-6
"""A short flow sends its initial window and nothing but what is lost of it."""
_TO_END_S = 1.5
"""Time that a short flow is given to end."""
_SHORT, _PROBED = 0.3, 3.0
"""The share of the time on the first rung, and the seconds that tell policies apart."""


class QueueManagementEvaluator(Evaluator):
    """Evaluator whose instances are a link with flows of given congestion control; the policy manages its queue.

    A named link is cut along time among the splits; each part repeats as the whole would.
    """

    def __init__(self) -> None:
        self._links: dict[str, LinkTrace] = {}
        self._parts: dict[tuple[str, float, float], LinkTrace] = {}
        self._probes: tuple[Instance, ...] | None = None
        self._known: Policy | None = None
        self._best: dict[str, QueueRun] = {}

    def instances(self, settings: Mapping[str, Json], split: Split) -> Sequence[Instance]:
        """See `vulcan.evaluator.Evaluator`."""
        s = cast(dict[str, Any], settings)
        if not WARM_UP_S < s["duration_s"] <= 10_000:
            raise UserError(f"duration {s['duration_s']} s: must be above {WARM_UP_S:g} and at most 10000")
        if not 1 <= s["flows"] <= 200:
            raise UserError(f"flows {s['flows']}: must be from 1 to 200")
        if not 1 <= s["buffer_ms"] <= 10_000:
            raise UserError(f"buffer {s['buffer_ms']} ms: must be from 1 to 10000")
        rest: dict[str, Json] = {name: s[name] for name in ("duration_s", "buffer_ms", "ecn", "draws")}
        rest["ecn"] = bool(rest["ecn"])
        if "short_flows" in s:
            if not 0 <= s["short_flows"] <= MAX_SHORT_FLOWS:
                raise UserError(f"short flows {s['short_flows']} a second: must be from 0 to {MAX_SHORT_FLOWS}")
            rest["short_flows"] = s["short_flows"]
        if not s["link"]:
            return [
                Instance(
                    f"{crowd.name}-{crowd.flows}-{crowd.algorithm}",
                    name,
                    {
                        "link": crowd.link,
                        "from": 0.0,
                        "to": 1.0,
                        "delay_ms": crowd.delay_ms,
                        "flows": crowd.flows,
                        "algorithm": crowd.algorithm,
                        **rest,
                    },
                )
                for name, crowds in QUEUE_WORKLOADS.items()
                for crowd in crowds
            ]
        return [
            Instance(
                self._link(spec).name if ":" not in spec else spec,
                name,
                {
                    "link": spec,
                    "from": begin,
                    "to": end,
                    "delay_ms": s["delay_ms"],
                    "flows": s["flows"],
                    "algorithm": s["algorithm"],
                    **rest,
                },
            )
            for spec in dict.fromkeys(s["link"])
            for name, (begin, end) in shares_in_time(split)
        ]

    def prepare(self, instances: Sequence[Instance]) -> None:
        """See `vulcan.evaluator.Evaluator`."""
        from vulcan.anvil.native.jit import warm_up

        warm_up()
        for instance in instances:
            self._part(instance)
        link = load_link("constant:rate=1,seconds=1")
        small = Scenario(link, Queue(packets=10), (Flow("reno"),), duration_s=0.2)
        simulate(small, manager=QueueManager("pie"))  # compiles both kernels, or loads them
        searched = [i for i in instances if i.split == "train"] or list(instances)
        self._probes = tuple(_shortened(instance, _PROBED) for instance in searched)

    def evaluate(self, policy: Policy, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`; the metrics are those of `metrics_of`."""
        return metrics_of(self._run(instance, policy), cast(int, instance.parameters["flows"]))

    def decisions(self, policy: Policy) -> str:
        """See `vulcan.evaluator.Evaluator`: what the policy asks for in the first seconds."""
        if self._probes is None:
            raise ValueError("decisions are known only after prepare")
        digest = 0
        for instance in self._probes:
            digest = (digest * 6364136223846793005 + self._run(instance, policy).management + 1) % 2**64
        return f"{digest:016x}"

    def rungs(self, instances: Sequence[Instance]) -> Sequence[Rung]:
        """See `vulcan.evaluator.Evaluator`: shorter runs."""
        short = {cast(float, i.parameters["duration_s"]) * _SHORT for i in instances}
        if min(short, default=0.0) <= 1.5 * WARM_UP_S:
            return ()
        cheaper = tuple(_shortened(i, _SHORT * cast(float, i.parameters["duration_s"])) for i in instances)
        return (Rung("the first part", cheaper, 0.4, _SHORT),)

    def baselines(self) -> Mapping[str, BaselineKind]:
        """See `vulcan.evaluator.Evaluator`."""
        return dict.fromkeys(BASELINES, "baseline")

    def evaluate_baseline(self, name: str, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`."""
        return metrics_of(self._run(instance, name), cast(int, instance.parameters["flows"]))

    def workload(self, instance: Instance) -> Sequence[EvaluatorFinding]:
        """See `vulcan.evaluator.Evaluator`."""
        p = cast(dict[str, Any], instance.parameters)
        return describe_queue(scenario_of(p, self._part(instance), "policy"), long_flows(p["flows"]))

    def prepare_findings(self, instances: Sequence[Instance]) -> None:
        """See `vulcan.evaluator.Evaluator`."""
        for instance in instances:
            self.best_on(instance)

    def findings(self, policy: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        """See `vulcan.evaluator.Evaluator`: idle link, delay and drops by phase, length of the queue and flow."""
        return findings_of(self.run(instance, policy, "policy"), self.best_on(instance))

    def compare(self, first: Policy, second: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        """See `vulcan.evaluator.Evaluator`."""
        return differences(self.run(instance, first, "first"), self.run(instance, second, "second"))

    def best_on(self, instance: Instance) -> QueueRun:
        """Return a run of the baseline with the highest score by the task's first objective."""
        key = json.dumps(dict(instance.parameters), sort_keys=True)
        if key not in self._best:
            objective = find_task("active_queue_management").objectives[0]
            metrics = {name: self.evaluate_baseline(name, instance) for name in BASELINES}
            name = max(BASELINES, key=lambda one: objective.score(metrics[one], {}))
            self._best[key] = self.run(instance, name, name)
        return self._best[key]

    def run(self, instance: Instance, who: Policy | str, name: str) -> QueueRun:
        p = cast(dict[str, Any], instance.parameters)
        result = self._run(instance, who, log=True)
        kind = who if isinstance(who, str) else "policy"
        scenario = scenario_of(p, self._part(instance), kind)
        return QueueRun(name, scenario, result, metrics_of(result, p["flows"]), long_flows(p["flows"]))

    def _run(self, instance: Instance, who: Policy | str, log: bool = False) -> LinkResult:
        p = cast(dict[str, Any], instance.parameters)
        manager = None
        if who == "cobalt":
            who = self._cobalt()
        if not isinstance(who, str):
            manager = QueueManager("policy", who, seed=p["draws"])
        elif who == "red":
            manager = QueueManager("red", seed=p["draws"], target_ms=5.0)
        elif who == "pie":
            manager = QueueManager("pie", seed=p["draws"])
        scenario = scenario_of(p, self._part(instance), who if isinstance(who, str) else "policy")
        return simulate(scenario, manager=manager, log=log)

    def _cobalt(self) -> Policy:
        if self._known is None:
            task = find_task("active_queue_management")
            self._known = check(task.seed_policies()["cobalt"], task)
        return self._known

    def _link(self, spec: str) -> LinkTrace:
        if spec not in self._links:
            self._links[spec] = load_link(spec)
        return self._links[spec]

    def _part(self, instance: Instance) -> LinkTrace:
        p = cast(dict[str, Any], instance.parameters)
        key = (p["link"], p["from"], p["to"])
        if key not in self._parts:
            whole = self._link(p["link"])
            begin, end = round(p["from"] * whole.period), round(p["to"] * whole.period)
            self._parts[key] = whole if (begin, end) == (0, whole.period) else cut_link(whole, begin, end)
        return self._parts[key]


def scenario_of(p: Mapping[str, Any], link: LinkTrace, who: str) -> Scenario:
    """Return the instance's scenario: flows begin in the first second; every other one rests in the third quarter.

    The first flows are the long ones, two entries for each that rests, and the others the short ones.
    """
    duration, packets = p["duration_s"], _packets(link, p["buffer_ms"])
    kinds = p["algorithm"].split("-")
    how: dict[str, Any] = {"delay_ms": p["delay_ms"], "ecn": p["ecn"]}
    flows = []
    for i in range(p["flows"]):
        start, kind = i / p["flows"], kinds[i % len(kinds)]
        if i % 2 == 0:
            flows.append(Flow(kind, start_s=start, **how))
        else:
            flows.append(Flow(kind, start_s=start, stop_s=max(0.5 * duration, start + 0.1), **how))
            flows.append(Flow(kind, start_s=max(0.75 * duration, start + 0.2), **how))
    if "short_flows" in p:
        for start, size in short_flows(p["short_flows"], link, duration):
            how["initial_window"] = size
            flows.append(Flow(kinds[0], start_s=start, stop_s=start + _AT_ONCE_S, **how))
    else:
        packets = max(_OLD_MIN_PACKETS, packets)
    if who == "short_buffer":
        packets = min(packets, _packets(link, SHORT_BUFFER_MS))
    kind = who if who in ("codel", "fq_codel") else "droptail"
    return Scenario(
        link=link,
        queue=Queue(kind=cast(Any, kind), packets=packets, ecn=p["ecn"]),
        flows=tuple(flows),
        duration_s=duration,
        measure_from_s=min(WARM_UP_S, duration / 2),
        seed=p["draws"],
    )


def long_flows(flows: int) -> int:
    """Return how many flows of a scenario are long: every other one is two, before its rest and after it."""
    return flows + flows // 2


def _packets(link: LinkTrace, ms: float) -> int:
    """Return how many packets the link carries in that time on average, at least one."""
    return max(1, round(link.mean_rate * ms / 1e3 / 8 / 1500))


def short_flows(rate: float, link: LinkTrace, duration: float) -> list[tuple[float, int]]:
    """Return the start and the packets of each: a Poisson process of so many a second, the same for every policy.

    They start in the measured time, not too late to end in it. A slow link has fewer, see `MAX_SHORT_SHARE`.
    """
    mean_bits = 12e3 * (SHORT_PACKETS * (BURST_EVERY - 1) + BURST_PACKETS) / BURST_EVERY
    rate = min(rate, MAX_SHORT_SHARE * link.mean_rate / mean_bits)
    found: list[tuple[float, int]] = []
    if rate <= 0:
        return found
    draws = random.Random(1)
    at = min(WARM_UP_S, duration / 2) + draws.expovariate(rate)
    while at < duration - min(_TO_END_S, 0.15 * duration):
        found.append((at, BURST_PACKETS if len(found) % BURST_EVERY == BURST_EVERY - 1 else SHORT_PACKETS))
        at += draws.expovariate(rate)
    return found


def metrics_of(result: LinkResult, flows: int) -> Metrics:
    """Return the metrics of the measured time, `flows` of whose flows are long.

    `loss` and `marked` are shares of the arrivals at the queue, `goodput` is the share of the link that carried payload
    for the first time, `fairness` Jain's index of the long flows. `completion_ms` and `completion_p95_ms` are of the
    short flows, from start to last packet; one that is not complete counts as if it were at the end. `short_loss` is
    the share of their packets that was dropped.
    """
    arrived = max(result.sent - result.lost, 1)
    long, short = result.flows[: long_flows(flows)], result.flows[long_flows(flows) :]
    took = sorted(min(flow.completion_ms, _TO_END_S * 1e3) for flow in short)
    sent = sum(flow.sent for flow in short)
    return {
        "utilisation": result.utilisation,
        "delay_mean_ms": result.queueing_delay_avg_ms,
        "delay_p95_ms": result.queueing_delay_p95_ms,
        "loss": result.drop_share,
        "marked": result.marked / arrived,
        "fairness": jain([flow.goodput_bps for flow in long]),
        "goodput_mbps": result.goodput_bps / 1e6,
        "goodput": result.goodput_bps / result.capacity_bps if result.capacity_bps else 0.0,
        "completion_ms": fmean(took) if took else 0.0,
        "completion_p95_ms": took[math.ceil(0.95 * len(took)) - 1] if took else 0.0,
        "short_loss": sum(flow.dropped for flow in short) / sent if sent else 0.0,
    }


def _shortened(instance: Instance, seconds: float) -> Instance:
    return Instance(f"{instance.name}, {seconds:g} s", "train", {**instance.parameters, "duration_s": seconds})
