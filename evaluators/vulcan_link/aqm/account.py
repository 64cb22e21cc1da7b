"""Findings on managers of a queue: idle link, waiting and drops, by phase, by length of the queue and by flow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from vulcan.findings import EvaluatorFinding, SmallTable, Statement
from vulcan.task import Metrics
from vulcan_link import account as a
from vulcan_link import engine_state as m
from vulcan_link import findings as c
from vulcan_link.aqm.spec import TO_END_S
from vulcan_link.result import FlowResult, LinkResult, jain
from vulcan_link.scenario import Flow, Scenario

LENGTHS_MS = (1.0, 5.0, 10.0, 20.0, 50.0)
"""Limits of the classes of a queue's length: what its bytes take at the link's mean rate."""

SHORT_MS = 5.0
"""A drop from a shorter queue than CoDel's target (RFC 8289) is one that keeps no delay away."""


@dataclass(frozen=True, slots=True)
class QueueRun:
    """A run of a policy or a baseline, called `name`: its scenario, whose first `long` flows are the long ones."""

    name: str
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

    def run(self) -> c.Run:
        """Return the run with the account of all its flows."""
        return c.Run(self.name, self.metrics(), a.account(self.scenario, self.result, len(self.scenario.flows)))


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
    return [*c.describe_path(scenario), Statement(f"{text}. What a policy asks for is {capable}.", 9.0)]


def findings_of(own: QueueRun, best: QueueRun) -> list[EvaluatorFinding]:
    """Return the findings on a manager, compared with the best baseline."""
    run = own.run()
    by_length, dropped_short = _by_length(own, best)
    return [
        Statement(f"{_factors(own)}. The best baseline, {best.name}: {_factors(best)}.", 10.0),
        c.idle_finding(run.account),
        c.delay_finding(run.account),
        _drops(own, run.account, dropped_short),
        by_length,
        _by_flow(own, best),
        *c.by_phase(c.phase_table, run, best.run(), 3.0),
        *c.curves(run.account),
    ]


def differences(first: QueueRun, second: QueueRun) -> list[EvaluatorFinding]:
    """Return where two managers differ on one instance."""
    return [
        Statement(f"The first: {_factors(first)}. The second: {_factors(second)}.", 10.0),
        *c.by_phase(c.phase_comparison, first.run(), second.run(), 5.0),
        _by_length(first, second)[0],
        _by_flow(first, second),
    ]


def _factors(run: QueueRun) -> str:
    v = run.metrics()
    text = (
        f"{v['goodput']:.1%} of the link carry payload for the first time, the delay is {v['delay_mean_ms']:.2f} ms on "
        f"average (95 %: {v['delay_p95_ms']:.1f}), {v['loss']:.2%} of the packets are lost and {v['marked']:.2%} "
        f"marked, fairness {v['fairness']:.3f}"
    )
    return f"{text}, short flows take {v['completion_ms']:.0f} ms" if run.short else text


def _drops(own: QueueRun, account: a.Account, dropped_short: int) -> Statement:
    metrics, lost = own.metrics(), account.losses
    full = int(lost[a.IN_START_UP] + lost[a.RATE_FELL] + lost[a.PUSHED])
    sent = sum(flow.sent for flow in own.short)
    bursts = f" Short flows lose {metrics['short_loss']:.2%} of their {sent:,} packets." if sent else ""
    return Statement(
        f"Drops: {int(lost.sum()):,} packets ({metrics['loss']:.2%} of those that came): {lost[a.EARLY]:,} by the "
        f"policy, {dropped_short:,} of them from a queue of less than {SHORT_MS:g} ms; {full:,} as the queue was full "
        f"({lost[a.IN_START_UP]:,} in start-up, {lost[a.RATE_FELL]:,} as the link's rate fell or it stood still, "
        f"{lost[a.PUSHED]:,} at other times). {own.result.marked:,} were marked.{bursts}",
        5.0 + 4.5 * min(1.0, 20 * metrics["loss"]),
    )


