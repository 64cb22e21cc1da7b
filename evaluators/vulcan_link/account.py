"""Where a run loses: idle link, delay and losses in windows of one base round trip, each divided by cause.

All is computed from the log of a simulation (`simulate`), with one definition for each number:

- A window is as long as the round-trip time without a queue, and at least `MIN_WINDOW`. What happens at its end belongs
  to it, and what happens at its begin does not.
- The link is idle while no packet waits or is in transmission. Its idle capacity is what it could have carried then.
- The least wait of the packets that leave the link in a window is the standing queue; what each waited beyond it is
  due to bursts.
- Start-up lasts until the end of the first window of which the link used `FILLED`, and two more round trips with a full
  queue; for the whole run where there is no such window.
- The link's rate is compared with that of two windows before, over two windows each: see `trend_of`.
- After the rate rose, a window is due to that until there is one of which the link used `REFILLED`.
- A loss is followed for `AFTER_LOSS` round trips, with the mean wait of the packets that left in its window.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan.findings import EvaluatorFinding, Statement
from vulcan.simulator import override
from vulcan.simulator.account import Account, Grouping, in_order
from vulcan_link import engine_state as m
from vulcan_link.result import LinkResult
from vulcan_link.scenario import Scenario
from vulcan_traces.links import OPPORTUNITY_BYTES, LinkTrace

Ints = NDArray[np.int64]
Numbers = NDArray[np.float64]

MIN_WINDOW = 10_000_000
FILLED, REFILLED = 0.8, 0.95
"""Shares of a window's capacity that fill the link at first, and after its rate rose."""

AFTER_LOSS = 3
"""Round trips."""

SHORT_MS = 5.0
"""A drop from a shorter queue than CoDel's target (RFC 8289) is one that keeps no delay away."""

IDLE_CAUSES = (
    "in start-up",
    "since the rate rose, until full again",
    f"within {AFTER_LOSS} round trips after a loss",
    "at other times",
)
STARTING, AFTER_RISE, AFTER_A_LOSS, OTHERWISE = range(len(IDLE_CAUSES))
"""Of idle capacity; the first that holds in a window."""

LOSS_CAUSES = (
    "at random",
    "queue full in start-up",
    "queue full as the link's rate fell or it stood still",
    "queue full at other times",
    f"early, though the queue was below {SHORT_MS:g} ms",
    "early, from a longer queue",
)
AT_RANDOM, IN_START_UP, RATE_FELL, PUSHED, NEEDLESS, EARLY = range(len(LOSS_CAUSES))
"""Early is what the manager of the queue drops."""

TREND = ("stopped", "fell", "steady", "rose")
STOPPED, FELL, STEADY, ROSE = range(len(TREND))

PARTS = 8

_SECOND = 1_000_000_000
_FALLS, _RISES, _STOPS = 0.8, 1.25, 0.05


@dataclass(frozen=True)
class LinkAccount(Account):
    """The idle capacity of a run, and accounts of its delay and of its losses; `facts` are its metrics in words."""

    facts: str = ""
    more: tuple[Account, ...] = ()

    @override
    def findings(self, *others: Account) -> list[EvaluatorFinding]:
        """Return where the run loses, beside the best baseline."""
        best = others[0]
        assert isinstance(best, LinkAccount)
        made = [Statement(f"{self.facts}. The best baseline, {best.name}: {best.facts}.", 10.0)]
        pairs = zip(self.more, best.more, strict=True)
        return [*made, *super().findings(best), *(one for mine, theirs in pairs for one in mine.findings(theirs))]

    @override
    def compare(self, other: Account) -> list[EvaluatorFinding]:
        """Return what this run saves over another."""
        assert isinstance(other, LinkAccount)
        made = [Statement(f"With {one.name}: {one.facts}.", 10.0) for one in (self, other)]
        pairs = zip(self.more, other.more, strict=True)
        return [*made, *super().compare(other), *(one for mine, theirs in pairs for one in mine.compare(theirs))]


