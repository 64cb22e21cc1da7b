"""What a run's verdict recommends, and how to take it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vulcan.registry import find_task
from vulcan.results.recommended import export_note, how_to_take, known_source
from vulcan.searches.verdict import RunVerdict

TASK = find_task("cache_eviction")
RUN = Path("run-1")


def verdict(policy: str, candidate: int | None = None, second: int | None = 9, kind: Any = "baseline") -> RunVerdict:
    return RunVerdict("no better", "No better.", kind, policy, candidate, second, "", ())


def test_a_recommended_baseline_is_the_tasks_own_policy_of_its_name() -> None:
    source = known_source(TASK, verdict("gdsf"))
    assert source == TASK.seed_policies()["gdsf"]
    assert how_to_take(RUN, TASK, verdict("gdsf")) == "take gdsf with `vulcan export run-1 --format python -o best.py`"
    assert export_note(verdict("gdsf"), None) == (
        " Exported: gdsf in the policy language, the task's own policy; `--candidate 9` exports what the search found."
    )


@pytest.mark.parametrize("second", [9, None])
def test_where_a_baseline_has_no_form_in_the_language_nothing_takes_its_place(second: int | None) -> None:
    unknown = verdict("belady-like", second=second)
    assert known_source(TASK, unknown) is None
    said = how_to_take(RUN, TASK, unknown)
    assert said.startswith("belady-like has no form in the policy language to export")
    assert ("`vulcan export run-1 --format python --candidate 9`" in said) == (second is not None)


def test_what_the_target_cannot_carry_is_not_offered_for_it() -> None:
    heap, queues = verdict("gdsf"), verdict("s3_fifo")
    assert how_to_take(RUN, TASK, heap, "sqlite") == "take gdsf with `vulcan export run-1 --format sqlite`"
    assert known_source(TASK, queues) is not None
    assert how_to_take(RUN, TASK, queues, "sqlite") == (
        "s3_fifo has no form that sqlite carries; "
        "`vulcan export run-1 --format sqlite --candidate 9` writes what it found"
    )
