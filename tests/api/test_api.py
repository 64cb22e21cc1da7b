"""Vulcan in Python: a search and what it gives, its tables, and mistakes that are told in one line."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from console import MOOD_TASK

import vulcan
from vulcan.api.search import search
from vulcan.registry import find_task
from vulcan.results.report.data import Report, report_document
from vulcan.searches.options import EXECUTION_OPTIONS, OPTIONS, RESUME_OPTIONS
from vulcan.store.events import CandidateJudged, CandidateProposed
from vulcan.store.runs import open_store

FEW: dict[str, Any] = {
    "executor": "local", "workers": 1, "budget_candidates": 6, "tune": 0, "simplify": 0, "progress": "none",
}  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def run(runs: Path) -> vulcan.Run:
    """A search of six candidates on the task of moods."""
    return vulcan.search(MOOD_TASK, seed=3, weight=3, instance=["light", "heavy"], runs_dir=runs, **FEW)


@pytest.fixture(scope="module")
def document(run: vulcan.Run) -> dict[str, Any]:
    """What the report says of it."""
    return report_document(Report.of(run.path), 0.0)


def test_a_search_gives_its_run(run: vulcan.Run, runs: Path) -> None:
    assert run.path.parent == runs
    assert (run.task, run.state, run.config["seed"], run.config["model"]) == (
        MOOD_TASK, "finished", 3, ["offline/evolve"],
    )  # fmt: skip
    assert run.config["settings"]["weight"] == 3.0
    assert run.config["settings"]["instance"] == ["light", "heavy"]
    assert run.summary["proposals"] == 6


# Tables


def plain(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as JSON has them."""
    rows: list[dict[str, Any]] = json.loads(frame.reset_index(drop=frame.index.name is None).to_json(orient="records"))
    return rows


