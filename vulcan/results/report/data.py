"""The data of a report, in every format: a run's results with the evidence behind them.

Each number carries the row of the store's table `events` that it was read from.
"""

from __future__ import annotations

import difflib
import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import vulcan
from vulcan.anvil import Policy, Rejected, check
from vulcan.anvil.diagnostics import explained
from vulcan.anvil.proofs import claim_of, verify
from vulcan.documents.report import (
    Ancestor,
    CandidateRow,
    Failures,
    InstanceParameters,
    ModelUsage,
    PolicyInstanceScore,
    ProgressPoint,
    ReportDocument,
    RunVersion,
    WinnerAnalysis,
)
from vulcan.documents.run import RunDocument
from vulcan.evaluator import SplitName
from vulcan.registry import recorded_task
from vulcan.results.candidate import candidate_row, lineage
from vulcan.results.run import metrics_of, run_document, scorer_of
from vulcan.searches.costs import Costs
from vulcan.searches.evidence import SPLITS
from vulcan.searches.scorer import Scorer
from vulcan.store import RunRecord
from vulcan.store.events import (
    BaselineMeasured,
    CallRecord,
    CandidateJudged,
    Event,
    FinalistScored,
    InstanceMetrics,
    InstancesPrepared,
    RunStarted,
    WinnerChosen,
)
from vulcan.store.runs import open_store


@dataclass(frozen=True, slots=True)
class ReportRow:
    """An event, its row number, and the time it was appended, in ISO 8601."""

    number: int
    time: str
    event: Event

    def document(self) -> dict[str, Any]:
        return {"row": self.number, "time": self.time, "kind": type(self.event).__name__, "data": asdict(self.event)}


@dataclass(frozen=True, slots=True)
class ReportRows:
    """All rows of a run, and the numbers of the latest of each kind, and of the scores of each policy on each split."""

    all: tuple[ReportRow, ...]
    latest: Mapping[type[Event], int]
    scores: Mapping[tuple[int | str, SplitName], int]

    @classmethod
    def of(cls, numbered: Iterable[tuple[int, str, Event]]) -> ReportRows:
        every = tuple(ReportRow(*row) for row in numbered)
        scores: dict[tuple[int | str, SplitName], int] = {}
        for row in every:
            match row.event:
                case CandidateJudged(candidate):
                    scores[candidate, "train"] = row.number
                case FinalistScored(policy, split) | BaselineMeasured(policy, _, split):
                    scores[policy, split] = row.number
                case _:
                    pass
        return cls(every, {type(row.event): row.number for row in every}, scores)

    def of_policy(self, policy: int | str | None, splits: Iterable[SplitName]) -> dict[SplitName, int | None]:
        """Return the rows that a policy's scores are in."""
        return {split: self.scores.get((policy or "", split)) for split in splits}


@dataclass(frozen=True, slots=True)
class Report:
    """A complete run: the events in its store by row, the record they add up to, the model calls, and its scorer."""

    path: Path
    rows: ReportRows
    record: RunRecord
    calls: tuple[CallRecord, ...]
    scorer: Scorer | None

    @classmethod
    def of(cls, path: Path) -> Report:
        """Read a run. Raises UserError where the run, or its task, cannot be read."""
        with closing(open_store(path)) as store:
            rows, calls = ReportRows.of(store.numbered()), tuple(store.calls())
        record = RunRecord.of(row.event for row in rows.all)
        return cls(path, rows, record, calls, scorer_of(record))

    @property
    def summary(self) -> RunDocument:
        """The document of `vulcan show RUN --json`."""
        return run_document(self.path, self.record, Costs.of(self.calls))

    @property
    def winner(self) -> CandidateJudged | None:
        chosen = self.record.chosen
        return self.record.candidates[chosen.candidate] if chosen else None


def report_document(report: Report, seconds: float) -> ReportDocument:
    """Return the report as JSON; each property of the winner gets `seconds` to be proved.

    Raises UserError where the run's task is not found.
    """
    record = report.record
    return {
        **report.summary,
        "objective": record.config.get("objective"),
        "run_version": run_version(report),
        "report_version": {"vulcan": vulcan.__version__, "python": platform.python_version()},
        "configuration": record.config,
        "instances": list(measured_on(record)),
        "rows": {
            "started": report.rows.latest.get(RunStarted),
            "instances": report.rows.latest.get(InstancesPrepared),
            "chosen": report.rows.latest.get(WinnerChosen),
        },
        "progress": list(progress(report)),
        "scores": list(scores_by_instance(report)),
        "winner": None if report.winner is None else _winner(report.winner, record, seconds),
        "history": list(history(report)),
        "failures": failures(record),
        "models": models(report.calls),
        "all_candidates": list(every_candidate(report)),
    }


def run_version(report: Report) -> RunVersion:
    """Return what made the run, and when."""
    return {"vulcan": report.record.version, "began_at": report.rows.all[0].time if report.rows.all else None}


def measured_on(record: RunRecord) -> Iterator[InstanceParameters]:
    """Yield every instance, in the run's order."""
    for instance in record.instances:
        yield {"instance": instance.name, "split": instance.split, "parameters": dict(instance.parameters)}


