"""What searches with several seeds say together."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from console import MOOD_TASK, Console

from vulcan.documents.report import SeedRow
from vulcan.documents.run import ConfidenceInterval, Gain
from vulcan.results.seeds import SeedResult, seeds_document
from vulcan.searches.verdict import RunVerdict
from vulcan.store.events import BaselineMeasured

FEW = ("--executor", "local", "--workers", "1", "--budget-candidates", "6", "--tune", "0", "--simplify", "0")


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
    return SeedResult(
        row, verdict, fingerprint or str(seed), BaselineMeasured("lru", "baseline", "validation", over, ()), units
    )


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


def test_a_report_of_several_seeds_says_what_they_say_together(tmp_path: Path) -> None:
    console = Console(tmp_path)
    alone = [console.document("search", "--task", MOOD_TASK, *FEW, "--seed", seed) for seed in ("3", "4")]
    runs = [found["run"] for found in alone]
    document = json.loads(console.good("report", *runs, "--format", "json").stdout)["together"]
    assert [row["seed"] for row in document["seeds"]] == [3, 4]
    for row, found in zip(document["seeds"], alone, strict=True):
        assert (row["verdict"], row["candidate"]) == (found["verdict"], found["best"]["candidate"])
        for split in ("train", "validation", "test"):
            assert row[split] == (None if found[split] is None else found[split]["score"])
    console.good("report", *runs, "-o", "seeds.html")
    assert "<h2>Together</h2>" in (tmp_path / "seeds.html").read_text()


def test_searches_without_winners() -> None:
    one = result(1, (0.5,), 0.5)
    nothing = replace(one, row={**one.row, "candidate": None, "validation": None, "verdict": None}, verdict=None)
    found = seeds_document([nothing, nothing])
    assert (found["best"], found["verdict"], found["sentences"]) == (None, None, ["No search has a winner."])