def account(name: str, scenario: Scenario, result: LinkResult, flows: int, facts: str = "") -> LinkAccount:
    """Return the account of a run whose first `flows` flows are the policy's, over the measured time.

    The means over windows are the share of the link's capacity, %, the delay of a packet, and the share of packets, %.
    """
    log = result.log.T.copy()  # a column is read faster alone
    base = round(scenario.flows[0].round_trip_ms * 1e6)
    begin, end = round(scenario.measure_from_s * _SECOND), round(scenario.duration_s * _SECOND)
    width = max(base, MIN_WINDOW)
    count = math.ceil((end - begin) / width)
    edges = np.minimum(begin + width * np.arange(count + 1), end)
    until = scenario.link.carried_until(edges)
    capacity = np.diff(until)
    idle = np.diff(_idle_until(scenario.link, log, edges, until))

    time, kind, flow, value = log[:, np.searchsorted(log[m.E_TIME], begin) :]
    place = np.maximum(time - begin - 1, 0) // width
    mine, left = flow < flows, kind >= m.CARRIED
    least = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(least, place[left], value[left])
    carried, waited = _sums(place, left, count), _sums(place, value * left, count)
    own = np.flatnonzero(mine & left)
    lost = np.flatnonzero(mine & ~left & (kind != m.QUEUED))

    trend = trend_of(capacity / np.diff(edges))
    used = capacity - idle
    filled = np.flatnonzero((used >= FILLED * capacity) & (capacity > 0))
    full = _full_queue(scenario)
    start_up = min(count, int(filled[0]) + 1 + math.ceil(2 * (base + full) / width)) if len(filled) else count
    at = place[lost]
    loss_causes = _loss_causes(kind[lost], _queued_ms(scenario, kind[lost], value[lost]), at < start_up, trend[at])
    until_then = time[lost] + AFTER_LOSS * (base + (waited[at] // np.maximum(carried[at], 1)).astype(np.int64))
    idle_cause = _idle_cause(at, (until_then - begin - 1) // width, start_up, trend, used >= REFILLED * capacity)

    groups = [in_order("part of the run", count, min(PARTS, count))]
    if (trend != STEADY).any():
        groups.append(Grouping("the link's rate", trend, TREND))
    of_capacity, of_packets = 100 * count / max(capacity.sum(), 1), 100 * count / max(len(own) + len(lost), 1)
    idle_parts = {words: of_capacity * idle * (idle_cause == n) for n, words in enumerate(IDLE_CAUSES)}
    per_ms = 1e-6 * count / max(len(own), 1)
    standing, whole = (per_ms * _sums(place[own], waits, count) for waits in (least[place[own]], value[own]))
    delays = {"in the standing queue": standing, "in bursts": whole - standing}
    losses = {words: of_packets * _sums(at, loss_causes == n, count) for n, words in enumerate(LOSS_CAUSES)}
    more = (
        Account(name, "round trip", "ms of delay", delays, groups),
        Account(name, "round trip", "% of packets lost", losses, groups),
    )
    return LinkAccount(name, "round trip", "% of idle link", idle_parts, groups, facts, more)


def _sums(place: Ints, values: NDArray[np.generic], count: int) -> Numbers:
    """Return sums of whole numbers by place, exact: up to 2**53 ns, which are 104 days."""
    return np.bincount(place, values, count).astype(np.float64)


def _queued_ms(scenario: Scenario, kinds: Ints, values: Ints) -> Numbers:
    """Return how long the queue is of which packets are lost: their own wait, or what waits as they come."""
    bytes_ms = values * 8e3 / scenario.link.mean_rate
    return np.where(kinds == m.DROPPED_WAITING, values / 1e6, bytes_ms)


def _full_queue(scenario: Scenario) -> int:
    """Return how long a full queue takes to drain at the link's mean rate, ns; 0 for one without a limit."""
    limit = scenario.queue.packets
    return 0 if limit is None else round(12e3 * limit / scenario.link.mean_rate * _SECOND)


def _idle_until(link: LinkTrace, log: Ints, edges: Ints, until: Numbers) -> Numbers:
    """Return the idle capacity from the beginning of the run until each edge, bits."""
    times, kinds = log[m.E_TIME], log[m.E_KIND]
    change = (kinds == m.QUEUED).astype(np.int8) - (kinds >= m.DROPPED_WAITING)
    inside = np.cumsum(change, dtype=np.int32)
    emptied = times[(inside == 0) & (change < 0)]
    begins = np.concatenate(([0], emptied))
    ends = times[(inside == 1) & (change > 0)]
    if len(ends) < len(begins):
        ends = np.append(ends, max(edges[-1], begins[-1]))
    before = link.carried_until(begins)
    after = link.carried_until(ends)
    if link.kind == "opportunities":  # those of the moment at which the queue became empty, and that no packet used
        gone = times[kinds >= m.CARRIED]
        used = np.searchsorted(gone, emptied, side="right") - np.searchsorted(gone, emptied, side="left")
        before[1:] = link.carried_until(emptied - 1) + OPPORTUNITY_BYTES * 8.0 * used
    whole = np.concatenate(([0.0], np.cumsum(after - before)))
    at = np.searchsorted(begins, edges, side="right") - 1
    partly: Numbers = whole[at] + np.minimum(until, after[at]) - before[at]
    return partly


def trend_of(rate: Numbers) -> Ints:
    """Return how the link's rate changes, by window.

    It is stopped below a twentieth of its mean; else it fell, or rose, where this window and the one before it have on
    average less than 0.8, or more than 1.25, times the rate of the two before them.
    """
    now = rate[2:] + rate[1:-1]
    before = np.concatenate((rate[:1] + rate[:1], rate[1:-2] + rate[:-3]))[: len(now)] if len(now) else now
    trend = np.full(len(rate), STEADY)
    trend[2:][now < _FALLS * before] = FELL
    trend[2:][now > _RISES * before] = ROSE
    trend[rate < _STOPS * rate.mean()] = STOPPED
    return trend


def _loss_causes(kinds: Ints, queued_ms: Numbers, starting: NDArray[np.bool_], trend: Ints) -> Ints:
    full = np.where(starting, IN_START_UP, np.where(trend <= FELL, RATE_FELL, PUSHED))
    early = np.where(queued_ms < SHORT_MS, NEEDLESS, EARLY)
    return np.select([kinds == m.LOST_BEFORE, kinds == m.OVERFLOWED], [np.full(len(kinds), AT_RANDOM), full], early)


def _idle_cause(first: Ints, last: Ints, start_up: int, trend: Ints, full: NDArray[np.bool_]) -> Ints:
    """Return the cause of idle capacity in each window; losses are followed from one window to another."""
    count = len(trend)
    following = np.bincount(first, minlength=count + 1)
    following[: count + 1] -= np.bincount(np.minimum(last + 1, count), minlength=count + 1)
    cause = np.full(count, OTHERWISE)
    cause[np.cumsum(following[:count]) > 0] = AFTER_A_LOSS
    rise, filled = (np.maximum.accumulate(np.where(at, np.arange(count), -1)) for at in (trend == ROSE, full))
    cause[rise > filled] = AFTER_RISE
    cause[:start_up] = STARTING
    return cause


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
    if rates.std() < 0.02 * mean:
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
    width = max(round(round_trip_ms * 1e6), MIN_WINDOW)
    count = max(1, math.floor(seconds * _SECOND / width))
    until = link.carried_until(width * np.arange(count + 1))
    return np.asarray(np.diff(until) / (width / _SECOND) / 1e6)
