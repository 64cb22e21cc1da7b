"""What the tools of a conversation measured is measured once, whichever process asks."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from executors import Watched
from search_parts import INSTANCES, mood, share

from vulcan.errors import UserError
from vulcan.scoring import Executor, Job, Outcome
from vulcan.scoring.remembering_executor import RememberingExecutor

TRAIN = tuple(instance for instance in INSTANCES if instance.split == "train")


def measured(executor: Executor, path: Path, job: Job) -> Outcome:
    """Measure a job, and wait for its line, which is written once the outcome is there."""
    size = path.stat().st_size if path.exists() else 0
    outcome = executor.submit(job).result()
    while not path.exists() or path.stat().st_size == size or not path.read_bytes().endswith(b"\n"):
        time.sleep(0.01)
    return outcome


def test_outcomes_are_read_where_another_process_wrote_them(children: Executor, tmp_path: Path) -> None:
    path = tmp_path / "measured.jsonl"
    jobs = [Job(7, share(1.5), TRAIN, 10.0), Job(8, "def decide(load, room):\n    return", TRAIN, 10.0)]
    jobs += [replace(jobs[0], probe=True), replace(jobs[0], instances=TRAIN[:1])]
    first = [measured(RememberingExecutor(children, path), path, job) for job in jobs]
    assert [one.status for one in first] == ["scored", "rejected", "scored", "scored"]
    inner = Watched(children)
    later = RememberingExecutor(inner, path)
    assert [later.submit(replace(job, id=1)).result() for job in jobs] == [
        replace(one, job=1, seconds=0.0) for one in first
    ]
    assert inner.jobs == []
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(UserError, match="is a link"):
        RememberingExecutor(inner, tmp_path / "link")


def test_what_another_try_may_change_is_measured_again_and_so_is_what_a_damaged_line_had(
    children: Executor, tmp_path: Path
) -> None:
    path, inner = tmp_path / "measured.jsonl", Watched(children)
    job = Job(1, share(1.5), TRAIN, 10.0)
    measured(RememberingExecutor(inner, path), path, job)
    whole = path.read_text()
    for damaged in (whole[: len(whole) // 2], whole.replace('"scored"', '"glorious"'), "[]\nnull\n\xff\n{}\n"):
        path.write_text(damaged)
        assert measured(RememberingExecutor(inner, path), path, job).status == "scored"
    died = replace(job, source=mood(102))
    lines = len(path.read_text().splitlines())
    assert RememberingExecutor(inner, path).submit(died).result().status not in ("scored", "rejected", "failed")
    assert len(path.read_text().splitlines()) == lines
    assert len(inner.jobs) == 5
