"""The summary of a run: its winner on each split compared with baselines and bounds, and the cost of the search."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

from vulcan.documents.run import (
    ControlResult,
    InstanceScores,
    IntervalDocument,
    ModelCost,
    PolicyScore,
    Refinement,
    RunDocument,
    ScoresBySplit,
    SplitScores,
    Winner,
)
from vulcan.evaluator import BaselineKind, SplitName
from vulcan.registry import find_task
from vulcan.searches.costs import Costs
from vulcan.searches.evidence import SPLITS, find_objective, make_scorer
from vulcan.searches.scorer import Scorer
from vulcan.store import RunRecord
from vulcan.store.events import VERDICTS, InstanceMetrics

if TYPE_CHECKING:
    from vulcan.searches.bootstrap import ConfidenceInterval


def state_of(record: RunRecord) -> Literal["finished", "interrupted", "error", "open"]:
    """Return `finished`, `interrupted`, `error`, or `open` where no stop is recorded."""
    return record.stopped.reason if record.stopped else "open"


def score_of(record: RunRecord, candidate: int, split: SplitName) -> float | None:
    """Return a candidate's mean objective on a split; None where it was not measured there, or failed."""
    if split == "train":
        return record.candidates[candidate].score
    confirmed = record.confirmed.get((candidate, split))
    return confirmed.score if confirmed else None


def metrics_of(record: RunRecord, candidate: int, split: SplitName) -> InstanceMetrics:
    """Return a candidate's metrics on each instance of a split; empty where it has no score there."""
    if score_of(record, candidate, split) is None:
        return ()
    return record.candidates[candidate].metrics if split == "train" else record.confirmed[candidate, split].metrics


def mean_metrics(metrics: InstanceMetrics, names: Sequence[str]) -> list[float | None]:
    """Return the mean over instances of each of these metrics; None for one that some instance lacks."""
    every = [dict(of) for _, of in metrics]
    return [fmean(of[name] for of in every) if every and all(name in of for of in every) else None for name in names]


def gap(record: RunRecord, candidate: int | None, split: SplitName) -> float | None:
    """Return the generalization gap: the score on `train` minus that on a held-out split."""
    if candidate is None:
        return None
    seen, unseen = score_of(record, candidate, "train"), score_of(record, candidate, split)
    return None if seen is None or unseen is None else seen - unseen


def proposals(record: RunRecord) -> int:
    """Count the completed proposals (candidates or advice) of the search."""
    return sum(p.round > 0 for p in record.proposals.values())


def refined(record: RunRecord, by: str) -> Refinement:
    """Count the candidates that the search refined itself, the evaluations this took, and the improvements."""
    done = [r for r in record.refined if r.by == by]
    improved = sum(r.result is not None for r in done)
    return {"candidates": len(done), "evaluations": sum(r.evaluations for r in done), "improved": improved}


Named = tuple[str, float]
"""A policy's name and its score."""


@dataclass(frozen=True, slots=True)
class InstanceComparison:
    """The scores on one instance of the winner, the best baseline and the best bound."""

    instance: str
    split: SplitName
    winner: float | None
    best_baseline: Named | None
    bound: Named | None


def run_document(run: Path, record: RunRecord, costs: Costs) -> RunDocument:
    """Return the summary of a run. Raises UserError where its task is not found."""
    winner = record.chosen.candidate if record.chosen else None
    scorer = scorer_of(record)
    return {
        "run": str(run),
        "task": record.config.get("task"),
        "state": state_of(record),
        "headline": headline(run, record),
        "best": None if winner is None else _best(record, winner),
        "train": _split(record, scorer, "train", winner),
        "validation": _split(record, scorer, "validation", winner),
        "test": _split(record, scorer, "test", winner),
        "gap": {"validation": gap(record, winner, "validation"), "test": gap(record, winner, "test")},
        "by_instance": [_compared(row) for row in compare_instances(record, scorer)],
        "control": None if record.control is None else _control(record),
        "proposals": proposals(record),
        "candidates": {verdict: record.verdicts().get(verdict, 0) for verdict in VERDICTS},
        "tuned": refined(record, "tuned"),
        "simplified": refined(record, "simplified"),
        "cost": model_cost(costs),
    }


START = "start.json"
"""In a run's directory: the policy that the search began with, on the split test, where the winner was measured too."""


def start_document(candidate: int, name: str, metrics: InstanceMetrics) -> dict[str, Any]:
    """Return the content of the file START."""
    return {"candidate": candidate, "policy": name, "metrics": {instance: dict(of) for instance, of in metrics}}


def _start(run: Path) -> tuple[str, InstanceMetrics] | None:
    """Return the name and metrics on test of the policy that the search began with; None where they are not known."""
    try:
        plain = json.loads((run / START).read_text(encoding="utf-8"))
        return str(plain["policy"]), tuple((name, dict(of)) for name, of in plain["metrics"].items())
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return None


