"""The task of moods, with an evaluator that explains itself, of training instances alone."""

from dataclasses import replace
from pathlib import Path

from vulcan.registry import find_task

TASK = replace(
    find_task(str(Path(__file__).parents[1] / "mood_task")),
    name="telling_task",
    evaluator="vulcan_telling_evaluator:TellingEvaluator",
)
