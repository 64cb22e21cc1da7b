"""Findings on paths and senders: idle link, queue and losses by cause and phase, and where two senders differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from vulcan.findings import EvaluatorFinding, Series, SmallTable, Statement
from vulcan.task import Metrics
from vulcan_link import account as a
from vulcan_link.account import Account, Ints, Numbers
from vulcan_link.scenario import Scenario
from vulcan_traces.links import LinkTrace

PACKET_MBIT = 0.012
MAX_CURVE = 32
"""Points of a curve."""

_STRETCHES = 16
_TREND_NAMES = ("stopped", "fell", "steady", "rose")
_SECOND = 1e9
_VARIES = 0.02


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a policy or a baseline, called `name`: its metrics, its account, and the flows beside it."""

    name: str
    metrics: Metrics
    account: Account
    competing: tuple[str, ...] = ()


def describe_path(scenario: Scenario, competing: tuple[str, ...] = ()) -> list[EvaluatorFinding]:
    """Return the findings on a path: `competing` are the flows beside, as their setting has them."""
    flow, link = scenario.flows[0], scenario.link
    packets = scenario.queue.packets or 0
    bdp = link.mean_rate * flow.round_trip_ms / 1e3 / 12e3
    drains = 12e6 * packets / link.mean_rate
    text = (
        f"{_rate(scenario)} Base round trip {flow.round_trip_ms:g} ms: {bdp:.1f} packets fill the path (BDP). The "
        f"queue ({scenario.queue.kind}) holds {packets} packets, {packets / bdp:.2g} BDP or {drains:.0f} ms at the "
        "mean rate."
    )
    noise = [
        words
        for value, words in (
            (scenario.jitter_us, f"jitter of acknowledgements up to {scenario.jitter_us / 1e3:g} ms"),
            (scenario.ack_batch_ms, f"acknowledgements in batches every {scenario.ack_batch_ms:g} ms"),
            (scenario.loss, f"random loss of {scenario.loss:.3%}"),
        )
        if value
    ]
    if noise:
        text += f" Noise: {', '.join(noise)}."
    if competing:
        other = scenario.flows[-1]
        text += f" Beside it: {', '.join(competing)}, with a base round trip of {other.round_trip_ms:g} ms."
    return [Statement(text, 10.0)]


def _rate(scenario: Scenario) -> str:
    """Describe the rate over a run, in windows of one base round trip."""
    rates = _window_rates(scenario.link, scenario.duration_s, scenario.flows[0].round_trip_ms)
    mean = rates.mean()
    if rates.std() < _VARIES * mean:
        return f"Constant link of {mean:.3g} Mbit/s."
    low, high = np.quantile(rates, [0.1, 0.9])
    steps = np.abs(np.diff(rates)) > 0.2 * np.maximum(rates[1:], rates[:-1])
    every = scenario.duration_s / max(int(steps.sum()), 1)
    text = (
        f"Varying link: {mean:.3g} Mbit/s on average over a run, 10 % of the time below {low:.3g}, 10 % above "
        f"{high:.3g}; from one base round trip to the next it changes by over a fifth every {every:.2g} s."
    )
    stopped = float((rates < 0.05 * mean).mean())
    return text + (f" It stands still for {stopped:.1%} of the time." if stopped else "")


def _window_rates(link: LinkTrace, seconds: float, round_trip_ms: float) -> Numbers:
    """Return the link's rates in windows of one base round trip, Mbit/s."""
    width = max(round(round_trip_ms * 1e6), a.MIN_WINDOW)
    count = max(1, math.floor(seconds * _SECOND / width))
    until = a.carried_until(link, width * np.arange(count + 1))
    return np.asarray(np.diff(until) / (width / _SECOND) / 1e6)


def findings_of(run: Run, best: Run) -> list[EvaluatorFinding]:
    """Return the findings on a sender, compared with the best baseline."""
    return [
        Statement(f"{_factors(run)}. The best baseline, {best.name}: {_factors(best)}.", 10.0),
        idle_finding(run.account),
        delay_finding(run.account),
        _losses(run),
        _start_up(run.account, best.account),
        *([_share(run, best)] if run.competing else []),
        *by_phase(phase_table, run, best, 3.0),
        *curves(run.account),
    ]


