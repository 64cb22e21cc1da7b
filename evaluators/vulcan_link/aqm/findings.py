"""Findings on managers of a queue: idle link, waiting and drops, by phase, by length of the queue and by flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from vulcan.findings import EvaluatorFinding, SmallTable, Statement
from vulcan.task import Metrics
from vulcan_link import engine_state as m
from vulcan_link.findings import account as a
from vulcan_link.findings import congestion as c
from vulcan_link.findings.workload import describe_path
from vulcan_link.result import FlowResult, LinkResult
from vulcan_link.scenario import Flow, Scenario

LENGTHS_MS = (1.0, 5.0, 10.0, 20.0, 50.0)
"""Limits of the classes of a queue's length: what its bytes take at the link's mean rate."""

SHORT_MS = 5.0
"""A drop from a shorter queue than CoDel's target (RFC 8289) is one that keeps no delay away."""

_TO_END_MS = 1500.0


@dataclass(frozen=True, slots=True)
class QueueRun:
    """A run of a policy or a baseline, called `name`: its scenario, its result with a log, and its metrics.

    The first `long` flows are the long ones.
    """

    name: str
    scenario: Scenario
    result: LinkResult
    metrics: Metrics
    long: int

    def run(self) -> c.Run:
        """Return the run with the account of all its flows."""
        return c.Run(self.name, self.metrics, a.account(self.scenario, self.result, len(self.scenario.flows)))


def describe_queue(scenario: Scenario, long: int) -> list[EvaluatorFinding]:
    """Return the findings on a path and the flows over it."""
    kinds: dict[str, int] = {}
    for flow in scenario.flows[:long]:
        kinds[_group_of(flow, scenario, True)] = kinds.get(_group_of(flow, scenario, True), 0) + 1
    short = [flow.initial_window for flow in scenario.flows[long:]]
    text = f"Flows: {', '.join(f'{count} {name}' for name, count in kinds.items())}"
    if short:
        sizes = sorted(set(short))
        text += f", and {len(short)} short ones of {' or '.join(map(str, sizes))} packets, sent at once"
    capable = "marked instead of dropped" if scenario.queue.ecn else "dropped, as ECN is off"
    return [*describe_path(scenario), Statement(f"{text}. What a policy asks for is {capable}.", 9.0)]


def findings_of(own: QueueRun, best: QueueRun) -> list[EvaluatorFinding]:
    """Return the findings on a manager, compared with the best baseline."""
    run, other = own.run(), best.run()
    by_length, dropped_short = _by_length(own, best)
    made: list[EvaluatorFinding] = [
        Statement(f"{_factors(own)}. The best baseline, {best.name}: {_factors(best)}.", 10.0),
        c.idle_finding(run.account),
        c.delay_finding(run.account),
        _drops(own, run.account, dropped_short),
        by_length,
        _by_flow(own, best),
        c.phase_table(run, other, "part of the run", run.account.quarters(), c.part_names(run.account), 3.0),
    ]
    if (run.account.trend != a.STEADY).any():
        made.append(c.phase_table(run, other, "the link's rate", run.account.trend, c.TREND_NAMES, 4.0))
    return [*made, *c.curves(run.account)]


def differences(first: QueueRun, second: QueueRun) -> list[EvaluatorFinding]:
    """Return where two managers differ on one instance."""
    one, other = first.run(), second.run()
    account = one.account
    made: list[EvaluatorFinding] = [Statement(f"The first: {_factors(first)}. The second: {_factors(second)}.", 10.0)]
    made.append(c.phase_comparison(one, other, "part of the run", account.quarters(), c.part_names(account), 5.0))
    if (account.trend != a.STEADY).any():
        made.append(c.phase_comparison(one, other, "the link's rate", account.trend, c.TREND_NAMES, 4.0))
    return [*made, _by_length(first, second)[0], _by_flow(first, second)]


def _factors(run: QueueRun) -> str:
    v = run.metrics
    text = (
        f"{v['goodput']:.1%} of the link carry payload for the first time, the delay is {v['delay_mean_ms']:.2f} ms on "
        f"average (95 %: {v['delay_p95_ms']:.1f}), {v['loss']:.2%} of the packets are lost and {v['marked']:.2%} "
        f"marked, fairness {v['fairness']:.3f}"
    )
    return f"{text}, short flows take {v['completion_ms']:.0f} ms" if run.scenario.flows[run.long :] else text


def _drops(own: QueueRun, account: a.Account, dropped_short: int) -> Statement:
    lost, share = account.losses, own.metrics["loss"]
    full = int(lost[a.IN_START_UP] + lost[a.RATE_FELL] + lost[a.PUSHED])
    short = own.result.flows[own.long :]
    sent = sum(flow.sent for flow in short)
    bursts = f" Short flows lose {own.metrics['short_loss']:.2%} of their {sent:,} packets." if sent else ""
    return Statement(
        f"Drops: {int(lost.sum()):,} packets ({share:.2%} of those that came): {lost[a.EARLY]:,} by the policy, "
        f"{dropped_short:,} of them from a queue of less than {SHORT_MS:g} ms; {full:,} as the queue was full "
        f"({lost[a.IN_START_UP]:,} in start-up, {lost[a.RATE_FELL]:,} as the link's rate fell or it stood still, "
        f"{lost[a.PUSHED]:,} at other times). {own.result.marked:,} were marked.{bursts}",
        5.0 + 4.5 * min(1.0, 20 * share),
    )


