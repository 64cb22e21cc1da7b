"""The summary of a run: its winner beside what was known, baselines and oracles, and the cost of the search."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal, TypeVar

from vulcan.documents.run import (
    ConfidenceInterval,
    InstanceScores,
    ModelCost,
    PolicyScore,
    Recommendation,
    Refinement,
    RunDocument,
    SplitScores,
    Winner,
)
from vulcan.errors import UserError
from vulcan.evaluator import SplitName
from vulcan.registry import recorded_task
from vulcan.searches.costs import Costs
from vulcan.searches.evidence import SPLITS, find_objective, make_scorer
from vulcan.searches.held_out import start_names
from vulcan.searches.resumption import describe_changes
from vulcan.searches.scorer import Scorer
from vulcan.searches.strategies import page_of
from vulcan.searches.verdict import Comparison, RunVerdict, verdict_of
from vulcan.store import RunRecord, Store
from vulcan.store.events import VERDICTS, BaselineMeasured, InstanceMetrics
from vulcan.store.sqlite import DamagedRun

log = logging.getLogger(__name__)


def state_of(record: RunRecord) -> Literal["finished", "interrupted", "error", "open"]:
    """Return `finished`, `interrupted`, `error`, or `open` where no stop is recorded."""
    return record.stopped.reason if record.stopped else "open"


def metrics_of(record: RunRecord, candidate: int, split: SplitName) -> InstanceMetrics:
    """Return a candidate's metrics on each instance of a split; empty where it has no score there."""
    if record.score_of(candidate, split) is None:
        return ()
    return record.candidates[candidate].metrics if split == "train" else record.confirmed[candidate, split].metrics


def cautions_of(record: RunRecord, candidate: int) -> list[str]:
    """Return what the task warns of, a line each, where a metric of the candidate is above its limit on a split.

    Raises UserError where the task is not found.
    """
    found = []
    for caution in recorded_task(record.config["task"]).cautions:
        for split in SPLITS:
            known = [
                (of[caution.metric], name) for name, of in metrics_of(record, candidate, split) if caution.metric in of
            ]
            over = [value for value, _ in known if value > caution.above]
            if over:
                worst, where = max(known)
                found.append(
                    f"candidate {candidate} {caution.meaning} on {len(over)} of {len(known)} instances of {split}: "
                    f"{caution.metric} {worst:.3g} on {where}, {fmean(value for value, _ in known):.3g} on average"
                )
    return found


def mean_metrics(metrics: InstanceMetrics, names: Sequence[str]) -> list[float | None]:
    """Return the mean over instances of each of these metrics; None for one that some instance lacks."""
    every = [dict(of) for _, of in metrics]
    return [fmean(of[name] for of in every) if every and all(name in of for of in every) else None for name in names]


def proposals(record: RunRecord) -> int:
    """Count the completed proposals (candidates or advice) of the search."""
    return sum(p.round > 0 for p in record.proposals.values())


def refined(record: RunRecord, by: str) -> Refinement:
    """Count the candidates that the search refined itself, the evaluations this took, and the improvements."""
    done = [r for r in record.refined if r.by == by]
    evaluations = sum(r.evaluations for r in done)
    cost = sum(r.evaluations if r.cost is None else r.cost for r in done)
    improved = sum(r.result is not None for r in done)
    return {"candidates": len(done), "evaluations": evaluations, "cost": cost, "improved": improved}


def run_document(run: Path, record: RunRecord, costs: Costs) -> RunDocument:
    """Return the summary of a run. Raises UserError where its task is not found."""
    winner = record.chosen.candidate if record.chosen else None
    scorer = scorer_of(record)
    compared = comparison_of(record, scorer)
    verdict = None if compared is None else verdict_of(compared)
    return {
        "run": str(run),
        "task": record.config.get("task"),
        "state": state_of(record),
        "verdict": None if verdict is None else verdict.conclusion,
        "recommendation": None if verdict is None else _recommendation(verdict),
        "headline": headline(record),
        "best": None if winner is None else _best(record, winner),
        "train": _split(record, scorer, "train", winner, compared),
        "validation": _split(record, scorer, "validation", winner, compared),
        "test": _split(record, scorer, "test", winner, compared),
        "cautions": [] if winner is None else cautions_of(record, winner),
        "notes": list(record.notes),
        "notebook": page_of([*record.advice.items()]).splitlines(),
        "changes": describe_changes(record),
        "gains": [] if verdict is None else list(verdict.gains),
        "by_instance": list(compare_instances(record, scorer)),
        "proposals": proposals(record),
        "candidates": {verdict: record.verdicts().get(verdict, 0) for verdict in VERDICTS},
        "tuned": refined(record, "tuned"),
        "simplified": refined(record, "simplified"),
        "cost": model_cost(costs),
    }


def comparison_of(record: RunRecord, scorer: Scorer | None) -> Comparison | None:
    """Return what the verdict on a run is computed from; None before the run has instances."""
    if scorer is None:
        return None
    return Comparison(record, scorer, start_names(recorded_task(record.config["task"]), record))


def run_verdict(record: RunRecord) -> RunVerdict | None:
    """Return the verdict on a run; None before it has one. Raises UserError where its task is not found."""
    compared = comparison_of(record, scorer_of(record))
    return None if compared is None else verdict_of(compared)


def _recommendation(verdict: RunVerdict) -> Recommendation:
    return {
        "sentence": verdict.sentence,
        "kind": verdict.kind,
        "policy": verdict.policy,
        "candidate": verdict.candidate,
        "second": verdict.second,
        "to_add": verdict.to_add or None,
    }


