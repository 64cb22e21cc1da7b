"""The kernels do what plain Python does, and keep the laws of the model."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from locations import ROOT
from plain_tiering import PlainRanking
from plain_ways import way_of
from stateful_programs import stateful_programs
from tiering_cases import Case, cases, same

from vulcan.anvil import Policy, check
from vulcan.registry import find_task
from vulcan_tiering.machine import QUEUEING, TIERS, Machine
from vulcan_tiering.simulate import KNOWN, AccessSamples, most_accessed, simulate
from vulcan_traces.memory import PageCounts

TASK = find_task("memory_tiering")
HEAD = "def score(now, page, memory):\n"
POLICIES = {
    **TASK.seed_policies(),
    "constant": HEAD + "    return 1\n",
    "newest": HEAD + "    return page.arrival\n",
    "identity": HEAD + "    return (page.id * 7919) % 11\n",
    "zeros": HEAD + "    return -0.0 if page.id % 2 else 0.0\n",
    "huge": HEAD + "    return (page.accesses - 2) * 1e308 * 10 ** page.id\n",
    "restless": HEAD + "    return -page.fast\n",
    "careful": HEAD
    + "    kept = 1.3 if page.fast else 1\n"
    + "    young = now - page.moved < 2\n"
    + "    return page.reads.ewma(0.4) * kept + page.writes.avg() + 3 * young\n",
    "bandwidth": HEAD
    + "    return page.reads * memory.slow_latency / memory.fast_latency + page.writes * memory.slow_bandwidth"
    + " / memory.fast_bandwidth + memory.fast_share * page.last_access - memory.migrations / memory.pages\n",
    "percentiles": HEAD
    + "    share = memory.fast_capacity / memory.pages\n"
    + "    return page.accesses > memory.accesses.percentile(0.75) or page.fast * share\n",
    "intervals": HEAD
    + "    busy = memory.slow_bandwidth.ewma(0.5) > memory.slow_bandwidth.recent(3)\n"
    + "    return page.accesses.ewma(0.3) * (1 + busy) + memory.fast_share.window_avg(2) * page.writes\n",
    "windows": HEAD
    + "    return page.accesses.window_avg(3) + page.accesses.window_percentile(0.5, 4) + page.accesses.recent(2)\n",
}
CHECKED = {name: check(source, TASK) for name, source in POLICIES.items()}
WAYS = [name for name in KNOWN if name != "omniscient"]


STATEFUL = list(stateful_programs(TASK, Random(4), examples(72)))
REGRESSION = check((ROOT / "benchmarks" / "policies" / "tiering_regression.py").read_text(encoding="utf-8"), TASK)
PROGRAMS = st.one_of(st.sampled_from(list(CHECKED.values())), st.sampled_from(STATEFUL), st.just(REGRESSION))


@settings(max_examples=examples(540))
@given(case=cases(), policy=PROGRAMS)
def test_policies_run_as_in_plain_python(case: Case, policy: Policy) -> None:
    memory = case.plain()
    memory.run(PlainRanking(policy, memory), case.first, case.last)
    same(simulate(policy, case.counts, case.samples, case.capacity, **case.arguments()), memory)


@settings(max_examples=examples(240))
@given(case=cases(), name=st.sampled_from(WAYS))
def test_known_ways_run_as_in_plain_python(case: Case, name: str) -> None:
    memory = case.plain()
    if name == "static-oracle":
        chosen = most_accessed(case.counts, case.capacity, case.first, case.last)
        memory.place = lambda page: page in chosen
    memory.run(way_of(name, memory), case.first, case.last)
    same(simulate(name, case.counts, case.samples, case.capacity, **case.arguments()), memory)


@settings(max_examples=examples(300))
@given(case=cases(), name=st.sampled_from(sorted(POLICIES)))
def test_as_many_pages_rise_as_fall(case: Case, name):
    result = simulate(
        CHECKED[name], case.counts, case.samples, case.capacity, **{**case.arguments(), "measure_from": 0}
    )
    assert result.promotions == result.demotions  # a page is only in the slow tier where the fast one is full
    assert result.migrations <= case.limit * (case.last - 1) * case.weight
    assert result.accesses == case.weight * int(
        case.counts.loads[: case.last].sum(dtype=np.int64) + case.counts.stores[: case.last].sum(dtype=np.int64)
    )


@settings(max_examples=examples(200))
@given(case=cases(), name=st.sampled_from(sorted(POLICIES)))
def test_with_all_pages_fast_the_time_is_ideal(case: Case, name):
    """Of one tier the model is a quadratic equation: (T - base - idle) (T - busy) = q idle busy."""
    arguments = case.arguments()
    result = simulate(CHECKED[name], case.counts, case.samples, case.counts.pages, **arguments)
    m, counts = case.machine, case.counts
    ideal = 0.0
    for i in range(case.first, case.last):
        loads, stores = (case.weight * float(table[i].sum()) for table in (counts.loads, counts.stores))
        base = counts.compute / m.threads * loads
        idle = loads * m.fast.latency / (m.threads * counts.overlap)
        busy = 64 * (loads / m.fast.read + stores / m.fast.write)
        a, b = base + idle, busy
        root = math.sqrt((a - b) ** 2 + 4 * QUEUEING * idle * busy)
        ideal += (a + b + root) / 2
    assert result.seconds == pytest.approx(ideal * 1e-9, rel=1e-12)
    assert result.migrations == result.slow_bytes == 0
    assert result.hits == result.accesses


@settings(max_examples=examples(200))
@given(case=cases(), name=st.sampled_from(sorted(POLICIES)))
def test_nothing_beats_the_omniscient_bound(case: Case, name):
    least = simulate("omniscient", case.counts, case.samples, case.capacity, **case.arguments())
    found = [simulate(CHECKED[name], case.counts, case.samples, case.capacity, **case.arguments())]
    found += [simulate(way, case.counts, case.samples, case.capacity, **case.arguments()) for way in WAYS]
    for result in found:
        assert least.seconds <= result.seconds
        assert least.hits >= result.hits
        assert least.slow_bytes <= result.slow_bytes


@settings(max_examples=examples(60))
@given(case=cases())
def test_the_bound_is_reached_where_all_pages_fit(case: Case):
    """Without stores it is the model's own time, so that it cannot be too low by much."""
    counts = replace(case.counts, stores=np.zeros_like(case.counts.stores))
    machine = Machine(TIERS["dram"], TIERS["nvm"])
    arguments = {**case.arguments(), "machine": machine}
    least = simulate("omniscient", counts, case.samples, counts.pages, **arguments)
    ideal = simulate("first-touch", counts, case.samples, counts.pages, **arguments)
    assert least.seconds <= ideal.seconds
    assert least.seconds >= ideal.seconds * 0.6


