"""What a run came to, for people and as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vulcan.cli.output import number, print_table, say
from vulcan.evaluator import SplitName
from vulcan.search.costs import Costs
from vulcan.store import RunRecord
from vulcan.store.events import VERDICTS

SPLITS: tuple[SplitName, ...] = ("train", "validation", "test")


def document(run: Path, record: RunRecord, costs: Costs) -> dict[str, Any]:
    """The summary of a run as `vulcan search --json` and `vulcan show --json` give it."""
    winner = record.chosen.candidate if record.chosen else None
    chosen = record.candidates.get(winner) if winner else None
    return {
        "run": str(run),
        "task": record.config.get("task"),
        "state": state(record),
        "best": None
        if chosen is None
        else {
            "candidate": chosen.candidate,
            "source": chosen.source,
            "chosen_on": record.chosen and record.chosen.split,
        },
        **{split: _split(record, split, winner) for split in SPLITS},
        "candidates": {verdict: record.verdicts().get(verdict, 0) for verdict in VERDICTS},
        "cost": {
            "calls": costs.calls,
            "tokens_in": costs.tokens_in,
            "tokens_out": costs.tokens_out,
            "dollars": costs.dollars,
            "calls_of_unknown_price": costs.unpriced,
        },
    }


def state(record: RunRecord) -> str:
    """`finished`, `interrupted`, `error`, or `open` where nothing says that it stopped."""
    return record.stopped.reason if record.stopped else "open"


def score_of(record: RunRecord, candidate: int, split: SplitName) -> float | None:
    if split == "train":
        return record.candidates[candidate].score
    confirmed = record.confirmed.get((candidate, split))
    return confirmed.score if confirmed else None


def _split(record: RunRecord, split: SplitName, winner: int | None) -> dict[str, Any] | None:
    if not any(instance.split == split for instance in record.instances):
        return None
    best = record.best_baseline(split)
    return {
        "score": score_of(record, winner, split) if winner else None,
        "instances": [instance.name for instance in record.instances if instance.split == split],
        "best_baseline": None if best is None else {"policy": best.policy, "score": best.score},
        "baselines": {p: b.score for (p, s), b in record.baselines.items() if s == split and b.kind == "baseline"},
        "bounds": {p: b.score for (p, s), b in record.baselines.items() if s == split and b.kind == "bound"},
    }


def print_summary(run: Path, record: RunRecord, costs: Costs) -> None:
    """The scores of the winner beside every baseline, and what came of the candidates."""
    shown = [split for split in SPLITS if any(i.split == split for i in record.instances)]
    rows: list[tuple[str, str, list[float | None]]] = []
    if record.chosen is not None:
        winner = record.chosen.candidate
        scores = [score_of(record, winner, split) for split in shown]
        rows.append((f"candidate {winner}", "candidate", scores))
    names = {policy: event.kind for (policy, _), event in record.baselines.items()}
    for policy, kind in names.items():
        known = [record.baselines.get((policy, split)) for split in shown]
        rows.append((policy, kind, [b.score if b else None for b in known]))
    rows.sort(key=lambda row: -(row[2][-1] if row[2][-1] is not None else -9.0))
    objective = record.config.get("objective", "")
    say(f"\nMean score of objective `{objective}` on each split, higher is better:")
    print_table(
        ("policy", "kind", *shown),
        [(name, kind, *(number(score) for score in scores)) for name, kind, scores in rows],
        [kind == "candidate" for _, kind, _ in rows],
    )
    if shown == ["train"]:
        say("Nothing was held out: these are the scores that the search itself saw.")
    verdicts = ", ".join(f"{n} {verdict}" for verdict in VERDICTS if (n := record.verdicts().get(verdict, 0)))
    say(f"{len(record.candidates)} candidates: {verdicts or 'none'}; model cost {costs.spelled()}")
