"""Findings on senders: idle link, queue and losses by cause and phase, and where two senders differ."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from vulcan.findings import EvaluatorFinding, Series, SmallTable, Statement
from vulcan.task import Metrics
from vulcan_link.findings import account as a
from vulcan_link.findings.account import Account, Ints, Numbers

PACKET_MBIT = 0.012
MAX_CURVE = 32
"""Points of a curve."""

_STRETCHES = 16
TREND_NAMES = ("stopped", "fell", "steady", "rose")


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a policy or a baseline, called `name`: its metrics, its account, and the flows beside it."""

    name: str
    metrics: Metrics
    account: Account
    competing: tuple[str, ...] = ()


def findings_of(run: Run, best: Run) -> list[EvaluatorFinding]:
    """Return the findings on a sender, compared with the best baseline."""
    made: list[EvaluatorFinding] = [
        Statement(f"{_factors(run)}. The best baseline, {best.name}: {_factors(best)}.", 10.0),
        idle_finding(run.account),
        delay_finding(run.account),
        _losses(run),
        _start_up(run.account, best.account),
    ]
    if run.competing:
        made.append(_share(run, best))
    made.append(phase_table(run, best, "part of the run", run.account.quarters(), part_names(run.account), 3.0))
    if (run.account.trend != a.STEADY).any():
        made.append(phase_table(run, best, "the link's rate", run.account.trend, TREND_NAMES, 4.0))
    return [*made, *curves(run.account)]


def _factors(run: Run) -> str:
    metrics = run.metrics
    delay = metrics["base_rtt_ms"] / max(metrics["base_rtt_ms"] + metrics["queueing_delay_avg_ms"], 1e-9)
    return (
        f"power {metrics['power']:.3f} = share of the link {min(1.0, metrics['share']):.3f} x delay factor {delay:.3f} "
        f"x drop discount {metrics.get('drop_discount', 1.0):.3f}"
    )


def idle_finding(account: Account) -> Statement:
    """Return how much of the link was idle, and why."""
    total = account.capacity.sum()
    idle = account.idle_by_cause() / max(total, 1.0)
    whole = float(idle.sum())
    return Statement(
        f"Idle link: {whole:.1%} of the capacity ({whole * total / 1e6:.2f} of {total / 1e6:.1f} Mbit) passed with no "
        f"packet there: {idle[a.STARTING]:.1%} in start-up, {idle[a.AFTER_RISE]:.1%} since the link's rate "
        f"rose until it was full again, {idle[a.AFTER_A_LOSS]:.1%} within {a.AFTER_LOSS} round trips after a loss, "
        f"{idle[a.OTHERWISE]:.1%} at other times.",
        6.0 + 3.5 * min(1.0, 2 * whole),
    )


def delay_finding(account: Account) -> Statement:
    """Return how long packets waited, in a standing queue and in bursts."""
    packets = max(int(account.carried.sum()), 1)
    mean, standing = account.waited.sum() / packets / 1e6, account.standing.sum() / packets / 1e6
    widths = np.diff(account.edges)
    lasted = float(widths[account.has_standing].sum() / widths.sum())
    base = account.base_ns / 1e6
    return Statement(
        f"Queueing delay: {mean:.2f} ms on average (base round trip {base:g} ms), of which {standing:.2f} ms in a "
        f"standing queue (the least wait within each base round trip) and {mean - standing:.2f} ms in bursts. A "
        f"standing queue above {a.STANDING * base:g} ms was there for {lasted:.0%} of the time.",
        6.0 + 3.5 * mean / (mean + base),
    )


def _losses(run: Run) -> Statement:
    account, sent = run.account, int(run.metrics["sent_packets"])
    lost = account.losses
    share = lost.sum() / max(sent, 1)
    again = account.again.sum() / max(account.carried.sum(), 1)
    return Statement(
        f"Losses: {int(lost.sum()):,} of {sent:,} packets sent ({share:.2%}): {lost[a.AT_RANDOM]:,} at random; to a "
        f"full queue {lost[a.IN_START_UP]:,} in start-up, {lost[a.RATE_FELL]:,} as the link's rate fell or it stood "
        f"still, and {lost[a.PUSHED]:,} at other times; {lost[a.EARLY]:,} dropped early by the queue. "
        f"{int(run.metrics['timeouts'])} timeouts. Retransmissions of packets that had arrived: {again:.2%}.",
        5.0 + 4.5 * min(1.0, 20 * share),
    )


