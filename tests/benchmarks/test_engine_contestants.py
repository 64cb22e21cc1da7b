"""The contestants of the engine's benchmark do the same work: the same policy gives the same misses in each."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.engine_contest import measure
from benchmarks.engine_peers import Peer, libcachesim
from benchmarks.engine_workloads import BY_STATISTICS, LRU, PLAIN, Workload, first, under, workload, zipf
from benchmarks.harness import NotMeasurable
from benchmarks.plain_python import run_plain
from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_cache import simulate

TASK = find_task("cache_eviction")


@pytest.fixture(scope="module")
def on() -> Workload:
    return workload("Zipf", first(zipf(20_000, 2_000), 10_000), 0.1)


def miss_ratio(source: str, on: Workload, mechanism: str = "heap") -> float:
    trace = on.trace
    return simulate(
        check(under(mechanism, source), TASK), trace.objects, trace.sizes, on.capacity, object_count=trace.object_count
    ).miss_ratio


@pytest.mark.parametrize("source", [PLAIN, LRU])
def test_plain_python_misses_as_the_engine_does(on: Workload, source: str) -> None:
    plain = run_plain(source, on.trace.objects.tolist(), on.trace.sizes.tolist(), on.capacity)
    assert plain == miss_ratio(source, on)


@pytest.mark.parametrize("mechanism", ["heap", "sample"])
def test_the_statistics_that_are_measured_change_no_decision(on: Workload, mechanism: str) -> None:
    assert len({miss_ratio(source, on, mechanism) for source in BY_STATISTICS.values()}) == 1


def test_the_plug_in_and_the_native_algorithm_miss_as_the_engine_does(on: Workload, tmp_path: Path) -> None:
    try:
        libcachesim()
    except NotMeasurable as reason:
        pytest.skip(str(reason))
    peer = Peer(on.trace, on.capacity, tmp_path / "trace.oracleGeneral")
    assert peer.plug_in(LRU) == pytest.approx(miss_ratio(LRU, on), abs=2e-4)
    assert peer.native("LRU") == pytest.approx(miss_ratio(LRU, on), abs=2e-4)


def test_the_first_requests_of_a_trace_are_a_trace() -> None:
    whole = zipf(20_000, 2_000)
    part = first(whole, 500)
    assert part.requests == 500 and part.object_count == int(whole.objects[:500].max()) + 1
    assert part.next_access.max() < 500
    assert part.footprint == first(part, 500).footprint


def test_a_task_of_other_policies_is_left_out() -> None:
    with pytest.raises(NotMeasurable, match="spot_single"):
        measure(find_task("spot_single"), quick=True)
