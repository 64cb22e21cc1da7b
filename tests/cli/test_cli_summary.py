"""The final table: how sure the winner's mean is, what it loses on unseen evidence, and what it took to find."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from console import Console
from edited_log import rewrite_log
from locations import few_starts

from vulcan.export.source import policy_source
from vulcan.searches.bootstrap import mean_interval
from vulcan.store.events import HeldOutMeasured

SIZES = ("2%", "4%", "8%", "16%")
TRACE = "zipf:requests=10000,objects=1000,alpha=0.9,seed=3,sizes=lognormal"


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Console, dict[str, Any]]:
    """A search on four cache sizes."""
    vulcan = Console(tmp_path_factory.mktemp("summary"))
    sizes = [part for size in SIZES for part in ("--cache-size", size)]
    plan = ("--budget-candidates", "10", "--executor", "local", "--workers", "1", "--tune", "8", "--simplify", "8")
    return vulcan, vulcan.document("search", "--task", few_starts(), "--trace", TRACE, *sizes, *plan)


def test_each_mean_has_its_interval_over_the_instances(searched: tuple[Console, dict[str, Any]]) -> None:
    vulcan, summary = searched
    shown = vulcan.document("show", summary["run"], str(summary["best"]["candidate"]))
    for split in ("train", "validation", "test"):
        scores = [row["score"] for row in shown["metrics"] if row["split"] == split]
        assert len(scores) == 4
        interval = mean_interval(scores, within=(-1.0, 1.0))
        part = summary[split]
        assert part["interval"] == interval
        assert part["score"] == pytest.approx(sum(scores) / 4)
    assert any(summary[split]["interval"] for split in ("train", "validation", "test"))


def test_every_instance_has_the_one_baseline_and_its_own_bound(searched: tuple[Console, dict[str, Any]]) -> None:
    vulcan, summary = searched
    rows = summary["by_instance"]
    assert [(row["instance"], row["split"]) for row in rows] == [
        (name, split) for split in ("train", "validation", "test") for name in summary[split]["instances"]
    ]
    for split in ("train", "validation", "test"):
        mine = [row for row in rows if row["split"] == split]
        assert sum(row["winner"] for row in mine) / 4 == pytest.approx(summary[split]["score"])
        assert sum(row["best_baseline"]["score"] for row in mine) / 4 == pytest.approx(
            summary[split]["best_baseline"]["score"]
        )
        for row in mine:
            assert row["best_baseline"]["policy"] == summary["validation"]["best_baseline"]["policy"]
            assert row["oracle"]["policy"] in summary[split]["oracles"]
            assert row["oracle"]["score"] > row["best_baseline"]["score"]
    text = vulcan.good("show", summary["run"]).stdout
    work = summary["simplified"]
    assert 0 < work["cost"] < work["evaluations"]  # cuts are tried on part of the training data first
    assert f"{work['evaluations']} evaluations (at the cost of {work['cost']:.3g} full ones), " in text
    for row in rows:
        (line,) = [
            line.split() for line in text.splitlines() if line.split()[:2] == [row["instance"], row["split"]]
            and len(line.split()) == 6
        ]  # fmt: skip
        assert line[2:] == [
            f"{row['winner']:.4f}", f"{row['best_baseline']['score']:.4f}",
            f"{row['oracle']['score']:.4f}", row["oracle"]["policy"],
        ]  # fmt: skip


def test_a_search_ends_with_a_sentence_and_the_policy(searched: tuple[Console, dict[str, Any]]) -> None:
    vulcan, summary = searched
    shown = vulcan.document("show", summary["run"], str(summary["best"]["candidate"]))
    ratios = [row["metrics"]["miss_ratio"] for row in shown["metrics"] if row["split"] == "test"]
    headline = summary["headline"]
    assert headline.startswith(f"{sum(ratios) / 4 * 100:.1f} % misses on held-out data; baseline ")
    starts = summary["validation"]["starts"]
    assert f"; {max(starts, key=lambda name: starts[name])}, the best policy it began with, " in headline
    assert "baseline lru " in headline
    text = vulcan.good("show", summary["run"], "--brief").stdout
    verdict, best = summary["recommendation"]["sentence"], summary["best"]
    is_second = summary["recommendation"]["second"] == best["candidate"]
    named = (
        f"What the search found, candidate {best['candidate']}, which is not recommended: {headline}"
        if is_second
        else f"Candidate {best['candidate']}: {headline}"
    )
    source = best["source"].strip()
    if is_second:
        recommended, found = summary["recommendation"]["policy"].removeprefix("start: "), best["candidate"]
        named += f" Recommended, {recommended} (`vulcan show {summary['run']} {found}` prints what was found):"
        vulcan.good("export", summary["run"], "-o", "advised.py")
        source = policy_source((vulcan.directory / "advised.py").read_text()).strip()
    assert text.split() == [*verdict.split(), *named.split(), *source.split()]
    whole = vulcan.good("show", summary["run"]).stdout
    assert whole.index(headline) < whole.index(source) < whole.index("Mean score")


def test_the_start_decides_nothing_and_a_run_without_it_is_summed_up(searched: tuple[Console, dict[str, Any]]) -> None:
    vulcan, summary = searched
    shutil.copytree(vulcan.directory / summary["run"], vulcan.directory / "runs" / "without")
    file = vulcan.directory / "runs" / "without" / "run.db"
    rewrite_log(file, lambda entry: None if isinstance(entry, HeldOutMeasured) else entry)
    assert ", the best policy it began with, " not in vulcan.document("show", "without")["headline"]


def test_the_end_says_how_to_bound_the_loss_of_what_is_exported(searched: tuple[Console, dict[str, Any]]) -> None:
    vulcan, summary = searched
    last = vulcan.good("resume", summary["run"], "--executor", "local", "--workers", "1").stdout.splitlines()[-1]
    guarded, taken = (f"`vulcan export {summary['run']} --{how} " for how in ("guard", "format"))
    assert (guarded if summary["recommendation"]["kind"] == "candidate" else taken) in last