def lengths_of(run: QueueRun) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return kinds and classes of the events in the measured time at which packets come, or are dropped as they leave.

    The class is that of what waits as a packet comes, in time at the link's mean rate, or of the packet's own wait.
    """
    log = run.result.log
    log = log[np.searchsorted(log[:, m.E_TIME], round(run.scenario.measure_from_s * 1e9)) :]
    log = log[(log[:, m.E_KIND] >= m.QUEUED) & (log[:, m.E_KIND] <= m.DROPPED_WAITING)]
    kinds, values = log[:, m.E_KIND], log[:, m.E_VALUE]
    ms = np.where(kinds == m.DROPPED_WAITING, values / 1e6, values * 8e3 / run.scenario.link.mean_rate)
    return kinds, np.searchsorted(LENGTHS_MS, ms, side="right")


def _by_length(own: QueueRun, best: QueueRun) -> tuple[SmallTable, int]:
    """Return what comes and what is dropped by length of the queue, and the policy's drops from a short one."""
    names = [
        f"below {LENGTHS_MS[0]:g} ms",
        *(f"{low:g} to {high:g} ms" for low, high in pairwise(LENGTHS_MS)),
        f"{LENGTHS_MS[-1]:g} ms or more",
    ]
    counts = []
    for kinds, classes in map(lengths_of, (own, best)):
        counts.append(
            {kind: np.bincount(classes[kinds == kind], minlength=len(names)) for kind in range(1 + m.DROPPED_WAITING)}
        )
    mine, theirs = counts
    came = [found[m.QUEUED] + found[m.OVERFLOWED] + found[m.REFUSED] for found in counts]
    shares = [100 * found / max(int(found.sum()), 1) for found in came]
    by_policy = [found[m.REFUSED] + found[m.DROPPED_WAITING] for found in counts]
    rows = tuple(
        (
            names[i],
            round(float(shares[0][i]), 1),
            int(mine[m.REFUSED][i]),
            int(mine[m.DROPPED_WAITING][i]),
            int(mine[m.OVERFLOWED][i]),
            f"{shares[1][i]:.1f}, {by_policy[1][i] + theirs[m.OVERFLOWED][i]}",
        )
        for i in range(len(names))
        if came[0][i] + came[1][i] + by_policy[0][i] + by_policy[1][i]
    )
    theirs_too = f"{best.name}: come %, drops"
    columns = ("queue", "packets that come %", "refused", "dropped on leaving", "queue full", theirs_too)
    short = int(by_policy[0][: LENGTHS_MS.index(SHORT_MS) + 1].sum())
    return SmallTable("Packets and drops by length of the queue", columns, rows, 7.0), short


def _group_of(flow: Flow, scenario: Scenario, long: bool) -> str:
    if not long:
        return f"short, {flow.initial_window} packets"
    whole = flow.stop_s is None and flow.start_s < scenario.duration_s / 2
    return f"{flow.algorithm}, all along" if whole else f"{flow.algorithm}, in one half or quarter"


def _by_flow(own: QueueRun, best: QueueRun) -> SmallTable:
    """Return what each group of flows gets."""
    groups: dict[str, list[int]] = {}
    for number, flow in enumerate(own.scenario.flows):
        groups.setdefault(_group_of(flow, own.scenario, number < own.long), []).append(number)
    carried = max(own.result.delivered, 1)
    rows = []
    for name, members in groups.items():
        mine, theirs = ([run.result.flows[n] for n in members] for run in (own, best))
        rates, delays, drops = zip(*(_means(found) for found in (mine, theirs)), strict=True)
        took = [fmean(min(f.completion_ms, _TO_END_MS) for f in found) for found in (mine, theirs)]
        gets = [f"{ms:.0f} ms" for ms in took] if members[0] >= own.long else [f"{rate:.2f} Mbit/s" for rate in rates]
        share = 100 * sum(f.delivered for f in mine) / carried
        other = f"{gets[1]}, {delays[1]:.2f} ms, {drops[1]:.2f} %"
        rows.append((name, len(members), round(share, 2), gets[0], round(delays[0], 2), round(drops[0], 2), other))
    rate_or_time = "rate of each, or time to the end"
    columns = ("flows", "number", "packets %", rate_or_time, "delay ms", "dropped %", f"{best.name}: the same three")
    return SmallTable("By flow", columns, tuple(rows), 6.0)


def _means(flows: Sequence[FlowResult]) -> tuple[float, float, float]:
    """Return the flows' mean goodput, Mbit/s, and their packets' mean delay, ms, and share dropped, %."""
    carried, sent = sum(flow.delivered for flow in flows), sum(flow.sent for flow in flows)
    waited = sum(flow.queueing_delay_avg_ms * flow.delivered for flow in flows)
    dropped = sum(flow.dropped for flow in flows)
    return fmean(flow.goodput_bps / 1e6 for flow in flows), waited / max(carried, 1), 100 * dropped / max(sent, 1)
