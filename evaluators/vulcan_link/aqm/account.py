"""Findings on managers of a queue: idle link, delay and drops by cause, and what each kind of flow gets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from vulcan.findings import EvaluatorFinding, SmallTable, Statement
from vulcan.simulator import override
from vulcan.simulator.account import Account
from vulcan.task import Metrics
from vulcan_link.account import LinkAccount, account, describe_path
from vulcan_link.aqm.spec import TO_END_S
from vulcan_link.result import FlowResult, LinkResult, jain
from vulcan_link.scenario import Flow, Scenario


@dataclass(frozen=True, slots=True)
class QueueRun:
    """A run of a policy or a baseline: its scenario, whose first `long` flows are the long ones."""

    scenario: Scenario
    result: LinkResult
    long: int

    @property
    def decisions(self) -> int:
        return self.result.decisions

    def metrics(self) -> Metrics:
        """Return the metrics of the measured time.

        `loss` and `marked` are shares of the arrivals at the queue, `goodput` is the share of the link that carried
        payload for the first time, `fairness` Jain's index of the long flows. `completion_ms` and `completion_p95_ms`
        are of the short flows, from start to last packet; one that is not complete counts as if it were at the end.
        `short_loss` is the share of their packets that was dropped.
        """
        result, short = self.result, self.short
        arrived = max(result.sent - result.lost, 1)
        took = sorted(_completion_ms(flow) for flow in short)
        sent = sum(flow.sent for flow in short)
        return {
            "utilisation": result.utilisation,
            "delay_mean_ms": result.queueing_delay_avg_ms,
            "delay_p95_ms": result.queueing_delay_p95_ms,
            "loss": result.drop_share,
            "marked": result.marked / arrived,
            "fairness": jain([flow.goodput_bps for flow in result.flows[: self.long]]),
            "goodput_mbps": result.goodput_bps / 1e6,
            "goodput": result.goodput_bps / result.capacity_bps if result.capacity_bps else 0.0,
            "completion_ms": fmean(took) if took else 0.0,
            "completion_p95_ms": took[math.ceil(0.95 * len(took)) - 1] if took else 0.0,
            "short_loss": sum(flow.dropped for flow in short) / sent if sent else 0.0,
        }

    @property
    def short(self) -> tuple[FlowResult, ...]:
        return self.result.flows[self.long :]


@dataclass(frozen=True)
class QueueAccount(LinkAccount):
    """The account of all flows, and what each kind of them gets."""

    run: QueueRun = field(kw_only=True)

    @override
    def findings(self, *others: Account) -> list[EvaluatorFinding]:
        """Return where the run loses, beside the best baseline."""
        return [*super().findings(*others), self._by_flow(others[0])]

    @override
    def compare(self, other: Account) -> list[EvaluatorFinding]:
        """Return what this run saves over another."""
        return [*super().compare(other), self._by_flow(other)]

    def _by_flow(self, other: Account) -> SmallTable:
        assert isinstance(other, QueueAccount)
        return _by_flow(self.run, other.run, other.name)


def _completion_ms(flow: FlowResult) -> float:
    return min(flow.completion_ms, TO_END_S * 1e3)


def describe_queue(scenario: Scenario, long: int) -> list[EvaluatorFinding]:
    """Return the findings on a path and the flows over it."""
    groups = _groups(scenario, long)
    short = [flow.initial_window for flow in scenario.flows[long:]]
    kinds = [f"{len(members)} {name}" for name, members in groups.items() if members[0] < long]
    text = f"Flows: {', '.join(kinds)}"
    if short:
        text += f", and {len(short)} short ones of {' or '.join(map(str, sorted(set(short))))} packets, sent at once"
    capable = "marked instead of dropped" if scenario.queue.ecn else "dropped, as ECN is off"
    return [*describe_path(scenario), Statement(f"{text}. What a policy asks for is {capable}.", 9.0)]


def queue_account(name: str, run: QueueRun) -> QueueAccount:
    """Return the account of all flows of a run."""
    of_link = account(name, run.scenario, run.result, len(run.scenario.flows), _facts(run))
    return QueueAccount(**vars(of_link), run=run)


def _facts(run: QueueRun) -> str:
    v = run.metrics()
    text = (
        f"{v['goodput']:.1%} of the link carry payload for the first time, the delay is {v['delay_mean_ms']:.2f} ms on "
        f"average (95 %: {v['delay_p95_ms']:.1f}), {v['loss']:.2%} of the packets are lost and {v['marked']:.2%} "
        f"marked, fairness {v['fairness']:.3f}"
    )
    return f"{text}, short flows take {v['completion_ms']:.0f} ms" if run.short else text


def _groups(scenario: Scenario, long: int) -> dict[str, list[int]]:
    """Return the numbers of the flows of each group, by its name."""
    groups: dict[str, list[int]] = {}
    for number, flow in enumerate(scenario.flows):
        groups.setdefault(_group_of(flow, scenario.duration_s, number < long), []).append(number)
    return groups


def _group_of(flow: Flow, duration_s: float, long: bool) -> str:
    if not long:
        return f"short, {flow.initial_window} packets"
    whole = flow.stop_s is None and flow.start_s < duration_s / 2
    return f"{flow.algorithm}, all along" if whole else f"{flow.algorithm}, in one half or quarter"


def _by_flow(own: QueueRun, other: QueueRun, name: str) -> SmallTable:
    """Return what each group of flows gets, beside another run of that name."""
    carried = max(own.result.delivered, 1)
    rows = []
    for group, members in _groups(own.scenario, own.long).items():
        mine, theirs = ([run.result.flows[n] for n in members] for run in (own, other))
        (gets, delay, drops), (others, other_delay, other_drops) = (
            _means(flows, members[0] >= own.long) for flows in (mine, theirs)
        )
        share = 100 * sum(f.delivered for f in mine) / carried
        beside = f"{others}, {other_delay:.2f} ms, {other_drops:.2f} %"
        rows.append((group, len(members), round(share, 2), gets, round(delay, 2), round(drops, 2), beside))
    columns = ("flows", "number", "packets %", "rate of each, or time to the end", "delay ms", "dropped %")
    return SmallTable("By flow", (*columns, f"{name}: the same three"), tuple(rows), 6.0)


def _means(flows: Sequence[FlowResult], short: bool) -> tuple[str, float, float]:
    """Return the flows' mean goodput, or time to the end, and their packets' mean delay, ms, and share dropped, %."""
    carried, sent = sum(flow.delivered for flow in flows), sum(flow.sent for flow in flows)
    waited = sum(flow.queueing_delay_avg_ms * flow.delivered for flow in flows)
    dropped = sum(flow.dropped for flow in flows)
    gets = f"{fmean(map(_completion_ms, flows)):.0f} ms"
    if not short:
        gets = f"{fmean(flow.goodput_bps / 1e6 for flow in flows):.2f} Mbit/s"
    return gets, waited / max(carried, 1), 100 * dropped / max(sent, 1)