def _factors(run: Run) -> str:
    metrics = run.metrics
    delay = metrics["base_rtt_ms"] / max(metrics["base_rtt_ms"] + metrics["queueing_delay_avg_ms"], 1e-9)
    return (
        f"power {metrics['power']:.3f} = share of the link {min(1.0, metrics['share']):.3f} x delay factor {delay:.3f} "
        f"x drop discount {metrics['drop_discount']:.3f}"
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
        return Statement(f"It never used {a.FILLED:.0%} of what the link can carry in a base round trip.", 9.5)
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
    waiting = account.waited.sum() / max(account.all_waited.sum(), 1)
    return Statement(
        f"Beside {', '.join(run.competing)}: {_own_share(account):.1%} of the packets carried are its own, and "
        f"{waiting:.1%} of all waiting. It reaches {run.metrics['share']:.2f} of its fair share; the best baseline "
        f"{best.metrics['share']:.2f}.",
        9.0,
    )


def _own_share(account: Account) -> float:
    return float(account.carried.sum() / max(account.all_carried.sum(), 1))


def _grouped(account: Account, groups: Ints, count: int) -> dict[str, Numbers]:
    """Return sums over the windows of each group, and from them rates, shares and means."""

    def summed(values: Ints | Numbers) -> Numbers:
        return np.bincount(groups, values, count).astype(np.float64)

    time, capacity, carried = summed(np.diff(account.edges) / 1e9), summed(account.capacity), summed(account.carried)
    packets, seconds = np.maximum(carried, 1) * 1e6, np.maximum(time, 1e-9)
    return {
        "time": time,
        "lost": summed(account.lost),
        "rate": capacity / seconds / 1e6,
        "used": 100 * (1 - summed(account.idle) / np.maximum(capacity, 1.0)),
        "delay": summed(account.waited) / packets,
        "in_standing": summed(account.standing) / packets,
        "own": 100 * carried / np.maximum(summed(account.all_carried), 1),
        "throughput": carried * PACKET_MBIT / seconds,
    }


Table = Callable[[Run, Run, str, Ints, Sequence[str], float], SmallTable]
"""A table of two runs by groups of windows, which have names."""


def by_phase(table: Table, one: Run, other: Run, weight: float) -> list[SmallTable]:
    """Return the table by quarters of the run, and by how the link's rate changes if it does."""
    account = one.account
    first = np.searchsorted(account.quarters(), np.arange(5))
    parts = [f"{account.edges[i] / 1e9:.3g}-{account.edges[j] / 1e9:.3g} s" for i, j in pairwise(first)]
    tables = [table(one, other, "part of the run", account.quarters(), parts, weight)]
    if (account.trend != a.STEADY).any():
        tables.append(table(one, other, "the link's rate", account.trend, _TREND_NAMES, 4.0))
    return tables


def phase_table(run: Run, best: Run, by: str, groups: Ints, names: Sequence[str], weight: float) -> SmallTable:
    """Return a run and the best baseline by groups of windows: use of the link, delay and losses."""
    mine, theirs = (_grouped(one.account, groups, len(names)) for one in (run, best))
    shown = {
        "time %": 100 * mine["time"] / mine["time"].sum(),
        "Mbit/s of the link": mine["rate"],
        "used %": mine["used"],
        "delay ms": mine["delay"],
        **({"own share %": mine["own"]} if run.competing else {"standing ms": mine["in_standing"]}),
    }
    rows = _rows(
        names, mine, shown, lambda g: (int(mine["lost"][g]), f"{theirs['used'][g]:.1f}, {theirs['delay'][g]:.2f}")
    )
    return SmallTable(f"By {by}", (by, *shown, "lost", f"{best.name}: used %, delay ms"), rows, weight)


def phase_comparison(first: Run, second: Run, by: str, groups: Ints, names: Sequence[str], weight: float) -> SmallTable:
    """Return two runs by groups of windows: throughput, delay and losses."""
    one, other = (_grouped(run.account, groups, len(names)) for run in (first, second))
    shown = {
        "Mbit/s of the link": one["rate"],
        "first Mbit/s": one["throughput"],
        "second Mbit/s": other["throughput"],
        "first ms": one["delay"],
        "second ms": other["delay"],
    }
    rows = _rows(names, one, shown, lambda g: (int(one["lost"][g]), int(other["lost"][g])))
    title = f"Throughput, queueing delay and losses by {by}"
    return SmallTable(title, (by, *shown, "first lost", "second lost"), rows, weight)


def _rows(
    names: Sequence[str],
    grouped: dict[str, Numbers],
    shown: dict[str, Numbers],
    last: Callable[[int], tuple[str | float, ...]],
) -> tuple[tuple[str | float, ...], ...]:
    """Return a row for each group that lasted: its name, the numbers shown of it, and the last columns."""
    return tuple(
        (name, *(round(float(values[g]), 2) for values in shown.values()), *last(g))
        for g, name in enumerate(names)
        if grouped["time"][g] > 0
    )


def curves(account: Account) -> list[EvaluatorFinding]:
    """Return the use of the link and the queueing delay along the run, for people."""
    points = min(MAX_CURVE, account.windows)
    groups = points * np.arange(account.windows) // account.windows
    grouped = _grouped(account, groups, points)
    ends = account.edges[np.searchsorted(groups, np.arange(points), side="right")] / 1e9
    return [
        Series(title, "seconds", y, tuple(zip(ends.tolist(), np.round(grouped[name], 3).tolist(), strict=True)), 0.0)
        for title, y, name in (
            ("use of the link along the run", "used %", "used"),
            ("queueing delay along the run", "ms", "delay"),
        )
    ]


def differences(first: Run, second: Run) -> list[EvaluatorFinding]:
    """Return where two senders differ on one instance: in throughput, delay and losses."""
    findings: list[EvaluatorFinding] = [
        Statement(f"The first: {_factors(first)}. The second: {_factors(second)}.", 10.0)
    ]
    account = first.account
    if first.competing:
        one, other = (_own_share(run.account) for run in (first, second))
        text = f"Of the packets carried, {one:.1%} are the first's beside {', '.join(first.competing)}, and "
        findings.append(Statement(f"{text}{other:.1%} the second's.", 8.0))
    groups = _STRETCHES * np.arange(account.windows) // account.windows
    mine, theirs = (_grouped(run.account, groups, _STRETCHES) for run in (first, second))
    starts = np.searchsorted(groups, np.arange(_STRETCHES + 1))
    for name, what, unit, weight in (
        ("throughput", "throughput", "Mbit/s", 7.0),
        ("delay", "queueing delay", "ms", 6.0),
    ):
        apart = np.abs(mine[name] - theirs[name])
        g = int(apart.argmax())
        if apart[g] > 0:
            begin, end = account.edges[starts[g]] / 1e9, account.edges[starts[g + 1]] / 1e9
            said = (
                f"They differ most in {what} from {begin:.2f} s to {end:.2f} s, where the link carries "
                f"{mine['rate'][g]:.2f} Mbit/s: {mine[name][g]:.2f} {unit} of the first, {theirs[name][g]:.2f} {unit} "
                "of the second."
            )
            findings.append(Statement(said, weight))
    return [*findings, *by_phase(phase_comparison, first, second, 5.0)]
