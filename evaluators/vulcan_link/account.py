"""An account of a run: capacity, waiting and losses in windows of one base round trip, each divided by cause.

All is computed from the log of a simulation (`simulate`), with one definition for each number:

- A window is as long as the round-trip time without a queue, and at least `MIN_WINDOW`. What happens at its end belongs
  to it, and what happens at its begin does not.
- The link is idle while no packet waits or is in transmission. Its idle capacity is what it could have carried then.
- The least wait of the packets that leave the link in a window is the standing queue; what each waited beyond it is
  due to bursts.
- The link is first filled at the end of the first window of which it used `FILLED`. Start-up lasts for two more round
  trips with a full queue.
- The link's rate is compared with that of two windows before, over two windows each: see `trend_of`.
- After the rate rose, a window is due to that until there is one of which the link used `REFILLED`.
- A loss is followed for `AFTER_LOSS` round trips, with the mean wait of the packets that left in its window.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan_link import engine_state as m
from vulcan_link.result import LinkResult
from vulcan_link.scenario import Scenario
from vulcan_traces.links import OPPORTUNITY_BYTES, LinkTrace

Ints = NDArray[np.int64]
Numbers = NDArray[np.float64]

MIN_WINDOW = 10_000_000
FILLED, REFILLED, STANDING = 0.8, 0.95, 0.1
"""Shares of a window's capacity that fill the link at first, and after its rate rose; standing queue, as a share of the
base round trip, that counts."""

AFTER_LOSS = 3
"""Round trips."""

STARTING, AFTER_RISE, AFTER_A_LOSS, OTHERWISE = range(4)
IDLE_CAUSES = 4
"""Of idle capacity; the first that holds in a window."""

AT_RANDOM, IN_START_UP, RATE_FELL, PUSHED, EARLY = range(5)
LOSS_CAUSES = 5
"""Of losses: at random; a full queue in start-up, while the rate falls or the link is stopped, at other times; dropped
by who manages the queue."""

STOPPED, FELL, STEADY, ROSE = range(4)

_SECOND = 1_000_000_000
_FALLS, _RISES, _STOPS = 0.8, 1.25, 0.05


@dataclass(frozen=True, slots=True)
class Account:
    """The events of each window, as arrays of shape (windows,); times in ns, capacity in bits.

    `carried`, `waited` and `lost` are of the policy's packets, `all_carried` and `all_waited` of all flows'. `least` is
    the least wait of those that left, and 0 where none did. `start_up` is the number of windows of it, and `filled_ns`
    when the link was first filled, None where it never was. `losses` counts the policy's by cause, `lost_in` their
    windows.
    """

    edges: Ints
    capacity: Numbers
    idle: Numbers
    carried: Ints
    again: Ints
    waited: Ints
    least: Ints
    lost: Ints
    all_carried: Ints
    all_waited: Ints
    trend: Ints
    idle_cause: Ints
    losses: Ints
    loss_causes: Ints
    loss_windows: Ints
    start_up: int
    filled_ns: int | None
    base_ns: int

    @property
    def windows(self) -> int:
        return len(self.capacity)

    @property
    def standing(self) -> Ints:
        """Wait of the policy's packets in the standing queue, ns in all, by window."""
        return self.carried * self.least

    @property
    def has_standing(self) -> NDArray[np.bool_]:
        """Windows with a standing queue of more than a share of the base round trip."""
        return self.least > STANDING * self.base_ns

    def quarters(self) -> Ints:
        """Return the quarter of the run of each window."""
        return 4 * np.arange(self.windows) // self.windows

    def idle_by_cause(self) -> Numbers:
        """Return the idle capacity by cause, bits."""
        return np.bincount(self.idle_cause, self.idle, IDLE_CAUSES).astype(np.float64)


def carried_until(link: LinkTrace, times: Ints, offset: int = 0) -> Numbers:
    """Return the bits that the link carries from the beginning of its trace until each time, ns."""
    cycles, rest = np.divmod(times + offset, link.period)
    if link.kind == "opportunities":
        passed = np.searchsorted(link.times, rest, side="right")
        return (OPPORTUNITY_BYTES * 8.0 * (cycles * len(link.times) + passed)).astype(np.float64)
    starts = np.append(link.times, link.period)
    until = np.concatenate(([0.0], np.cumsum(link.rates * np.diff(starts)))) / _SECOND
    bits: Numbers = (cycles * until[-1] + np.interp(rest, starts, until)).astype(np.float64)
    return bits


