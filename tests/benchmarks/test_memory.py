"""What a run takes of memory: as the layouts say for an object, and little more than two columns for a request."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.memory import combinations, computed_bytes, measured_bytes, watched_run, write_large_trace

pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks of memory are in /proc")

OBJECTS = 200_000
BYTES_A_REQUEST = {"child": 8.0, "search": 8.0}
"""Of the columns that are read; the search's own process adds up sizes once, to know the footprint."""

BYTES_AN_OBJECT = {"child": 68.0 + 8.0, "search": 48.0}
"""Records, places and keys; in the search's process the table of ids, their keys and where each was seen last."""


@pytest.mark.parametrize(
    ("mechanism", "plan"), [("heap", "five statistics"), ("sample", "ghost"), ("queues", "s3_fifo")]
)
def test_an_object_takes_what_the_layouts_add_up_to(mechanism: str, plan: str) -> None:
    computed, measured = (of(mechanism, plan, OBJECTS) for of in (computed_bytes, measured_bytes))
    assert measured == pytest.approx(computed, rel=0.08)  # another column would be a tenth; pages are let go at times


def test_admission_and_a_ghost_list_take_nothing_more_and_statistics_what_the_plan_says() -> None:
    plain = computed_bytes("heap", "no statistics", OBJECTS)
    assert computed_bytes("heap, admission", "no statistics", OBJECTS) == plain == 84
    assert computed_bytes("sample", "ghost", OBJECTS) == computed_bytes("sample", "no statistics", OBJECTS) == 68
    assert computed_bytes("heap", "one statistic", OBJECTS) == plain + 8
    assert computed_bytes("sample", "window of 64", OBJECTS) == pytest.approx(68 + 8 * 66, abs=1)
    assert {mechanism for mechanism, _ in combinations(quick=True)} == {"heap", "sample", "heap, admission", "queues"}


@pytest.mark.slow
def test_five_million_requests_stay_below_a_bound_for_each_request_and_object(tmp_path: Path) -> None:
    """Beside a small run, which has Python, LLVM and the kernels in memory too."""
    many = 5_000_000
    grown: dict[str, list[float]] = {}
    for requests, objects in ((50_000, 10_000), (many, many // 5)):
        file = tmp_path / f"{requests}.oracleGeneral"
        write_large_trace(file, requests, objects)
        found = watched_run(file, "sample", "no statistics", tmp_path / "cache")
        assert found["requests"] == requests
        for process in BYTES_A_REQUEST:
            grown.setdefault(process, []).append(found["peak_bytes"][process])
    for process, (least, most) in grown.items():
        bound = (many - 50_000) * BYTES_A_REQUEST[process] + many // 5 * BYTES_AN_OBJECT[process] + (48 << 20)
        assert (most - least) / bound < 1, (process, most - least, bound)
