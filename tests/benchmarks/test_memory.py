"""What a run takes of memory for an object, as the layouts say; `benchmarks.memory` bounds a run of many requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.memory import combinations, computed_bytes, measured_bytes

pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks of memory are in /proc")

OBJECTS = 200_000


@pytest.mark.parametrize(
    ("mechanism", "plan"), [("heap", "five statistics"), ("sample", "ghost"), ("queues", "s3_fifo")]
)
def test_an_object_takes_what_the_layouts_add_up_to(mechanism: str, plan: str) -> None:
    computed, measured = (of(mechanism, plan, OBJECTS) for of in (computed_bytes, measured_bytes))
    assert measured == pytest.approx(computed, rel=0.03)  # 4 bytes more are 0.03 to 0.06


def test_admission_and_a_ghost_list_take_nothing_more_and_statistics_what_the_plan_says() -> None:
    plain = computed_bytes("heap", "no statistics", OBJECTS)
    assert computed_bytes("heap, admission", "no statistics", OBJECTS) == plain == 84
    assert computed_bytes("sample", "no statistics", OBJECTS) == 68
    assert computed_bytes("sample", "ghost", OBJECTS) == 66  # half of the objects are in no list of residents
    assert computed_bytes("heap", "one statistic", OBJECTS) == plain + 8
    assert computed_bytes("sample", "window of 64", OBJECTS) == pytest.approx(68 + 8 * 66, abs=1)
    assert {mechanism for mechanism, _ in combinations(quick=True)} == {"heap", "sample", "heap, admission", "queues"}
