"""What searches with several seeds say together, and that they are found and resumed together."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from console import Console
from locations import TASKS

import vulcan
from vulcan.api import seeds
from vulcan.api.launch import RunSession
from vulcan.documents.report import SeedRow
from vulcan.documents.verdict import ConfidenceInterval, Gain
from vulcan.results.seeds import SeedResult, seeds_document
from vulcan.searches.verdict import RunVerdict

MOOD_TASK = str(TASKS / "mood_task")
FEW = ("--executor", "local", "--workers", "1", "--budget-candidates", "6", "--tune", "0", "--simplify", "0")

OPTIONS: dict[str, Any] = {"executor": "local", "workers": 1, "budget_candidates": 6, "tune": 0, "simplify": 0}


def result(
    seed: int, units: tuple[float, ...], over: float, fingerprint: str = "", conclusion: Any = "better"
) -> SeedResult:
    score = sum(units) / len(units)
    gain = score - over
    interval: ConfidenceInterval = {"low": gain - 0.01, "high": gain + 0.01, "confidence": 0.95}
    over_lru = Gain(
        over="lru",
        kind="baseline",
        split="validation",
        gain=gain,
        shrunk=gain,
        interval=interval,
        units="instances",
        count=len(units),
        recent=gain,
    )
    sentence = {"better": "Better.", "no better": "No better: lru.", "undecided": "Undecided: maybe."}[conclusion]
    verdict = RunVerdict(conclusion, sentence, "candidate", "candidate 9", 9, None, "", (over_lru,))
    row: SeedRow = {
        "seed": seed, "run": f"run-{seed}", "candidate": 9, "train": score, "validation": score, "test": score,
        "verdict": conclusion, "sentence": sentence,
    }  # fmt: skip
    return SeedResult(row, verdict, fingerprint or str(seed), ("lru", over), units)


def test_equal_winners_need_no_correction() -> None:
    found = seeds_document([result(seed, (0.2, 0.3, 0.4, 0.5), 0.3, "same") for seed in (2, 1)])
    assert (found["verdict"], found["best"]) == ("better", "run-1")
    assert found["sentences"] == [
        "The winners' scores on train go from 0.3500 to 0.3500, 0.0000 apart.",
        "The winners' scores on validation go from 0.3500 to 0.3500, 0.0000 apart; the best baseline, lru, has 0.3000.",
        "The 2 winners are the same program.",
        "Best on validation: candidate 9 of run-1 (seed 1), 0.0500 above lru, of which 0.0000 is put down to choosing "
        "the best.",
        "Better, also as the best of 2 seeds: take it with `vulcan export run-1`.",
    ]


def test_the_luckiest_of_several_is_not_called_better() -> None:
    lucky = [result(n, tuple(0.1 + 0.6 * ((n + k) % 4 == 0) + 0.001 * n for k in range(4)), 0.23) for n in range(1, 9)]
    found = seeds_document(lucky)
    assert found["verdict"] == "undecided"
    assert found["sentences"][2] == "The 8 winners are 8 different programs."
    assert found["sentences"][-1] == "Undecided: chosen as the best of 8 seeds, its gain may be chance."


def test_the_verdict_on_the_best_winner_stands() -> None:
    lost = seeds_document([result(n, (0.1, 0.2 + n / 100, 0.3, 0.2), 0.5, conclusion="no better") for n in (1, 2)])
    assert lost["verdict"] == "no better"
    assert lost["sentences"][-2:] == ["Best on validation: candidate 9 of run-2 (seed 2).", "No better: lru."]
    close = seeds_document([result(1, (0.1, 0.2, 0.3, 0.4), 0.2, conclusion="undecided")])
    assert (close["verdict"], close["sentences"][-1]) == ("undecided", "Undecided: maybe.")


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Console, dict[str, Any]]:
    console = Console(tmp_path_factory.mktemp("seeds"))
    return console, console.document("search", "--task", MOOD_TASK, *FEW, "--seed", "3", "--seeds", "2")


def test_each_search_is_that_of_its_seed(searched: tuple[Console, dict[str, Any]]) -> None:
    console, document = searched
    assert [row["seed"] for row in document["seeds"]] == [3, 4]
    assert document["verdict"] in ("better", "no better", "undecided")
    row = document["seeds"][1]
    alone = console.document("search", "--task", MOOD_TASK, *FEW, "--seed", "4")
    assert {split: row[split] for split in ("train", "validation", "test")} == {
        split: None if alone[split] is None else alone[split]["score"] for split in ("train", "validation", "test")
    }
    assert (row["verdict"], row["candidate"]) == (alone["verdict"], alone["best"]["candidate"])


def test_a_finished_series_is_compared_again_by_resuming_it(searched: tuple[Console, dict[str, Any]]) -> None:
    console, document = searched
    there = sorted(path.name for path in (console.directory / "runs").iterdir())
    assert console.document("resume", document["seeds"][0]["run"]) == document
    assert sorted(path.name for path in (console.directory / "runs").iterdir()) == there
    shown = console.good("resume", document["seeds"][1]["run"], "--quiet")
    assert shown.stdout.rstrip().endswith(document["sentences"][-1].split()[-1])
    lines = console.good("resume", document["seeds"][1]["run"], "--progress", "json").stdout.splitlines()
    assert [(line["kind"], line["data"]) for line in map(json.loads, lines)] == [("Ended", document)]


def test_an_interrupted_series_is_resumed_by_its_run(
    searched: tuple[Console, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, document = searched
    search = RunSession.search

    def interrupted(session: RunSession, display: Any) -> Any:
        monkeypatch.undo()
        raise AssertionError(search(session, Stopping(display, after=4)))

    monkeypatch.setattr(seeds.RunSession, "search", interrupted)
    with pytest.raises(KeyboardInterrupt) as stopped:
        vulcan.search_seeds(MOOD_TASK, seeds=2, seed=3, runs_dir=tmp_path, progress="none", **OPTIONS)
    (run,) = tmp_path.iterdir()
    assert stopped.value.__notes__ == [f"nothing is lost: continue with `vulcan resume {run}`"]
    resumed = Console(tmp_path).document("resume", run)
    assert sorted(map(str, tmp_path.glob("*/run.db"))) == sorted(f"{row['run']}/run.db" for row in resumed["seeds"])
    same = ("seed", "candidate", "train", "validation", "test", "verdict")
    assert [[row[name] for name in same] for row in resumed["seeds"]] == [
        [row[name] for name in same] for row in document["seeds"]
    ]


class Stopping:
    """A display that interrupts the search after some events."""

    def __init__(self, display: Any, after: int) -> None:
        self._display, self._left = display, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._display, name)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __call__(self, event: Any) -> None:
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt
        self._display(event)


@pytest.mark.slow
def test_in_python_the_runs_are_returned(tmp_path: Path) -> None:
    found = vulcan.search_seeds(MOOD_TASK, seeds=2, runs_dir=tmp_path, progress="none", **OPTIONS)
    assert [run.config["seed"] for run in found.runs] == list(found.table.index) == [1, 2]
    assert found.best is None or found.best in found.runs
    assert found.table["train"].tolist() == [run.summary["train"]["score"] for run in found.runs]
    assert found.sentences


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--seeds", "2", "--dry-run"), "--seeds goes with none of --replay, --dry-run and --model ask"),
        (("--seeds", "2", "--model", "ask"), "--seeds goes with none of --replay, --dry-run and --model ask"),
        (("--seeds", "1"), "Invalid value for '--seeds': Input should be greater than or equal to 2"),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    refused = Console(tmp_path)("search", "--task", MOOD_TASK, *arguments)
    assert refused.returncode == 2 and message in refused.stderr
    assert not (tmp_path / "runs").exists()


def test_a_report_of_the_runs_says_the_same(searched: tuple[Console, dict[str, Any]]) -> None:
    console, document = searched
    runs = [row["run"] for row in document["seeds"]]
    assert json.loads(console.good("report", *runs, "--format", "json").stdout)["together"] == document
    console.good("report", *runs, "-o", "seeds.html")
    assert "<h2>Together</h2>" in (console.directory / "seeds.html").read_text()


def test_searches_without_winners() -> None:
    one = result(1, (0.5,), 0.5)
    nothing = replace(one, row={**one.row, "candidate": None, "validation": None, "verdict": None}, verdict=None)
    found = seeds_document([nothing, nothing])
    assert (found["best"], found["verdict"], found["sentences"]) == (None, None, ["No search has a winner."])
