"""What searches with several seeds say together."""

from __future__ import annotations

from pathlib import Path

from vulcan.results.seeds import SeedResult, sentences
from vulcan.searches.bootstrap import ConfidenceInterval
from vulcan.searches.verdict import Gain, RunVerdict


def result(seed: int, units: tuple[float, ...], over: float, fingerprint: str = "") -> SeedResult:
    score = sum(units) / len(units)
    gain = score - over
    interval = ConfidenceInterval(gain - 0.01, gain + 0.01, 0.95)
    gains = (Gain("lru", "baseline", "validation", gain, gain, interval, "instances", len(units), gain),)
    verdict = RunVerdict("better", "Better.", "candidate", "candidate 9", 9, 9, True, None, "", gains)
    return SeedResult(seed, Path(f"run-{seed}"), 9, fingerprint or str(seed), score, score, verdict, units)


def test_equal_winners_need_no_correction() -> None:
    told = list(sentences([result(seed, (0.2, 0.3, 0.4, 0.5), 0.3, "same") for seed in (1, 2)]))
    assert told[1] == "The winners' scores on validation go from 0.3500 to 0.3500, 0.0000 apart."
    assert told[2] == "All winners are the same program."
    assert "candidate 9 of run-1 (seed 1), 0.0500 above lru; 0.0000 of that" in told[3]
    assert told[4].startswith("Better, also after the choice among 2 seeds")


def test_the_luckiest_of_several_is_not_called_better() -> None:
    lucky = [result(n, tuple(0.1 + 0.6 * ((n + k) % 4 == 0) + 0.001 * n for k in range(4)), 0.23) for n in range(1, 9)]
    told = list(sentences(lucky))
    assert told[2] == "8 of 8 winners are different programs."
    assert told[-1] == "Undecided: chosen among several seeds, its gain may be chance."


def test_searches_without_winners() -> None:
    nothing = SeedResult(1, Path("run"), None, "", None, None, None, ())
    assert list(sentences([nothing, nothing])) == ["Nothing was held out to choose among the winners by."]