def _start_up(account: Account, best: Account) -> Statement:
    if account.filled_ns is None:
        text = f"It never used {a.FILLED:.0%} of what the link can carry in a base round trip."
        return Statement(text, 9.5)
    first, ends = slice(0, account.start_up), int(account.edges[account.start_up])
    packets = max(int(account.carried[first].sum()), 1)
    theirs = f"; {best.filled_ns / 1e9:.2f} s for the best baseline" if best.filled_ns is not None else ""
    share = account.idle[first].sum() / max(account.capacity.sum(), 1.0)
    return Statement(
        f"Start-up: the link was first filled {account.filled_ns / 1e9:.2f} s into the run{theirs}. By "
        f"{ends / 1e9:.2f} s, two round trips with a full queue later, {account.idle[first].sum() / 1e6:.2f} Mbit had "
        f"passed unused, {int(account.lost[first].sum()):,} packets were lost, and those carried had waited "
        f"{account.waited[first].sum() / packets / 1e6:.2f} ms on average.",
        4.0 + 3.0 * min(1.0, 10 * float(share)),
    )


def _share(run: Run, best: Run) -> Statement:
    account = run.account
    carried, waiting = _own_share(account), account.waited.sum() / max(account.all_waited.sum(), 1)
    return Statement(
        f"Beside {', '.join(run.competing)}: {carried:.1%} of the packets carried are its own, and {waiting:.1%} of "
        f"all waiting. It reaches {run.metrics['share']:.2f} of its fair share; the best baseline "
        f"{best.metrics['share']:.2f}.",
        9.0,
    )


def _own_share(account: Account) -> float:
    return float(account.carried.sum() / max(account.all_carried.sum(), 1))


def part_names(account: Account) -> list[str]:
    """Return the names of the quarters of a run: when each begins and ends."""
    first = np.searchsorted(account.quarters(), np.arange(5))
    return [f"{account.edges[i] / 1e9:.3g}-{account.edges[j] / 1e9:.3g} s" for i, j in pairwise(first)]


def _grouped(account: Account, groups: Ints, count: int) -> dict[str, Numbers]:
    """Return sums over the windows of each group, and from them rates, shares and means."""
    of = {
        "time": np.diff(account.edges) / 1e9, "capacity": account.capacity, "idle": account.idle, "lost": account.lost,
        "carried": account.carried, "waited": account.waited, "standing": account.standing,
        "all": account.all_carried,
    }  # fmt: skip
    sums: dict[str, Any] = {name: np.bincount(groups, value, count) for name, value in of.items()}
    packets = np.maximum(sums["carried"], 1) * 1e6
    return sums | {
        "rate": sums["capacity"] / np.maximum(sums["time"], 1e-9) / 1e6,
        "used": 100 * (1 - sums["idle"] / np.maximum(sums["capacity"], 1.0)),
        "delay": sums["waited"] / packets,
        "in_standing": sums["standing"] / packets,
        "own": 100 * sums["carried"] / np.maximum(sums["all"], 1),
        "throughput": sums["carried"] * PACKET_MBIT / np.maximum(sums["time"], 1e-9),
    }