def headline(run: Path, record: RunRecord) -> str | None:
    """Return the result of a search in a sentence: the winner's metric on test, and that of others; None without one.

    Where nothing is held out it is about train. Raises UserError where the task is not found.
    """
    if record.chosen is None:
        return None
    winner = record.chosen.candidate
    held_out = any(instance.split == "test" for instance in record.instances)
    split: SplitName = "test" if held_out else "train"
    own = metrics_of(record, winner, split)
    if not own:
        return None
    objective = find_objective(find_task(record.config["task"]), record.config["objective"])

    def mean(metrics: InstanceMetrics) -> str:
        return objective.spelled(fmean(dict(of)[objective.metric] for _, of in metrics))

    others: list[str] = []
    best = record.best_baseline(split)
    if best is not None:
        others.append(f"baseline {best.policy} {mean(best.metrics)}")
    if held_out and (start := _start(run)) is not None:
        others.append(f"{start[0]}, the policy it began with, {mean(start[1])}")
    for name in objective.usual:
        known = record.baselines.get((name, split))
        if known is not None and (best is None or best.policy != name):
            others.append(f"baseline {name} {mean(known.metrics)}")
    value = fmean(dict(of)[objective.metric] for _, of in own)
    watched = zip(objective.beside, mean_metrics(own, objective.beside), strict=True)
    besides = "".join(f", {known:.4g} {name.replace('_', ' ')}" for name, known in watched if known is not None)
    where = "held-out data" if held_out else "the data that was searched on"
    text = (
        f"{objective.spelled(value, label=True)}{besides and f'{besides},'} on {where}" + "; ".join(["", *others]) + "."
    )
    if record.proposals[record.candidates[winner].proposal].round == 0:
        text += " No proposal was better than what the search began with."
    return text


def model_cost(costs: Costs) -> ModelCost:
    """Return the number and cost of model calls."""
    return {
        "calls": costs.calls,
        "tokens_in": costs.tokens_in,
        "tokens_out": costs.tokens_out,
        "dollars": costs.dollars,
        "unpriced_calls": costs.unpriced,
    }


def scorer_of(record: RunRecord) -> Scorer | None:
    """Return the scorer of a run; None before it has instances. Raises UserError where its task is not found."""
    if not record.instances:
        return None
    return make_scorer(find_objective(find_task(record.config["task"]), record.config["objective"]), record)


def interval_of(
    record: RunRecord, scorer: Scorer | None, candidate: int, split: SplitName
) -> ConfidenceInterval | None:
    """Return the bootstrap interval of the mean objective over instances; None for too few of them."""
    metrics = metrics_of(record, candidate, split)
    if scorer is None or not metrics:
        return None
    from vulcan.searches.bootstrap import mean_interval  # imports numpy, which `vulcan runs` does not need

    return mean_interval([scorer.on_instance(split, name, measured) for name, measured in metrics])


def compare_instances(record: RunRecord, scorer: Scorer | None) -> Iterator[InstanceComparison]:
    """Yield the winner, best baseline and best bound on every instance, split by split, winner or not."""
    for split in SPLITS if scorer is not None else ():
        assert scorer is not None
        winner = record.chosen.candidate if record.chosen else None
        own = dict(metrics_of(record, winner, split)) if winner is not None else {}
        for instance in scorer.of(split):
            name = instance.name
            yield InstanceComparison(
                instance=name,
                split=split,
                winner=scorer.on_instance(split, name, own[name]) if name in own else None,
                best_baseline=_best_known(record, scorer, split, name, "baseline"),
                bound=_best_known(record, scorer, split, name, "bound"),
            )


def _best_known(record: RunRecord, scorer: Scorer, split: SplitName, instance: str, kind: BaselineKind) -> Named | None:
    """Return the best known policy of a kind on an instance, with its score; of equals the first."""
    known = [
        (policy, scorer.on_instance(split, instance, dict(event.metrics)[instance]))
        for (policy, where), event in record.baselines.items()
        if where == split and event.kind == kind
    ]
    return max(known, key=lambda named: named[1], default=None)


def _best(record: RunRecord, winner: int) -> Winner:
    chosen = record.candidates[winner]
    return {
        "candidate": chosen.candidate,
        "source": chosen.source,
        "chosen_on": record.chosen.split if record.chosen else None,
        "origin": chosen.origin,
        "derived_from": chosen.derived_from,
    }


def _split(record: RunRecord, scorer: Scorer | None, split: SplitName, winner: int | None) -> SplitScores | None:
    if not any(instance.split == split for instance in record.instances):
        return None
    best = record.best_baseline(split)
    interval = None if winner is None else interval_of(record, scorer, winner, split)
    return {
        "score": score_of(record, winner, split) if winner is not None else None,
        "interval": interval_document(interval),
        "instances": [instance.name for instance in record.instances if instance.split == split],
        "best_baseline": None if best is None else {"policy": best.policy, "score": best.score},
        "baselines": {p: b.score for (p, s), b in record.baselines.items() if s == split and b.kind == "baseline"},
        "bounds": {p: b.score for (p, s), b in record.baselines.items() if s == split and b.kind == "bound"},
    }


def interval_document(interval: ConfidenceInterval | None) -> IntervalDocument | None:
    """Return an interval as JSON, or None."""
    if interval is None:
        return None
    return {"low": interval.low, "high": interval.high, "confidence": interval.confidence}


def _compared(row: InstanceComparison) -> InstanceScores:
    return {
        "instance": row.instance,
        "split": row.split,
        "winner": row.winner,
        "best_baseline": _named(row.best_baseline),
        "bound": _named(row.bound),
    }


def _named(known: Named | None) -> PolicyScore | None:
    return None if known is None else {"policy": known[0], "score": known[1]}


def _control(record: RunRecord) -> ControlResult:
    assert record.control is not None
    scores = dict(record.control.scores)
    return {
        "strategy": "best-of-n",
        "candidates": record.control.candidates,
        "source": record.control.source,
        "scores": {"train": scores.get("train"), "validation": scores.get("validation"), "test": scores.get("test")},
    }


def scores_by_split(record: RunRecord, candidate: int) -> ScoresBySplit:
    """Return a candidate's mean objective on each split."""
    return {
        "train": score_of(record, candidate, "train"),
        "validation": score_of(record, candidate, "validation"),
        "test": score_of(record, candidate, "test"),
    }
