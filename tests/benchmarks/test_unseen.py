"""The tables of searches on unseen data."""

from __future__ import annotations

from typing import Any

from benchmarks.unseen import tables


def result(unit: str, verdict: str, gain: float, winner: float) -> dict[str, Any]:
    return {"unit": unit, "verdict": verdict, "gain": gain, "winner": winner, "foresight": max(winner, 0.0)}


def test_verdicts_are_counted_and_sizes_of_a_trace_count_once() -> None:
    better = [result(unit, "better", 0.1, 0.1) for unit in "ab"]
    others = [result("a", "no better", 0.0, -0.3), *(result(unit, "no better", 0.0, -0.1) for unit in "cd")]
    verdicts, means = tables([*better, *others])
    assert [row[:3] for row in verdicts.rows] == [("better", "2", "2 of 2"), ("no better", "3", "0 of 3")]
    recommended, always, foresight = means.rows
    # a: (0.1 + 0) / 2, b: 0.1, c and d: 0
    assert recommended[:2] == ("recommended", "+0.0375") and recommended[3] == "+0.0000"
    assert always[1] == "-0.0500" and always[3] == "-0.3000"
    assert foresight[1] == "+0.0375"
    assert means.note.startswith("5 searches, 4 traces")