def headline(record: RunRecord) -> str | None:
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
    objective = find_objective(recorded_task(record.config["task"]), record.config["objective"])

    def mean(metrics: InstanceMetrics) -> str:
        return objective.spelled(fmean(dict(of)[objective.metric] for _, of in metrics))

    others: list[str] = []
    best = record.named_baseline(split)
    if best is not None:
        others.append(f"baseline {best.policy} {mean(best.metrics)}")
    compared = comparison_of(record, scorer_of(record))
    if held_out and compared is not None and winner not in compared.starts:
        deciding = start_scores(compared, compared.deciding)  # where the verdict names the best of them too
        tested = {name: there for start, name in compared.starts.items() if (there := compared.metrics(start, "test"))}
        name = max((name for name in deciding if name in tested), key=lambda name: deciding[name], default="")
        if name and f"baseline {name} {mean(tested[name])}" not in others:
            others.append(f"{name}, the best policy it began with, {mean(tested[name])}")
    verdict = None if compared is None else verdict_of(compared)
    advised = verdict.policy if verdict is not None and verdict.kind == "baseline" else ""
    for name in dict.fromkeys([advised, *objective.usual]):
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
    chosen = record.candidates[winner]
    if record.proposals[chosen.proposal].round == 0 and chosen.derived_from is None:
        text += " No proposal was better than what the search began with."
    on_test = () if verdict is None else (gain for gain in verdict.gains if gain["split"] == "test")
    if (behind := next((gain for gain in on_test if gain["gain"] < 0), None)) is not None:
        text += f" By its score there it is {-behind['gain']:.4f} behind {behind['over']}; the verdict does not see it."
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


def check_scores(store: Store) -> None:
    """Raise DamagedRun where a run's scores are not those of its metrics; not for one whose task is not found."""
    try:
        scorer_of(RunRecord.of(store.events()))
    except DamagedRun:
        raise
    except UserError as error:
        log.debug("scores are not checked: %s", error)


def scorer_of(record: RunRecord) -> Scorer | None:
    """Return the scorer of a run; None before it has instances.

    Raises UserError where its task is not found, or its scores are not those of its metrics.
    """
    if not record.instances:
        return None
    return make_scorer(find_objective(recorded_task(record.config["task"]), record.config["objective"]), record)


def interval_of(
    record: RunRecord, scorer: Scorer | None, candidate: int, split: SplitName
) -> ConfidenceInterval | None:
    """Return the bootstrap interval of the mean objective over instances; None for too few of them, or variations."""
    metrics = metrics_of(record, candidate, split)
    if scorer is None or not metrics or any(i.variation_of for i in scorer.of(split)):
        return None
    from vulcan.searches.bootstrap import mean_interval  # imports numpy, which `vulcan runs` does not need

    within = (scorer.objective.lowest, scorer.objective.highest)
    return mean_interval([scorer.on_instance(split, name, measured) for name, measured in metrics], within=within)


def compare_instances(record: RunRecord, scorer: Scorer | None) -> Iterator[InstanceScores]:
    """Yield the winner, the baseline to beat and the best oracle on every instance, split by split, winner or not."""
    for split in SPLITS if scorer is not None else ():
        assert scorer is not None
        winner = record.chosen.candidate if record.chosen else None
        own = dict(metrics_of(record, winner, split)) if winner is not None else {}
        for instance in scorer.of(split):
            name, baseline = instance.name, record.named_baseline(split)
            oracles = [
                _named(oracle, scorer, name)
                for (_, where), oracle in record.baselines.items()
                if where == split and oracle.kind == "oracle"
            ]
            yield {
                "instance": name,
                "split": split,
                "winner": scorer.on_instance(split, name, own[name]) if name in own else None,
                "best_baseline": None if baseline is None else _named(baseline, scorer, name),
                "oracle": max(oracles, key=lambda known: known["score"], default=None),
            }


def _named(known: BaselineMeasured, scorer: Scorer, instance: str) -> PolicyScore:
    """Return a known policy with its score on an instance."""
    score = scorer.on_instance(known.split, instance, dict(known.metrics)[instance])
    return {"policy": known.policy, "score": score}


def _best(record: RunRecord, winner: int) -> Winner:
    chosen = record.candidates[winner]
    return {
        "candidate": chosen.candidate,
        "source": chosen.source,
        "chosen_on": record.chosen.split if record.chosen else None,
        "origin": chosen.origin,
        "derived_from": chosen.derived_from,
    }


def _split(
    record: RunRecord, scorer: Scorer | None, split: SplitName, winner: int | None, compared: Comparison | None
) -> SplitScores | None:
    if not any(instance.split == split for instance in record.instances):
        return None
    best = record.named_baseline(split)
    return {
        "score": record.score_of(winner, split) if winner is not None else None,
        "interval": None if winner is None else interval_of(record, scorer, winner, split),
        "instances": [instance.name for instance in record.instances if instance.split == split],
        "best_baseline": None if best is None else {"policy": best.policy, "score": best.score},
        "baselines": {p: b.score for (p, s), b in record.baselines.items() if s == split and b.kind != "oracle"},
        "oracles": {p: b.score for (p, s), b in record.baselines.items() if s == split and b.kind == "oracle"},
        "starts": {} if compared is None else start_scores(compared, split),
    }


def start_scores(compared: Comparison, split: SplitName) -> dict[str, float]:
    """Return the mean scores on a split of the policies that the search began with, by name."""
    known = {name: compared.mean(start, split) for start, name in compared.starts.items()}
    return {name: score for name, score in known.items() if score is not None}


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