def same(rows: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert len(rows) == len(expected)
    for row, other in zip(rows, expected, strict=True):
        for name, value in other.items():
            assert row[name] == (pytest.approx(value, abs=1e-9) if isinstance(value, float) else value), name


def test_the_tables_say_what_the_report_says(run: vulcan.Run, document: dict[str, Any]) -> None:
    same(plain(run.candidates), document["all_candidates"])
    same(plain(run.candidates), document["progress"])
    scores = [{name: value for name, value in row.items() if name != "metrics"} for row in document["scores"]]
    metrics = [row["metrics"] for row in document["scores"]]
    same(plain(run.scores), [{**row, **measured} for row, measured in zip(scores, metrics, strict=True)])
    same(plain(run.costs), document["models"])
    assert run.failures["verdict"].value_counts().to_dict() == document["failures"]["verdicts"]
    assert len(run.instances) == len(document["by_instance"])
    for row, known in zip(plain(run.instances), document["by_instance"], strict=True):
        assert (row["instance"], row["split"]) == (known["instance"], known["split"])
        assert row["best_baseline_policy"] == known["best_baseline"]["policy"]
        assert row["gap"] == pytest.approx(known["winner"] - known["best_baseline"]["score"], abs=1e-9)


def test_the_metrics_of_a_score_are_those_that_were_measured(run: vulcan.Run) -> None:
    half = run.scores.query("policy == 'half'").set_index(["split", "instance"])["sum"]
    with closing(open_store(run.path)) as store:
        measured = {
            (event.split, name): metrics["sum"]
            for event in store.events()
            if getattr(event, "policy", "") == "half" and hasattr(event, "split")
            for name, metrics in event.metrics  # type: ignore[union-attr]
        }
    assert half.to_dict() == measured


# Candidates


def test_the_best_candidate_is_the_winner(run: vulcan.Run) -> None:
    best = run.best
    assert best.number == run.summary["best"]["candidate"]
    assert best.source == run.summary["best"]["source"]
    assert best.scores == {split: run.summary[split]["score"] for split in ("train", "validation", "test")}
    assert best.verdict == "scored"
    assert best.score == best.scores["train"]
    assert set(best.metrics["split"]) == {"train", "validation", "test"}
    assert {"instance", "score", "sum"} <= set(best.metrics.columns)


# Options


def test_the_options_are_those_of_the_command_line(run: vulcan.Run) -> None:
    from vulcan.cli.search import search as command

    ours, theirs = set(inspect.signature(search).parameters), set(inspect.signature(command).parameters)
    only_there = {"context", "dry_run", "quiet", "as_json"}  # of the terminal
    assert ours - {"settings"} == theirs - only_there
    assert {*OPTIONS, *EXECUTION_OPTIONS} <= ours
    ours = set(inspect.signature(vulcan.Run.resume).parameters)
    assert ours == {"self", *RESUME_OPTIONS, *EXECUTION_OPTIONS, "progress"}


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "no task": ({}, "vulcan.search: name a task, as task='cache_eviction'"),
    "misspelt setting": ({"task": MOOD_TASK, "wieght": 3}, "vulcan.search: no option 'wieght'; did you mean 'weight'?"),
    "wrong type": ({"task": MOOD_TASK, "rounds": "two"}, "vulcan.search: rounds is 'two', which is no whole number"),
    "no executor": ({"task": MOOD_TASK, "executor": "rya"}, "did you mean 'ray'?"),
    "share as a number": (
        {"task": "cache_eviction", "cache_size": 0.1},
        "write it in quotes, as it stands on the command line",
    ),
    "no strategy": ({"task": MOOD_TASK, "strategy": "evovle"}, "did you mean 'evolve'?"),
    "no progress": ({"task": MOOD_TASK, "progress": "loud"}, "no form of progress 'loud'"),
    "replay and more": ({"replay": "x", "seed": 3}, "replay repeats a run as it was: leave out seed"),
    "replay and a task": ({"replay": "x", "task": MOOD_TASK}, "leave out task"),
    "no run to replay": ({"replay": "nosuch"}, "no run 'nosuch'"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_a_user_error_before_anything_is_written(mistake: str, tmp_path: Path) -> None:
    options, says = MISTAKES[mistake]
    with pytest.raises(vulcan.UserError) as raised:
        vulcan.search(**{"progress": "none", "runs_dir": tmp_path / "runs", **options})
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_mistakes_with_a_run(run: vulcan.Run, tmp_path: Path) -> None:
    with pytest.raises(vulcan.UserError, match=r"no run 'nosuch' in .* \(`vulcan runs` lists them\)"):
        vulcan.load("nosuch", tmp_path)
    with pytest.raises(vulcan.UserError, match="has no candidate 99: they go from 1 to"):
        run.candidate(99)
    with pytest.raises(vulcan.UserError, match=r"neither .html nor .json: name the format"):
        run.report(tmp_path / "report.pdf")
    with pytest.raises(vulcan.UserError, match="did you mean 'html'"):
        run.report(tmp_path / "report", format="htm")
    with pytest.raises(vulcan.UserError, match="cannot write"):
        run.report("/proc/nowhere/report.html", seconds=0.0)
    with pytest.raises(vulcan.UserError, match="no export format is called 'pythn'"):
        run.best.export(tmp_path / "x", format="pythn")
    with pytest.raises(vulcan.UserError, match="did you mean 'ray'"):
        run.resume(executor="rya")


# How it is shown


def test_a_run_and_a_candidate_are_shown_in_one_line_and_a_page(run: vulcan.Run) -> None:
    advice = run.summary["recommendation"]
    assert run.verdict == advice["sentence"]
    recommended = f"{advice['policy'].removeprefix('start: ')} is recommended, not candidate {run.best.number}"
    winner = f"candidate {run.best.number} won" if advice["second"] is None else recommended
    assert repr(run) == f"<Run {run.name}: {run.task}, finished, {len(run.candidates)} candidates, {winner}>"
    for split in ("train", "validation", "test"):
        assert f"<td>{run.summary[split]['score']:.4f}</td>" in run._repr_html_()
    assert "def decide" in run.best._repr_html_()
    assert repr(run.best).startswith(f"<Candidate {run.best.number} of {run.name}: scored, score=")


def test_what_a_model_wrote_is_shown_as_text(runs: Path) -> None:
    hostile = runs / "hostile"
    hostile.mkdir()
    from vulcan.store.runs import create_store

    with closing(open_store(max(runs.glob("mood_task-*")))) as known, closing(create_store(hostile)) as store:
        beginning = [event for event in known.events() if not isinstance(event, CandidateProposed | CandidateJudged)][
            :2
        ]
        source = "# <script>alert(1)</script> [bold] \x1b[2J\n"
        bad = CandidateJudged(1, 1, 0, source, None, "rejected", "<b>no</b>", ("name",), None, None, None, None, ())
        store.append(*beginning, CandidateProposed(1, 1, "fresh", (), 0, "<i>toy</i>"), bad)
    run = vulcan.load(hostile)
    page = run.candidate(1)._repr_html_() + run._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert run.failures.loc[1, "feedback"] == "<b>no</b>"
    with pytest.raises(vulcan.UserError, match="has no scored candidate yet"):
        _ = run.best


# Importing


def test_importing_vulcan_loads_nothing_heavy() -> None:
    program = (
        "import sys, vulcan; print(sorted(vulcan.__all__)); print(vulcan.__version__);"
        "print({'search', 'load', 'Run', 'Candidate', 'UserError'} <= set(dir(vulcan)));"
        "print([n for n in ('pandas', 'numpy', 'numba', 'ray', 'typer', 'rich', 'vulcan.api') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    names, version, listed, heavy = done.stdout.splitlines()
    assert names == str(sorted(vulcan.__all__))
    assert (version, listed, heavy) == (vulcan.__version__, "True", "[]")


# Policies by themselves


def test_policies_are_measured_beside_the_baselines_as_in_a_search(run: vulcan.Run, tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(run.best.source, encoding="utf-8")
    settings = {"weight": 3, "instance": ["light", "heavy"]}
    table = vulcan.evaluate([run.best, mine], MOOD_TASK, part="test", **settings)
    known = run.scores[(run.scores["split"] == "test") & (run.scores["kind"] != "candidate")]
    by = ["policy", "kind", "instance"]
    measured = table[table["kind"] != "candidate"].set_index(by)["score"].sort_index()
    pd.testing.assert_series_equal(measured, known.set_index(by)["score"].sort_index())
    means = table[table["kind"] == "candidate"].groupby("policy")["score"].mean()
    assert means.to_dict() == {f"candidate {run.best.number}": run.best.scores["test"], "mine": run.best.scores["test"]}


@pytest.mark.parametrize(
    ("source", "settings", "says"),
    [
        ("import os\n", {}, "rejected: "),
        ("", {"part": "all"}, "part"),
        ("", {"wait": 3}, "wait"),
        ("", {"seed": 3}, "option of a search"),
    ],
)
def test_what_cannot_be_measured_is_an_error_in_a_line(
    tmp_path: Path, source: str, settings: dict[str, Any], says: str
) -> None:
    policy = tmp_path / "mine.py"
    seed = next(iter(find_task(MOOD_TASK).seed_policies().values()))
    policy.write_text(source or seed, encoding="utf-8")
    with pytest.raises(vulcan.UserError, match=says):
        vulcan.evaluate(policy, MOOD_TASK, **settings)
    with pytest.raises(vulcan.UserError, match="name one policy"):
        vulcan.evaluate([], MOOD_TASK)