def every_candidate(report: Report) -> Iterator[CandidateRow]:
    """Yield a short line for every candidate, with its row of the store."""
    return (_line(report, number) for number in report.record.candidates)


def _line(report: Report, number: int) -> CandidateRow:
    judged, row = report.record.candidates[number], report.rows.scores[number, "train"]
    return {**candidate_row(report.record, judged), "operations": judged.operations, "row": row}


def progress(report: Report) -> Iterator[ProgressPoint]:
    """Yield the best train score and the dollars spent up to each candidate; unknown prices count as 0."""
    price = {(call.proposal, call.turn): call.dollars or 0.0 for call in report.calls}
    spent = 0.0
    best: float | None = None
    for judged in report.record.candidates.values():
        spent += sum(price.pop((judged.proposal, turn), 0.0) for turn in range(judged.turn + 1))
        if judged.verdict == "scored" and judged.score is not None:
            best = judged.score if best is None else max(best, judged.score)
        yield {
            "candidate": judged.candidate,
            "score": judged.score if judged.verdict == "scored" else None,
            "best": best,
            "dollars": spent,
            "row": report.rows.scores[judged.candidate, "train"],
        }


def scores_by_instance(report: Report) -> Iterator[PolicyInstanceScore]:
    """Yield the scores of the winner, baselines and oracles on every instance, with their rows of the store."""
    record, scorer = report.record, report.scorer
    if scorer is None:
        return
    for split in SPLITS:
        measured: list[tuple[str, str, int | None, InstanceMetrics]] = []
        if report.winner is not None:
            number = report.winner.candidate
            row = report.rows.scores.get((number, split))
            measured.append((f"candidate {number}", "candidate", row, metrics_of(record, number, split)))
        known = [one for one in record.baselines.values() if one.split == split]
        measured += [(one.policy, one.kind, report.rows.scores[one.policy, split], one.metrics) for one in known]
        for policy, kind, row, on_each in measured:
            for instance, metrics in on_each:
                yield {
                    "policy": policy,
                    "kind": kind,
                    "split": split,
                    "instance": instance,
                    "score": scorer.on_instance(split, instance, metrics),
                    "metrics": dict(metrics),
                    "row": row,
                }


def history(report: Report) -> Iterator[Ancestor]:
    """Yield the winner's ancestors, oldest first, then the winner, each with the diff to its first parent."""
    if report.winner is None:
        return
    number = report.winner.candidate
    line = [*(c for generation in reversed(lineage(report.record, number)) for c in generation), number]
    for candidate in line:
        yield {**_line(report, candidate), "diff": difference(report.record, candidate)}


def difference(record: RunRecord, candidate: int, other: int | None = None) -> str:
    """Return the unified diff of a candidate to another, by default its first parent; empty where it has none."""
    compared = (other,) if other else record.parents_of(candidate)
    if not compared:
        return ""
    parent, child = record.candidates[compared[0]], record.candidates[candidate]
    return "\n".join(
        difflib.unified_diff(
            parent.source.splitlines(),
            child.source.splitlines(),
            f"candidate {parent.candidate}",
            f"candidate {candidate}",
            lineterm="",
        )
    )


def failures(record: RunRecord) -> Failures:
    """Count the candidates without a score by verdict, and the violations by rule of the language."""
    verdicts = Counter(c.verdict for c in record.candidates.values() if c.verdict not in ("scored", "stopped"))
    rules = Counter(rule for c in record.candidates.values() for rule in c.rules)
    return {"verdicts": dict(verdicts.most_common()), "rules": dict(rules.most_common())}


def models(calls: tuple[CallRecord, ...]) -> list[ModelUsage]:
    """Return calls, tokens, dollars and seconds by the server's model name; `dollars` is None if a price is unknown."""
    found: list[ModelUsage] = []
    for name in sorted({call.model for call in calls}):
        costs = Costs.of(call for call in calls if call.model == name)
        found.append(
            {
                "model": name,
                "calls": costs.calls,
                "tokens_in": costs.tokens_in,
                "tokens_out": costs.tokens_out,
                "dollars": None if costs.unpriced else costs.dollars,
                "seconds": sum(call.seconds for call in calls if call.model == name),
            }
        )
    return found


def _winner(winner: CandidateJudged, record: RunRecord, seconds: float) -> WinnerAnalysis:
    """Check the winner again and try to prove its properties."""
    try:
        policy = check(winner.source, recorded_task(record.config["task"]))
    except Rejected as rejected:  # the task has changed since
        return {
            "accepted": False,
            "violations": [asdict(violation) for violation in rejected.violations],
            "notes": [],
            "properties": [],
            "operations": winner.operations,
        }
    return {
        "accepted": True,
        "violations": [],
        "notes": ["\n".join(explained(policy.source, warning)) for warning in policy.warnings],
        "properties": list(_proofs(policy, seconds)),
        "operations": policy.plan.operations,
    }


def _proofs(policy: Policy, seconds: float) -> Iterator[dict[str, Any]]:
    for verdict in verify(policy, list(policy.task.properties), seconds):
        shown = None if verdict.counterexample is None else str(verdict.counterexample)
        yield {**verdict.document(), "claim": claim_of(verdict.property), "counterexample": shown}
