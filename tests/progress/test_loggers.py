"""What loggers are told of a search, that none can end it, and how those of other packages are found."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from console import MOOD_TASK
from locations import ROOT

import vulcan
from vulcan.errors import UserError
from vulcan.progress.loggers import make_loggers

EXAMPLE = ROOT / "examples" / "csv_logger.py"
FEW: dict[str, Any] = {
    "executor": "local", "workers": 1, "budget_candidates": 4, "tune": 0, "simplify": 0, "progress": "none", "seed": 3,
}  # fmt: skip


class Notes:
    """A logger that remembers; `fails` is the method that raises."""

    def __init__(self, fails: str = "") -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._fails = fails

    def _note(self, *call: Any) -> None:
        self.calls.append(call)
        if call[0] == self._fails:
            raise ConnectionError("the server is away")

    def begin(self, run: Path, parameters: Mapping[str, Any]) -> None:
        self._note("begin", run, parameters)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._note("log", step, values)

    def end(self, summary: Mapping[str, Any] | None) -> None:
        self._note("end", summary)


def test_a_logger_gets_the_figures_of_a_search_and_a_failing_one_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    notes, broken = Notes(), Notes("log")
    run = vulcan.search(MOOD_TASK, runs_dir=tmp_path, log=[broken, notes], weight=3, **FEW)
    (_, path, parameters), *logged, (last, summary) = notes.calls
    assert path == run.path
    assert (parameters["task"], parameters["seed"], parameters["weight"]) == (MOOD_TASK, 3, 3.0)
    assert not {"settings", "api_base"} & set(parameters)
    steps = [call[1] for call in logged]
    assert steps == sorted(steps)
    scored = run.candidates[run.candidates["verdict"] == "scored"]
    assert [values["score"] for _, _, values in logged if "score" in values] == list(scored["score"])
    assert logged[-2][2]["best"] == scored["score"].max()
    assert logged[-2][2]["verdicts/scored"] == len(scored)
    assert logged[-1][2]["test/winner"] == run.summary["test"]["score"]
    assert all(isinstance(value, float) for _, _, values in logged for value in values.values())
    assert last == "end"
    assert summary == run.summary
    assert len(broken.calls) == 2
    (message,) = [r.message for r in caplog.records if r.name == "vulcan.progress.loggers"]
    assert message == "Notes logs no more of this search: ConnectionError: the server is away"


def test_what_cannot_log_is_told_before_the_search(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no logger 'tensorboard' .*docs/terminal.md"):
        vulcan.search(MOOD_TASK, runs_dir=tmp_path, log="tensorboard:x", **FEW)
    with pytest.raises(UserError, match="begin, log and end"):
        make_loggers([object()])  # type: ignore[list-item]
    assert not list(tmp_path.iterdir())


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The logger of the examples, and the metadata that pip would write for it and for two that are wrong."""
    place = tmp_path / "site"
    (place / "figures-1.0.dist-info").mkdir(parents=True)
    shutil.copy(EXAMPLE, place)
    (place / "figures-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: figures\nVersion: 1.0\n")
    (place / "figures-1.0.dist-info" / "entry_points.txt").write_text(
        "[vulcan.loggers]\ncsv = csv_logger:CsvLogger\ngone = csv_logger:Nothing\nnone = csv_logger:Path\n"
    )
    monkeypatch.syspath_prepend(place)


def test_an_installed_logger_is_named_by_its_entry_point(tmp_path: Path, installed: None) -> None:
    run = vulcan.search(MOOD_TASK, runs_dir=tmp_path / "runs", log=f"csv:{tmp_path / 'all.csv'}", **FEW)
    with open(tmp_path / "all.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["candidate"]) for row in rows] == sorted(int(row["candidate"]) for row in rows)
    assert {int(row["candidate"]) for row in rows} <= set(run.candidates.index)
    scored = run.candidates["score"].dropna()
    assert [float(row["score"]) for row in rows if row["score"]] == list(scored)
    assert float(rows[-1]["best"]) == scored.max()


def test_a_wrong_entry_point_is_told_in_a_line(installed: None) -> None:
    for name, why in (("cvs", "did you mean 'csv'"), ("gone", "does not load"), ("none", "begin, log and end")):
        with pytest.raises(UserError, match=why):
            make_loggers([f"{name}:x"])