def account(scenario: Scenario, result: LinkResult, flows: int) -> Account:
    """Return the account of a run whose first `flows` flows are the policy's, over the measured time."""
    log = result.log.T.copy()  # a column is read faster alone
    base = round(scenario.flows[0].round_trip_ms * 1e6)
    begin, end = round(scenario.measure_from_s * _SECOND), round(scenario.duration_s * _SECOND)
    width = max(base, MIN_WINDOW)
    count = math.ceil((end - begin) / width)
    edges = begin + width * np.arange(count + 1)
    edges[-1] = end
    offset = round(scenario.link_offset_s * _SECOND)
    until = carried_until(scenario.link, edges, offset)
    capacity = np.diff(until)
    idle = np.diff(_idle_until(scenario.link, offset, log, edges, until))

    time, kind, flow, value = log[:, np.searchsorted(log[m.E_TIME], begin) :]
    mine, left = flow < flows, kind >= m.CARRIED
    wait, place = value[left], np.maximum(time[left] - begin - 1, 0) // width
    least = np.zeros(count, np.int64)
    if len(place):
        firsts = np.flatnonzero(np.diff(place, prepend=-1))
        least[place[firsts]] = np.minimum.reduceat(wait, firsts)
    own = mine[left]
    all_carried = np.bincount(place, minlength=count)
    all_waited = _sums(place, wait, count)
    is_loss = ~left & (kind != m.QUEUED) & mine
    loss_kinds, loss_times = kind[is_loss], time[is_loss]
    loss_windows = np.maximum(loss_times - begin - 1, 0) // width

    trend = trend_of(capacity / np.diff(edges))
    used = capacity - idle
    filled = np.flatnonzero((used >= FILLED * capacity) & (capacity > 0))
    filled_ns = int(edges[filled[0] + 1]) if len(filled) else None
    full = _full_queue(scenario)
    start_up = min(count, int(filled[0]) + 1 + math.ceil(2 * (base + full) / width)) if len(filled) else 0
    causes = _loss_causes(loss_kinds, loss_windows < start_up, trend[loss_windows])
    until_then = loss_times + AFTER_LOSS * (base + all_waited[loss_windows] // np.maximum(all_carried[loss_windows], 1))
    return Account(
        edges=edges,
        capacity=capacity,
        idle=idle,
        carried=np.bincount(place[own], minlength=count),
        again=np.bincount(place[own & (kind[left] == m.CARRIED_AGAIN)], minlength=count),
        waited=_sums(place[own], wait[own], count),
        least=least,
        lost=np.bincount(loss_windows, minlength=count),
        all_carried=all_carried,
        all_waited=all_waited,
        trend=trend,
        idle_cause=_idle_cause(
            loss_windows, (until_then - begin - 1) // width, start_up, trend, used >= REFILLED * capacity
        ),
        losses=np.bincount(causes, minlength=LOSS_CAUSES),
        loss_causes=causes,
        loss_windows=loss_windows,
        start_up=start_up,
        filled_ns=filled_ns,
        base_ns=base,
    )


def _sums(place: Ints, values: Ints, count: int) -> Ints:
    """Return sums of whole numbers by place, exact: up to 2**53 ns, which are 104 days."""
    return np.bincount(place, values, count).astype(np.int64)


def _full_queue(scenario: Scenario) -> int:
    """Return how long a full queue takes to drain at the link's mean rate, ns; 0 for one without a limit."""
    limit = scenario.queue.packets
    return 0 if limit is None else round(12e3 * limit / scenario.link.mean_rate * _SECOND)


def _idle_until(link: LinkTrace, offset: int, log: Ints, edges: Ints, until: Numbers) -> Numbers:
    """Return the idle capacity from the beginning of the run until each edge, bits."""
    times, kinds = log[m.E_TIME], log[m.E_KIND]
    change = (kinds == m.QUEUED).astype(np.int8) - (kinds >= m.DROPPED_WAITING)
    inside = np.cumsum(change, dtype=np.int32)
    emptied = times[(inside == 0) & (change < 0)]
    begins = np.concatenate(([0], emptied))
    ends = times[(inside == 1) & (change > 0)]
    if len(ends) < len(begins):
        ends = np.append(ends, max(edges[-1], begins[-1]))
    before = carried_until(link, begins, offset)
    after = carried_until(link, ends, offset)
    if link.kind == "opportunities":  # those of the moment at which the queue became empty, and that no packet used
        gone = times[kinds >= m.CARRIED]
        used = np.searchsorted(gone, emptied, side="right") - np.searchsorted(gone, emptied, side="left")
        before[1:] = carried_until(link, emptied - 1, offset) + OPPORTUNITY_BYTES * 8.0 * used
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


def _loss_causes(kinds: Ints, starting: NDArray[np.bool_], trend: Ints) -> Ints:
    causes = np.where(trend <= FELL, RATE_FELL, PUSHED)
    causes[starting] = IN_START_UP
    causes[kinds == m.LOST_BEFORE] = AT_RANDOM
    causes[(kinds == m.DROPPED_WAITING) | (kinds == m.REFUSED)] = EARLY
    return causes


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
