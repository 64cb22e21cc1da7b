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
from vulcan.findings import SmallTable
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
    found: dict[str, Any] = {name: [] for name in ("capacity", "idle", "carried", "waited", "least", "lost", "all")}
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
        found["least"].append(min((row[3] for row in left), default=0))
        found["all"].append((len(left), sum(row[3] for row in left)))
        here = [row for row in rows if row[2] < flows and row[1] in (0, m.OVERFLOWED, m.REFUSED, m.DROPPED_WAITING)]
        found["lost"].append(len(here))
        losses += [(row, len(found["lost"]) - 1) for row in here]
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
    start_up = 0 if filled is None else min(count, filled + 1 + math.ceil(2 * (base + drain) / width))
    loss_causes, following = [0] * a.LOSS_CAUSES, set()
    for (time, kind, _, _), w in losses:
        if kind == m.LOST_BEFORE:
            loss_causes[a.AT_RANDOM] += 1
        elif kind != m.OVERFLOWED:
            loss_causes[a.EARLY] += 1
        elif w < start_up:
            loss_causes[a.IN_START_UP] += 1
        else:
            loss_causes[a.RATE_FELL if trend[w] in (a.STOPPED, a.FELL) else a.PUSHED] += 1
        packets, waited = found["all"][w]
        until = time + 3 * (base + waited // max(packets, 1))
        following |= {v for v in range(w, count) if edges[v] < until}
    causes, climbing = [0.0] * a.IDLE_CAUSES, False
    for w in range(count):
        climbing = (climbing or trend[w] == a.ROSE) and used[w] < 0.95 * found["capacity"][w]
        cause = a.STARTING if w < start_up else a.AFTER_RISE if climbing else a.OTHERWISE
        if cause == a.OTHERWISE and w in following:
            cause = a.AFTER_A_LOSS
        causes[cause] += found["idle"][w]
    return found | {"trend": trend, "start_up": start_up, "losses": loss_causes, "idle_by_cause": causes}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_account_is_that_of_a_slow_count(scenario: Scenario) -> None:
    result = simulate(scenario, log=True)
    assert result.sent == simulate(scenario).sent  # a log changes nothing
    for flows in (1, 2):
        found = a.account(scenario, result, flows)
        plain = plain_account(scenario, result.log.tolist(), flows)
        for name in ("carried", "waited", "least", "lost", "trend"):
            assert getattr(found, name).tolist() == plain[name], name
        assert found.losses.tolist() == plain["losses"]
        assert found.start_up == plain["start_up"]
        for name in ("capacity", "idle"):
            assert getattr(found, name) == pytest.approx(plain[name], rel=1e-9, abs=1.0), name
        assert found.idle_by_cause() == pytest.approx(plain["idle_by_cause"], rel=1e-9, abs=1.0)
        assert_it_adds_up(found, scenario, result, flows)
    assert found.losses.any()
    assert (found.idle_by_cause() > 0).sum() >= (2 if scenario.link is RATES else 1)


def assert_it_adds_up(found: a.Account, scenario: Scenario, result: Any, flows: int) -> None:
    mine = result.flows[:flows]
    assert found.carried.sum() == sum(flow.delivered for flow in mine)
    assert found.losses.sum() == found.lost.sum() == sum(flow.dropped + flow.lost for flow in mine)
    waited = sum(flow.queueing_delay_avg_ms * flow.delivered for flow in mine)
    assert found.waited.sum() / 1e6 == pytest.approx(waited)
    assert (found.standing <= found.waited).all()
    seconds = scenario.duration_s - scenario.measure_from_s
    whole = found.capacity.sum()
    assert whole == pytest.approx(result.capacity_bps * seconds)
    assert found.idle_by_cause().sum() == pytest.approx(found.idle.sum())
    # what is under way at the beginning and at the end is in use, but not carried
    assert whole - found.idle.sum() == pytest.approx(result.utilisation * whole, abs=12_033)


def test_a_log_that_is_too_short_is_made_again() -> None:
    flows = (Flow("fixed", parameter=4000.0, initial_window=4000, delay_ms=5.0),)
    scenario = Scenario(load_link("constant:rate=1"), Queue(packets=3), flows, 0.6)
    result = simulate(scenario, log=True)
    kinds = result.log[:, m.E_KIND]
    assert (kinds == m.OVERFLOWED).sum() == result.dropped > 1000
    assert (kinds >= m.CARRIED).sum() == result.delivered


def test_tables_add_up_to_what_was_measured() -> None:
    task = find_task("congestion_control")
    simulator: Any = load_evaluator(task)
    given = {"link": ["steps:rates=9-2-7,every=1"], "duration_s": 4.0, "competing": ["reno"]}
    instance = simulator.instances(complete_settings(task, given), task.split)[0]
    policies = [check(task.seed_policies()[name], task) for name in ("reno_like", "vegas_like")]
    metrics = simulator.evaluate(policies[0], instance)
    found, between = simulator.findings(policies[0], instance), simulator.compare(*policies, instance)
    assert located(found, instance) == located(simulator.findings(policies[0], instance), instance)
    assert f"power {metrics['power']:.3f}" in found[0].text and f"power {metrics['power']:.3f}" in between[0].text
    lost = round(metrics["loss"] * metrics["sent_packets"])
    tables = [one for one in (*found, *between) if isinstance(one, SmallTable)]
    assert [sum(row[6] for row in table.rows) for table in tables] == [lost] * 4
    for table in tables[:2]:
        assert sum(row[1] for row in table.rows) == pytest.approx(100, abs=0.05)
    assert "Beside it: reno" in simulator.workload(instance)[0].text