def counts_of(loads, stores=None, **changes):
    loads = np.array(loads, np.uint32)
    stores = np.zeros_like(loads) if stores is None else np.array(stores, np.uint32)
    arrivals = np.argmax((loads != 0) | (stores != 0), axis=0).astype(np.int32)
    plain = PageCounts("hand", "hand", 4096, loads, stores, arrivals, overlap=1.0, compute=0.0)
    return replace(plain, **changes)


QUIET = Machine(replace(TIERS["dram"], read=1e12, write=1e12), replace(TIERS["cxl"], read=1e12, write=1e12), 1, 0.0)
"""Of endless bandwidth, so that only latency counts."""


def test_migrations_take_bandwidth_of_both_tiers_and_stall():
    counts = counts_of([[100, 90], [90, 100], [100, 90]])
    samples = AccessSamples(counts.loads, counts.stores)
    still = simulate(CHECKED["constant"], counts, samples, 1, migration_limit=2, machine=QUIET)
    times = {}
    for what, machine in {
        "nothing": QUIET,
        "stall": replace(QUIET, migration_stall=500.0),
        "fast": replace(QUIET, fast=replace(QUIET.fast, read=1.0, write=1.0)),
        "slow": replace(QUIET, slow=replace(QUIET.slow, read=1.0, write=1.0)),
    }.items():
        moving = simulate(CHECKED["latest"], counts, samples, 1, migration_limit=2, machine=machine)
        held = simulate(CHECKED["latest"], counts, samples, 1, migration_limit=0, machine=machine)
        assert (moving.migrations, held.migrations) == (2, 0)
        times[what] = (moving.seconds - held.seconds) * 1e9
    assert still.migrations == 0
    gained = times["nothing"]
    assert times["stall"] == pytest.approx(gained + 2 * 500, rel=1e-9)
    assert times["fast"] > gained + 100  # 8 KiB at 1 GB/s are 8,192 ns that the tier is busy
    assert times["slow"] > gained + 100
