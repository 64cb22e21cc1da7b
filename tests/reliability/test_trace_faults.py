"""A trace that is cut off while it is read: its file, and the mapped columns that are made of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from scoring_toys import TOY_TASK

from vulcan.errors import UserError
from vulcan.evaluator import Instance
from vulcan.scoring import Job, LocalExecutor, Setup, WorkerLost
from vulcan_traces import load_trace
from vulcan_traces.parsing.source import Source
from vulcan_traces.readers import FORMATS

LINES = "".join(f"{number},key{number % 50},100\n" for number in range(4000))
COLUMNS = "time=1,id=2,size=3"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "cache"
    monkeypatch.setenv("VULCAN_CACHE_DIR", str(place))
    return place


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.csv"
    path.write_text(LINES)
    return path


def test_half_a_trace_is_never_taken_for_the_whole(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is cut off between the reading of its digest and the reading of its requests, and then restored."""
    genuine = Source.sha256

    def then_cut(source: Source) -> str:
        digest = genuine(source)
        os.truncate(source.path, LINES.index("\n", len(LINES) // 2) + 1)
        return digest

    monkeypatch.setattr(Source, "sha256", then_cut)
    with pytest.raises(UserError, match=r"trace\.csv was changed while it was read; wait until it is written"):
        load_trace(trace, columns=COLUMNS)
    monkeypatch.setattr(Source, "sha256", genuine)
    trace.write_text(LINES)
    assert load_trace(trace, columns=COLUMNS).requests == 4000
    assert "csv" in FORMATS


def test_a_mapped_trace_that_is_cut_off_is_no_candidates_fault(trace: Path, cache: Path) -> None:
    """The child dies by SIGBUS, as does the next one, or its set-up fails: there is no outcome. Mended, it scores."""
    load_trace(trace, columns=COLUMNS)
    (column,) = cache.rglob("objects.npy")
    whole = column.read_bytes()
    instance = Instance("column", "train", {"kind": "mapped", "prepare": "mapped", "path": str(column)})
    setup = Setup(TOY_TASK, (instance,))
    policy = "def decide(load, room):\n    return min(load, room)\n"
    with LocalExecutor(setup, 1) as executor:
        good = executor.submit(Job(1, policy, (instance,), 30.0)).result()
        assert good.status == "scored"
        os.truncate(column, 4096)
        with pytest.raises((WorkerLost, UserError)):
            executor.submit(Job(2, policy, (instance,), 30.0)).result()
        shutil.copyfile(column, column.with_suffix(".cut"))
        column.write_bytes(whole)
        again = executor.submit(Job(3, policy, (instance,), 30.0)).result()
    assert (again.status, again.metrics) == ("scored", good.metrics)
