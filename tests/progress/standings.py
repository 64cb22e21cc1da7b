"""A search that stands as a test wants it, without being run."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from vulcan.searches.config import SearchConfig
from vulcan.searches.costs import Costs
from vulcan.store import RunRecord
from vulcan.store.events import BaselineMeasured, CandidateJudged, CandidateProposed, Verdict

BASELINES = (
    BaselineMeasured("steady", "baseline", "train", 0.25, ()),
    BaselineMeasured("weak", "baseline", "train", 0.1, ()),
    BaselineMeasured("perfect", "oracle", "train", 0.9, ()),
    BaselineMeasured("elsewhere", "baseline", "test", 0.8, ()),
)


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def a_search(**options: Any) -> Any:
    """What a display reads of a study: its record, counts, costs and configuration."""
    config = SearchConfig(task="any", settings={}, objective="gain", **options)
    return SimpleNamespace(record=RunRecord.of(BASELINES), completed=0, total=50, costs=Costs(), config=config)


def judged(
    study: Any,
    verdict: Verdict = "scored",
    score: float | None = 0.3,
    rules: tuple[str, ...] = (),
    *,
    seed: bool = False,
) -> CandidateJudged:
    """The next candidate, judged so; it counts as settled unless it is one of the task's own policies."""
    number = len(study.record.candidates) + 1
    event = CandidateJudged(
        number, number, 0, "source", None, verdict, "", rules, None, None, None,
        score if verdict == "scored" else None, (), origin="seed" if seed else "model",
    )  # fmt: skip
    study.record.add(CandidateProposed(number, 0 if seed else 1, "fresh", (), 0, "toy"))
    study.record.add(event)
    study.completed += not seed
    return replace(event)
