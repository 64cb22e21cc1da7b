"""The simulator of the task `active_queue_management`: links and flows in, delay, utilisation and losses out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from vulcan.anvil import Policy
from vulcan.evaluator import Instance, Rung
from vulcan.findings import EvaluatorFinding
from vulcan.registry import find_task
from vulcan.simulator import Case, ExplainedSimulator, kinds_of, override, shares_in_time, shipped, within
from vulcan.task import Json, Metrics, Split
from vulcan_link.aqm.account import QueueAccount, QueueRun, describe_queue, queue_account
from vulcan_link.aqm.manager import QueueManager
from vulcan_link.aqm.spec import WARM_UP_S, WORKLOADS, QueueSpec, QueueWorkload
from vulcan_link.simulate import simulate
from vulcan_traces.links import LinkTrace, cut_link, load_link

BASELINES = ("drop_tail", "short_buffer", "red", "codel", "pie", "cobalt", "fq_codel")

_SHORT, _PROBED = 0.3, 3.0
"""The share of the time on the first rung, and the seconds that tell policies apart."""

_MIN_STRETCH_S = 2.0
"""Of a link that an interval is over."""


class QueueSimulator(ExplainedSimulator[QueueSpec, LinkTrace, QueueRun]):
    """An instance is a link with flows of given congestion control; the policy manages its queue.

    A named link is cut along time among the splits; each part repeats as the whole would.
    """

    spec = QueueSpec
    known = kinds_of(BASELINES)
    kernels = ("vulcan_link.kernels.engine", "vulcan_link.kernels.queue_manager")

    @override
    def cases(self, settings: Mapping[str, Json], split: Split) -> Iterable[Case[QueueSpec]]:
        s: Any = settings
        within(s, duration_s=(WARM_UP_S + 0.1, 10_000))
        plan = [
            (f"{w.name}-{w.flows}-{w.algorithm}", part, (0.0, 1.0), w)
            for part, workloads in WORKLOADS.items()
            for w in workloads
        ]
        if s["link"]:
            plan = [
                (link if ":" in link else self._trace(link).name, part, share, workload)
                for link in dict.fromkeys(s["link"])
                for workload in [QueueWorkload(link, link, s["delay_ms"], s["flows"], s["algorithm"])]
                for part, share in shares_in_time(split)
            ]
        for name, part, (begin, end), w in plan:
            spec = QueueSpec(
                w.link,
                begin,
                end,
                w.delay_ms,
                w.flows,
                w.algorithm,
                ecn=bool(s["ecn"]),
                **{name: s[name] for name in ("duration_s", "buffer_ms", "draws", "short_flows")},
            )
            yield Case(name, part, spec, w.link)

    @override
    def load(self, spec: QueueSpec) -> LinkTrace:
        whole = self._trace(spec.link)
        return cut_link(whole, round(spec.from_ * whole.period), round(spec.to * whole.period))

    @override
    def source(self, spec: QueueSpec) -> object:
        return spec.link, spec.from_, spec.to

    def _trace(self, link: str) -> LinkTrace:
        return self.once("trace", link, lambda: load_link(link))

    @override
    def run(self, who: Policy | str, spec: QueueSpec, workload: LinkTrace, log: bool = False) -> QueueRun:
        if who == "cobalt":
            who = shipped("active_queue_management", who)
        manager = None
        if not isinstance(who, str):
            manager = QueueManager(who, seed=spec.draws)
        elif who == "red":
            manager = QueueManager("red", seed=spec.draws, target_ms=5.0)
        elif who == "pie":
            manager = QueueManager("pie", seed=spec.draws)
        scenario = spec.scenario(workload, who if isinstance(who, str) else "policy")
        return QueueRun(scenario, simulate(scenario, manager=manager, log=log), spec.long_flows)

    @override
    def probe(self, spec: QueueSpec) -> QueueSpec:
        return replace(spec, duration_s=_PROBED)

    @override
    def windows(self, instance: Instance, count: int) -> Sequence[Instance]:
        """Return runs over stretches of the link, each with draws and arrivals of its own."""
        spec = self.spec_of(instance)
        if self.workload_of(spec).period < _MIN_STRETCH_S * count * 1e9:
            return ()
        ends = [spec.from_ + (spec.to - spec.from_) * n / count for n in range(count + 1)]
        return [
            self.like(instance, f"{instance.name} window {n}", instance.split, from_=a, to=b, draws=spec.draws + n)
            for n, (a, b) in enumerate(pairwise(ends), 1)
        ]

    @override
    def rungs(self, instances: Sequence[Instance]) -> Sequence[Rung]:
        """Return shorter runs."""
        seconds = [_SHORT * self.spec_of(instance).duration_s for instance in instances]
        if min(seconds, default=0.0) <= 1.5 * WARM_UP_S:
            return ()
        cheaper = [
            self.like(i, f"{i.name}, {duration:g} s", duration_s=duration)
            for i, duration in zip(instances, seconds, strict=True)
        ]
        return (Rung("the first part", tuple(cheaper), 0.4, _SHORT),)

    @override
    def workload(self, instance: Instance) -> Sequence[EvaluatorFinding]:
        spec, link = self.at(instance)
        return describe_queue(spec.scenario(link, "policy"), spec.long_flows)

    @override
    def account_of(self, who: Policy | str, name: str, spec: QueueSpec, workload: LinkTrace) -> QueueAccount:
        """Return the account of idle link, delay and drops by cause and by part of the run."""
        return queue_account(name, self.run(who, spec, workload, log=True))

    @override
    def quality(self, metrics: Metrics) -> float:
        """Return the score by the task's first objective."""
        return find_task("active_queue_management").objectives[0].score(metrics, {})