def phase_table(
    run: Run, best: Run, by: str, groups: Ints, names: tuple[str, ...] | list[str], weight: float
) -> SmallTable:
    """Return a run and the best baseline by groups of windows: use of the link, delay and losses."""
    mine, theirs = (_grouped(one.account, groups, len(names)) for one in (run, best))
    columns = [by, "time %", "Mbit/s of the link", "used %", "delay ms", "standing ms", "lost"]
    shown = [100 * mine["time"] / mine["time"].sum(), mine["rate"], mine["used"], mine["delay"], mine["in_standing"]]
    if run.competing:
        columns[5], shown[4] = "own share %", mine["own"]
    rows: tuple[tuple[str | float, ...], ...] = tuple(
        (
            names[g],
            *(round(float(values[g]), 2) for values in shown),
            int(mine["lost"][g]),
            f"{theirs['used'][g]:.1f}, {theirs['delay'][g]:.2f}",
        )
        for g in range(len(names))
        if mine["time"][g] > 0
    )
    return SmallTable(f"By {by}", (*columns, f"{best.name}: used %, delay ms"), rows, weight)


def curves(account: Account) -> list[EvaluatorFinding]:
    """Return the use of the link and the queueing delay along the run, for people."""
    points = min(MAX_CURVE, account.windows)
    groups = points * np.arange(account.windows) // account.windows
    found = _grouped(account, groups, points)
    ends = account.edges[np.searchsorted(groups, np.arange(points), side="right")] / 1e9
    return [
        Series(title, "seconds", y, tuple(zip(ends.tolist(), np.round(found[name], 3).tolist(), strict=True)), 0.0)
        for title, y, name in (
            ("use of the link along the run", "used %", "used"),
            ("queueing delay along the run", "ms", "delay"),
        )
    ]


def differences(first: Run, second: Run) -> list[EvaluatorFinding]:
    """Return where two senders differ on one instance: in throughput, delay and losses."""
    made: list[EvaluatorFinding] = [Statement(f"The first: {_factors(first)}. The second: {_factors(second)}.", 10.0)]
    account = first.account
    if first.competing:
        shares = [_own_share(run.account) for run in (first, second)]
        text = f"Of the packets carried, {shares[0]:.1%} are the first's beside {', '.join(first.competing)}, and "
        made.append(Statement(f"{text}{shares[1]:.1%} the second's.", 8.0))
    groups = _STRETCHES * np.arange(account.windows) // account.windows
    one, other = (_grouped(run.account, groups, _STRETCHES) for run in (first, second))
    starts = np.searchsorted(groups, np.arange(_STRETCHES + 1))
    for name, what, unit, weight in (
        ("throughput", "throughput", "Mbit/s", 7.0),
        ("delay", "queueing delay", "ms", 6.0),
    ):
        apart = np.abs(one[name] - other[name])
        g = int(apart.argmax())
        if apart[g] > 0:
            begin, end = account.edges[starts[g]] / 1e9, account.edges[starts[g + 1]] / 1e9
            made.append(
                Statement(
                    f"They differ most in {what} from {begin:.2f} s to {end:.2f} s, where the link carries "
                    f"{one['rate'][g]:.2f} Mbit/s: {one[name][g]:.2f} {unit} of the first, {other[name][g]:.2f} {unit} "
                    "of the second.",
                    weight,
                )
            )
    made.append(phase_comparison(first, second, "part of the run", account.quarters(), part_names(account), 5.0))
    if (account.trend != a.STEADY).any():
        made.append(phase_comparison(first, second, "the link's rate", account.trend, TREND_NAMES, 4.0))
    return made


def phase_comparison(
    first: Run, second: Run, by: str, groups: Ints, names: tuple[str, ...] | list[str], weight: float
) -> SmallTable:
    """Return two runs by groups of windows: throughput, delay and losses."""
    one, other = (_grouped(run.account, groups, len(names)) for run in (first, second))
    shown = [one["rate"], one["throughput"], other["throughput"], one["delay"], other["delay"]]
    rows: tuple[tuple[str | float, ...], ...] = tuple(
        (names[g], *(round(float(values[g]), 2) for values in shown), int(one["lost"][g]), int(other["lost"][g]))
        for g in range(len(names))
        if one["time"][g] > 0
    )
    columns = (
        "Mbit/s of the link",
        "first Mbit/s",
        "second Mbit/s",
        "first ms",
        "second ms",
        "first lost",
        "second lost",
    )
    return SmallTable(f"Throughput, queueing delay and losses by {by}", (by, *columns), rows, weight)