def _counts_by_length(run: QueueRun) -> NDArray[np.int64]:
    """Count the events of the measured time at which packets come, or are dropped as they leave: by kind and class.

    The class is that of what waits as a packet comes, in time at the link's mean rate, or of the packet's own wait.
    """
    log = run.result.log
    log = log[np.searchsorted(log[:, m.E_TIME], round(run.scenario.measure_from_s * 1e9)) :]
    log = log[(log[:, m.E_KIND] >= m.QUEUED) & (log[:, m.E_KIND] <= m.DROPPED_WAITING)]
    kinds, values = log[:, m.E_KIND], log[:, m.E_VALUE]
    ms = np.where(kinds == m.DROPPED_WAITING, values / 1e6, values * 8e3 / run.scenario.link.mean_rate)
    counts = np.zeros((m.DROPPED_WAITING + 1, len(LENGTHS_MS) + 1), np.int64)
    np.add.at(counts, (kinds, np.searchsorted(LENGTHS_MS, ms, side="right")), 1)
    return counts


def _by_length(own: QueueRun, best: QueueRun) -> tuple[SmallTable, int]:
    """Return what comes and what is dropped by length of the queue, and the policy's drops from a short one."""
    names = [
        f"below {LENGTHS_MS[0]:g} ms",
        *(f"{low:g} to {high:g} ms" for low, high in pairwise(LENGTHS_MS)),
        f"{LENGTHS_MS[-1]:g} ms or more",
    ]
    both = [_counts_by_length(run) for run in (own, best)]
    mine, theirs = both
    came = [counts[[m.QUEUED, m.OVERFLOWED, m.REFUSED]].sum(axis=0) for counts in both]
    shares = [100 * each / max(int(each.sum()), 1) for each in came]
    dropped = [counts[[m.REFUSED, m.DROPPED_WAITING]].sum(axis=0) for counts in both]
    rows = tuple(
        (
            name,
            round(float(shares[0][i]), 1),
            int(mine[m.REFUSED, i]),
            int(mine[m.DROPPED_WAITING, i]),
            int(mine[m.OVERFLOWED, i]),
            f"{shares[1][i]:.1f}, {dropped[1][i] + theirs[m.OVERFLOWED, i]}",
        )
        for i, name in enumerate(names)
        if mine[:, i].any() or theirs[:, i].any()
    )
    columns = ("queue", "packets that come %", "refused", "dropped on leaving", "queue full")
    short = int(dropped[0][: LENGTHS_MS.index(SHORT_MS) + 1].sum())
    title = "Packets and drops by length of the queue"
    return SmallTable(title, (*columns, f"{best.name}: come %, drops"), rows, 7.0), short


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


def _by_flow(own: QueueRun, best: QueueRun) -> SmallTable:
    """Return what each group of flows gets."""
    carried = max(own.result.delivered, 1)
    rows = []
    for name, members in _groups(own.scenario, own.long).items():
        mine, theirs = ([run.result.flows[n] for n in members] for run in (own, best))
        (gets, delay, drops), (others, other_delay, other_drops) = (
            _means(flows, members[0] >= own.long) for flows in (mine, theirs)
        )
        share = 100 * sum(f.delivered for f in mine) / carried
        other = f"{others}, {other_delay:.2f} ms, {other_drops:.2f} %"
        rows.append((name, len(members), round(share, 2), gets, round(delay, 2), round(drops, 2), other))
    columns = ("flows", "number", "packets %", "rate of each, or time to the end", "delay ms", "dropped %")
    return SmallTable("By flow", (*columns, f"{best.name}: the same three"), tuple(rows), 6.0)


def _means(flows: Sequence[FlowResult], short: bool) -> tuple[str, float, float]:
    """Return the flows' mean goodput, or time to the end, and their packets' mean delay, ms, and share dropped, %."""
    carried, sent = sum(flow.delivered for flow in flows), sum(flow.sent for flow in flows)
    waited = sum(flow.queueing_delay_avg_ms * flow.delivered for flow in flows)
    dropped = sum(flow.dropped for flow in flows)
    gets = f"{fmean(map(_completion_ms, flows)):.0f} ms"
    if not short:
        gets = f"{fmean(flow.goodput_bps / 1e6 for flow in flows):.2f} Mbit/s"
    return gets, waited / max(carried, 1), 100 * dropped / max(sent, 1)
