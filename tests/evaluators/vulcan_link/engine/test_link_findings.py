"""The account of a run is what a slow count in plain Python finds, and its classes add up to what was measured."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from vulcan.anvil import check
from vulcan.evaluator import load_evaluator, located
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan_link import account as a
from vulcan_link import engine_state as m
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import simulate
from vulcan_traces.links import LinkTrace, load_link, make_link

RATES = load_link("steps:rates=8-1-6-0-12,every=0.3")
OPPORTUNITIES = make_link(
    "o", "opportunities", np.array([1, 1, 4, 5, 9, 9, 9, 250, 251, 252, 300]) * 10**6, 300 * 10**6
)
FLOWS = (Flow("cubic", delay_ms=9.0), Flow("reno", delay_ms=15.0, start_s=0.4))
SCENARIOS = [
    Scenario(RATES, Queue(packets=12), FLOWS, 3.0, loss=0.01),
    Scenario(RATES, Queue("codel", packets=30), FLOWS, 3.0, loss=0.005, measure_from_s=0.5),
    Scenario(OPPORTUNITIES, Queue(packets=9), FLOWS, 2.5),
    Scenario(OPPORTUNITIES, Queue("fq_codel", packets=15), FLOWS, 2.5, measure_from_s=0.7),
]


def rate_at(link: LinkTrace, ns: int) -> Fraction:
    within = ns % link.period
    return Fraction(float(link.rates[max(i for i, start in enumerate(link.times.tolist()) if start <= within)]))


def bits(link: LinkTrace, begin: int, end: int) -> float:
    """What the link can carry from after one time until another, ns: piece by piece."""
    if link.kind == "opportunities":
        cycles = range(begin // link.period - 1, end // link.period + 1)
        return 12032.0 * sum(begin < c * link.period + int(t) <= end for c in cycles for t in link.times)
    marks = {c * link.period + int(t) for c in range(end // link.period + 1) for t in link.times}
    edges = sorted({begin, end, *(t for t in marks if begin < t < end)})
    total = Fraction(0)
    for at, following in pairwise(edges):
        total += rate_at(link, at) * (following - at) / 10**9
    return float(total)


def plain_account(s: Scenario, log: list[list[int]], flows: int) -> dict[str, Any]:
    """The same numbers as `account`, each from its definition, a window at a time."""
    base = round(s.flows[0].round_trip_ms * 1e6)
    begin, end, width = round(s.measure_from_s * 1e9), round(s.duration_s * 1e9), max(base, 10**7)
    count = math.ceil((end - begin) / width)
    edges = [min(begin + k * width, end) for k in range(count + 1)]
    idle_spans, inside, since = [], 0, 0
    for time, kind, _, _ in log:
        inside += (kind == m.QUEUED) - (kind in (m.DROPPED_WAITING, m.CARRIED, m.CARRIED_AGAIN))
        if inside == 0 and kind > m.REFUSED:
            since = time
        elif inside == 1 and kind == m.QUEUED and since is not None:
            idle_spans.append((since, time))
            since = None
    if since is not None:
        idle_spans.append((since, end))
    found: dict[str, Any] = {name: [] for name in ("capacity", "idle", "carried", "waited", "standing", "all")}
    losses = []
    for low, high in pairwise(edges):
        rows = [row for row in log if low < row[0] <= high or row[0] == low == begin]
        left = [row for row in rows if row[1] in (m.CARRIED, m.CARRIED_AGAIN)]
        mine = [row for row in left if row[2] < flows]
        found["capacity"].append(bits(s.link, low, high))
        if s.link.kind == "opportunities":  # each that is not used passes an empty queue, as all packets are whole
            found["idle"].append(bits(s.link, low, high) - 12032.0 * sum(row[0] > low for row in left))
        else:
            spans = [(max(low, x), min(high, y)) for x, y in idle_spans]
            found["idle"].append(math.fsum(bits(s.link, x, y) for x, y in spans if x < y))
        found["carried"].append(len(mine))
        found["waited"].append(sum(row[3] for row in mine))
        found["standing"].append(len(mine) * min((row[3] for row in left), default=0))
        found["all"].append((len(left), sum(row[3] for row in left)))
        here = [row for row in rows if row[2] < flows and row[1] in (0, m.OVERFLOWED, m.REFUSED, m.DROPPED_WAITING)]
        losses += [(row, len(found["all"]) - 1) for row in here]
    rate = [c / (high - low) for c, low, high in zip(found["capacity"], edges, edges[1:], strict=False)]
    trend = [a.STEADY] * count
    for w in range(count):
        if w >= 2:
            now, before = rate[w] + rate[w - 1], rate[w - 2] + rate[max(w - 3, 0)]
            trend[w] = a.FELL if now < 0.8 * before else a.ROSE if now > 1.25 * before else a.STEADY
        if rate[w] < 0.05 * sum(rate) / count:
            trend[w] = a.STOPPED
    used = [c - i for c, i in zip(found["capacity"], found["idle"], strict=True)]
    filled = next((w for w in range(count) if used[w] >= 0.8 * found["capacity"][w] > 0), None)
    drain = round(12e3 * (s.queue.packets or 0) / s.link.mean_rate * 1e9)
    start_up = count if filled is None else min(count, filled + 1 + math.ceil(2 * (base + drain) / width))
    lost, following = np.zeros((len(a.LOSS_CAUSES), count)), set()
    for (time, kind, _, value), w in losses:
        queued_ms = value / 1e6 if kind == m.DROPPED_WAITING else value * 8e3 / s.link.mean_rate
        if kind == m.LOST_BEFORE:
            cause = a.AT_RANDOM
        elif kind != m.OVERFLOWED:
            cause = a.NEEDLESS if queued_ms < 5 else a.EARLY
        elif w < start_up:
            cause = a.IN_START_UP
        else:
            cause = a.RATE_FELL if trend[w] in (a.STOPPED, a.FELL) else a.PUSHED
        lost[cause, w] += 1
        packets, waited = found["all"][w]
        until = time + 3 * (base + waited // max(packets, 1))
        following |= {v for v in range(w, count) if edges[v] < until}
    idle, climbing = np.zeros((len(a.IDLE_CAUSES), count)), False
    for w in range(count):
        climbing = (climbing or trend[w] == a.ROSE) and used[w] < 0.95 * found["capacity"][w]
        cause = a.STARTING if w < start_up else a.AFTER_RISE if climbing else a.OTHERWISE
        if cause == a.OTHERWISE and w in following:
            cause = a.AFTER_A_LOSS
        idle[cause, w] = found["idle"][w]
    packets = max(sum(found["carried"]), 1)
    delay = np.array([found["standing"], np.subtract(found["waited"], found["standing"])])
    return {
        "trend": trend,
        "% of idle link": 100 * count * idle / sum(found["capacity"]),
        "ms of delay": 1e-6 * count * delay / packets,
        "% of packets lost": 100 * count * lost / (sum(found["carried"]) + lost.sum()),
    }


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_account_is_that_of_a_slow_count_and_adds_up(scenario: Scenario) -> None:
    result = simulate(scenario, log=True)
    assert result.sent == simulate(scenario).sent  # a log changes nothing
    for flows in (1, 2):
        found = a.account("it", scenario, result, flows)
        plain = plain_account(scenario, result.log.tolist(), flows)
        accounts = {one.unit: one for one in (found, *found.more)}
        for unit, one in accounts.items():
            assert np.array(list(one.parts.values())) == pytest.approx(plain[unit], rel=1e-9, abs=1e-4), unit
        assert {group.by: group.classes.tolist() for group in found.groups}["the link's rate"] == plain["trend"]
        mine = result.flows[:flows]
        delivered, lost = sum(flow.delivered for flow in mine), sum(flow.dropped + flow.lost for flow in mine)
        waited = sum(flow.queueing_delay_avg_ms * flow.delivered for flow in mine)
        assert accounts["ms of delay"].total.mean() == pytest.approx(waited / delivered)
        assert accounts["% of packets lost"].total.mean() == pytest.approx(100 * lost / (lost + delivered))
        capacity = result.capacity_bps * (scenario.duration_s - scenario.measure_from_s)
        # what is under way at the beginning and at the end is in use, but not carried
        assert 1 - found.total.mean() / 100 == pytest.approx(result.utilisation, abs=12_033 / capacity)
    assert lost
    assert sum(part.any() for part in found.parts.values()) >= (2 if scenario.link is RATES else 1)


def test_a_log_that_is_too_short_is_made_again() -> None:
    flows = (Flow("fixed", parameter=4000.0, initial_window=4000, delay_ms=5.0),)
    scenario = Scenario(load_link("constant:rate=1"), Queue(packets=3), flows, 0.6)
    result = simulate(scenario, log=True)
    kinds = result.log[:, m.E_KIND]
    assert (kinds == m.OVERFLOWED).sum() == result.dropped > 1000
    assert (kinds >= m.CARRIED).sum() == result.delivered


def test_findings_say_the_metrics() -> None:
    task = find_task("congestion_control")
    simulator: Any = load_evaluator(task)
    given = {"link": ["steps:rates=9-2-7,every=1"], "duration_s": 4.0, "competing": ["reno"]}
    instance = simulator.instances(complete_settings(task, given), task.split)[0]
    policies = [check(task.seed_policies()[name], task) for name in ("reno_like", "vegas_like")]
    metrics = simulator.evaluate(policies[0], instance)
    found, between = simulator.findings(policies[0], instance), simulator.compare(*policies, instance)
    assert located(found, instance) == located(simulator.findings(policies[0], instance), instance)
    assert f"power {metrics['power']:.3f}" in found[0].text and f"power {metrics['power']:.3f}" in between[0].text
    assert any(f"costs {metrics['queueing_delay_avg_ms']:.4g} ms of delay" in getattr(one, "text", "") for one in found)
    assert "Beside it: reno" in simulator.workload(instance)[0].text
