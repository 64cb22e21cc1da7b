"""From a search to a policy on disk, as a user goes: every command on the way, and its JSON document."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from console import MOOD_TASK, ZIPF, Console
from locations import few_starts

from vulcan.registry import find_task
from vulcan.store.events import VERDICTS

CACHES = few_starts()
STARTS = find_task(CACHES).seed_policies()
WHERE = ("--task", CACHES, "--trace", ZIPF, "--cache-size", "5%", "--cache-size", "20%")


@pytest.fixture(scope="module")
def journey(tmp_path_factory: pytest.TempPathFactory) -> tuple[Console, dict[str, Any]]:
    """A search of a dozen candidates on a generated trace at two sizes, and its summary."""
    vulcan = Console(tmp_path_factory.mktemp("journey"))
    plan = ("--budget-candidates", "12", "--executor", "local", "--workers", "1", "--tune", "8", "--simplify", "8")
    summary = vulcan.document("search", *WHERE, *plan)
    return vulcan, summary


def query(run: str, directory: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(directory / run / "run.db")) as db:
        return db.execute(sql).fetchall()


def test_a_search_sums_itself_up(journey: tuple[Console, dict[str, Any]]) -> None:
    vulcan, summary = journey
    assert summary["task"] == CACHES
    assert summary["state"] == "finished"
    assert (vulcan.directory / summary["run"] / "run.db").is_file()
    assert set(summary["candidates"]) == set(VERDICTS)
    made = 12 + len(STARTS)
    refined = summary["tuned"]["improved"] + summary["simplified"]["improved"]
    assert sum(summary["candidates"].values()) == made + refined
    assert summary["proposals"] == 12
    assert summary["tuned"]["candidates"] >= 1
    assert summary["simplified"]["candidates"] == 1
    assert summary["cost"] == {
        "calls": 12, "tokens_in": 0, "tokens_out": 0, "dollars": 0.0, "unpriced_calls": 0,
    }  # fmt: skip
    assert summary["best"]["chosen_on"] == "validation"
    for split in ("train", "validation", "test"):
        part = summary[split]
        assert part["interval"] is None  # two instances tell nothing of their spread
        assert len(part["instances"]) == 2
        assert len(part["baselines"]) >= 14
        assert part["baselines"]["fifo"] == 0.0
        assert part["best_baseline"]["score"] == max(part["baselines"].values())
        assert part["best_baseline"]["policy"] not in part["oracles"]
        assert part["oracles"]["belady"] > part["baselines"]["lru"] > 0.0
        assert part["score"] >= part["baselines"]["lru"]


def test_the_run_is_shown_as_the_search_summed_it_up(journey: tuple[Console, dict[str, Any]]) -> None:
    vulcan, summary = journey
    assert vulcan.document("show", summary["run"]) == summary
    name = Path(summary["run"]).name
    assert vulcan.document("show", name) == {**summary, "run": f"runs/{name}"}
    text = vulcan.good("show", name).stdout
    assert summary["best"]["source"].strip() in text
    assert f"candidate {summary['best']['candidate']}" in text
    for baseline in ("belady", "lru", "s3-fifo"):
        assert baseline in text


def test_a_candidate_is_shown_with_its_source_lineage_and_metrics(journey: tuple[Console, dict[str, Any]]) -> None:
    vulcan, summary = journey
    best = summary["best"]["candidate"]
    shown = vulcan.document("show", summary["run"], str(best))
    assert (shown["candidate"], shown["verdict"], shown["source"]) == (best, "scored", summary["best"]["source"])
    assert shown["scores"] == {split: summary[split]["score"] for split in ("train", "validation", "test")}
    assert [row["split"] for row in shown["metrics"]] == ["train"] * 2 + ["validation"] * 2 + ["test"] * 2
    for split, score in shown["scores"].items():
        scores = [row["score"] for row in shown["metrics"] if row["split"] == split]
        assert score == pytest.approx(sum(scores) / 2, abs=1e-12)
    fifo = dict(
        query(
            summary["run"], vulcan.directory,
            "SELECT instance, value FROM baselines WHERE policy = 'fifo' AND split = 'test' AND metric = 'miss_ratio'",
        )
    )  # fmt: skip
    for row in shown["metrics"][4:]:
        ratio = row["metrics"]["miss_ratio"]
        assert row["score"] == pytest.approx((fifo[row["instance"]] - ratio) / fifo[row["instance"]], abs=1e-12)
    sql = "SELECT max(candidates.id) FROM candidates JOIN proposals ON proposals.id = proposal WHERE parents != '[]' "
    (last,) = query(summary["run"], vulcan.directory, sql + "AND candidates.origin = 'model'")[0]
    child = vulcan.document("show", summary["run"], str(last))
    assert child["lineage"][0] == sorted(child["proposal"]["parents"])
    assert child["origin"] == "model"
    assert child["model"] == child["proposal"]["model"] == "offline/evolve"
    text = vulcan.good("show", summary["run"], str(best)).stdout
    assert shown["source"].strip() in text


def test_the_exported_policy_measures_as_the_store_says(journey: tuple[Console, dict[str, Any]]) -> None:
    vulcan, summary = journey
    out = vulcan.directory / "new" / "best.py"
    out.parent.mkdir()
    best = str(summary["best"]["candidate"])
    written = vulcan.document("export", summary["run"], "--candidate", best, "--format", "python", "-o", str(out))
    assert written == {
        "run": summary["run"], "candidate": int(best), "verdict": summary["recommendation"]["sentence"],
        "format": "python", "files": [str(out)],
    }  # fmt: skip
    measured = vulcan.document("eval", str(out), *WHERE, "--part", "test")
    sql = "SELECT instance, value FROM scores WHERE split = 'test' AND metric = 'miss_ratio'"
    stored = dict(query(summary["run"], vulcan.directory, sql))
    own = {r["instance"]: r["miss_ratio"] for r in measured["rows"] if r["kind"] == "candidate"}
    assert own == stored
    assert len(own) == 2
    scores = [r["score"] for r in measured["rows"] if r["kind"] == "candidate"]
    assert summary["test"]["score"] == pytest.approx(sum(scores) / 2, abs=1e-12)
    for name, score in summary["test"]["baselines"].items():
        rows = [r["score"] for r in measured["rows"] if r["policy"] == name]
        assert score == pytest.approx(sum(rows) / 2, abs=1e-12)


def test_runs_are_listed_the_oldest_first(vulcan: Console) -> None:
    assert vulcan.document("runs") == {"runs": []}
    assert vulcan.good("runs").stdout == "no runs in runs\n"
    made = [Path(vulcan.search("--seed", seed, "--budget-candidates", "1")["run"]).name for seed in ("1", "2")]
    rows = vulcan.document("runs")["runs"]
    assert [row["run"] for row in rows] == made
    for row in rows:
        assert (row["task"], row["model"], row["state"]) == (MOOD_TASK, ["offline/evolve"], "finished")
        assert row["candidates"] >= 3
        assert row["test"] is not None
    text = vulcan.good("runs").stdout
    assert text.index(made[0]) < text.index(made[1])


def test_without_a_split_the_tables_say_that_nothing_was_held_out(vulcan: Console) -> None:
    summary = vulcan.search("--split", "none", "--budget-candidates", "2")
    assert summary["validation"] is None
    assert summary["test"] is None
    assert summary["best"]["chosen_on"] == "train"
    assert "Nothing was held out" in vulcan.good("show", summary["run"]).stdout
