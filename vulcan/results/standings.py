"""The policies of a run beside one another: its best, those that it began with, known policies and oracles."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from vulcan.evaluator import SplitName
from vulcan.searches.evidence import SPLITS
from vulcan.searches.verdict import Comparison
from vulcan.store import RunRecord

T = TypeVar("T")

NO_BOUND = "oracle, no bound"
"""What an oracle is called that a baseline is above."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A policy with its mean score on each split; `kind` is one of candidate, baseline, oracle and start."""

    policy: str
    kind: str
    candidate: int | None
    scores: Mapping[SplitName, float | None]


def standings(record: RunRecord, compared: Comparison | None, best: int | None) -> list[Standing]:
    """Return all policies, sorted by their score on the last split that `best` is measured on, the highest first."""
    found = []
    if best is not None:
        scores = {split: record.score_of(best, split) for split in SPLITS}
        found.append(Standing(f"candidate {best}", "candidate", best, scores))
    if compared is not None and best is not None:
        for start, name in compared.starts.items():
            means = {split: compared.mean(start, split) for split in SPLITS}
            found.append(Standing(f"start: {name}", "start", start, means))
    measured = [split for split in SPLITS if any(instance.split == split for instance in record.instances)]
    scored = [split for split in measured if best is None or record.score_of(best, split) is not None]
    last = (scored or measured or ["train"])[-1]
    rival = record.best_baseline(last)
    for policy, kind in {policy: event.kind for (policy, _), event in record.baselines.items()}.items():
        known = {split: event.score for (name, split), event in record.baselines.items() if name == policy}
        is_none = kind == "oracle" and rival is not None and known.get(last, rival.score) < rival.score
        found.append(Standing(policy, NO_BOUND if is_none else kind, None, known))
    return sorted(found, key=lambda line: math.inf if (score := line.scores.get(last)) is None else -score)


def distinct(rows: Sequence[T], cells: Callable[[T], Sequence[str]]) -> tuple[list[T], str]:
    """Return one of the rows with the same figures, a baseline if there is one, and a sentence on those left out.

    The cells of a row are its policy, kind and figures. Candidates stay.
    """
    groups: dict[Sequence[str], list[T]] = {}
    for row in rows:
        policy, kind, *figures = cells(row)
        groups.setdefault((policy if kind == "candidate" else "", *figures), []).append(row)
    equal = "; ".join(" = ".join(cells(row)[0] for row in group) for group in groups.values() if len(group) > 1)
    shown = [next((row for row in group if cells(row)[1] == "baseline"), group[0]) for group in groups.values()]
    return shown, f"Equal in every digit: {equal}." if equal else ""


def distinct_standings(lines: Sequence[Standing], splits: Sequence[SplitName]) -> tuple[list[Standing], str]:
    """Return the policies that differ in a digit that is shown, and a sentence on the others."""

    def cells(line: Standing) -> list[str]:
        scores = [line.scores.get(split) for split in splits]
        return [line.policy, line.kind, *("-" if score is None else f"{score:.4f}" for score in scores)]

    return distinct(lines, cells)
