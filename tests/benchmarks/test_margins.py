"""Margins are measured on workloads that no search has seen, with the policies that the docs name."""

import pytest

from benchmarks.margins import FORMS, FOUND, HUGE_PAGES, POLICIES, fresh_workloads
from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_tiering import simulate
from vulcan_tiering.baselines.run import run_baseline
from vulcan_tiering.simulate import sample_accesses
from vulcan_traces.memory import MEMORY_WORKLOADS, load_page_counts
from vulcan_traces.memory.workloads import parse_workload

TASK = find_task("memory_tiering")


def test_fresh_workloads_are_the_same_every_time_and_none_of_the_task():
    drawn = fresh_workloads()
    assert drawn == fresh_workloads()
    parsed = [parse_workload(spec) for spec in drawn]
    assert len({workload.name for workload in parsed}) == len(parsed) == 32
    assert sum(HUGE_PAGES in spec for spec in drawn) == 12
    known = [parse_workload(spec) for parts in MEMORY_WORKLOADS.values() for some in parts.values() for spec in some]
    assert not {workload.values["seed"] for workload in parsed} & {workload.values["seed"] for workload in known}


@pytest.mark.parametrize(
    ("name", "moves"),
    [
        pytest.param(FORMS["tiering"], 60_000, id="the form where the hot set moves every five intervals"),
        pytest.param(FORMS["tiering"], 0, id="the form where it stays"),
        pytest.param(FOUND["tiering"], 60_000, id="the winner where it moves"),
    ],
)
def test_the_form_and_the_winner_are_ahead_of_arms_on_updates_of_a_hot_set(name, moves):
    policy = check((POLICIES / f"{name}.py").read_text(encoding="utf-8"), TASK)
    counts = load_page_counts(f"gups:pages=1200,hot_pages=100,intervals=40,loads=12000,updates_a_move={moves},seed=4")
    samples = sample_accesses(counts, 8, 1)
    own = simulate(policy, counts, samples, 120, migration_limit=60).seconds
    arms = run_baseline("arms", counts, samples, 120, migration_limit=60).seconds
    assert own < arms
