"""The evaluator: what it measures on, and that its numbers are the simulator's."""

from __future__ import annotations

import pytest

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan_cache.simulate import simulate
from vulcan_cache.simulator import capacity_in_bytes
from vulcan_traces import EMBEDDED, load_trace

TASK = find_task("cache_eviction")
SPEC = "zipf:requests=10000,objects=1500,alpha=0.9,seed=4,sizes=lognormal"
BY_TIME = Split(0.6, 0.2, 0.2)


def settings(**given):
    return complete_settings(TASK, given)


def test_without_a_trace_the_embedded_workloads_are_split_by_workload(evaluator):
    found = evaluator.instances(settings(), BY_TIME)
    assert [i.split for i in found] == [part for part, specs in EMBEDDED.items() for _ in specs]
    assert all(i.parameters["measure_from"] == 0 for i in found)


def test_later_parts_are_entered_with_the_cache_as_it_was_left(evaluator):
    instances = evaluator.instances(settings(trace=[SPEC]), BY_TIME)
    evaluator.prepare(instances)
    lru = check(TASK.seed_policies()["lru"], TASK)
    parts = [evaluator.evaluate(lru, instance) for instance in instances]
    trace = load_trace(SPEC)
    whole = simulate(lru, trace.objects, trace.sizes, trace.footprint // 10)
    assert sum(p["misses"] for p in parts) == whole.misses
    assert sum(p["missed_bytes"] for p in parts) == whole.missed_bytes
    assert sum(p["requests"] for p in parts) == whole.requests == 10000


def test_an_object_of_no_known_size_is_left_out(evaluator, tmp_path):
    file = tmp_path / "zero.csv"
    file.write_text("".join(f"{t},{t % 7},{(t % 7) * 10}\n" for t in range(200)))
    (only,) = evaluator.instances(
        settings(trace=[str(file)], columns="time=1,id=2,size=3", cache_size=["100"]), Split(by="none")
    )
    metrics = evaluator.evaluate(check(TASK.seed_policies()["gdsf"], TASK), only)
    sizes = [(t % 7) * 10 for t in range(200) if t % 7]
    assert (metrics["requests"], metrics["bytes"]) == (len(sizes), sum(sizes))
    assert evaluator.notes(only) == ["zero.csv: 29 requests left out, their object being of no known size"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1000", 1000), ("64KiB", 65536), ("2k", 2048), ("3MB", 3_000_000), ("1.5GiB", 1610612736), ("7 b", 7)],
)
def test_capacities_in_bytes(text, expected):
    assert capacity_in_bytes(text, load_trace(SPEC)) == expected


@pytest.mark.parametrize("text", ["0", "-5%", "0.0", "", "ten", "10 %%", "1e9", "0.0000001%", "5furlongs", "1" * 30])
def test_capacities_that_make_no_sense(text):
    with pytest.raises(UserError, match="cache size"):
        capacity_in_bytes(text, load_trace(SPEC))
