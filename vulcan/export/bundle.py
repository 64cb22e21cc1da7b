"""Candidates of a run, with their provenance, for export."""

from __future__ import annotations

import shlex
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from vulcan.errors import UserError
from vulcan.export.provenance import Provenance
from vulcan.python_policy.check import AnyPolicy, check_policy
from vulcan.registry import find_task
from vulcan.store import RunRecord
from vulcan.store.events import CandidateJudged
from vulcan.store.runs import open_store


@dataclass(frozen=True, slots=True)
class ExportCandidate:
    """A candidate of a run, with its policy and provenance, ready for export."""

    number: int
    policy: AnyPolicy
    provenance: Provenance


def find_candidate(run: Path, candidate: int | None = None) -> ExportCandidate:
    """Return the candidate of that number, or the winner, with its provenance. Raises UserError."""
    with closing(open_store(run)) as store:
        record, date = RunRecord.of(store.events()), store.started_at()
        chosen = _chosen(record, run, candidate)
        call = store.call(chosen.proposal, chosen.turn)
    task = find_task(record.config["task"])
    confirmed = {split: c.score for (number, split), c in record.confirmed.items() if number == chosen.candidate}
    provenance = Provenance(
        task=task.name,
        run=run.name,
        candidate=str(chosen.candidate),
        proposer=_author(chosen, call.model if call else "the task's author"),
        date=date,
        seed=record.config["seed"],
        objective=record.config["objective"],
        scores={s: score for s, score in {"train": chosen.score, **confirmed}.items() if score is not None},
        instances=[f"{instance.name}, {instance.split}" for instance in record.instances],
        settings=record.config["settings"],
        version=record.version,
    )
    return ExportCandidate(chosen.candidate, check_policy(chosen.source, task), provenance)


def _author(chosen: CandidateJudged, writer: str) -> str:
    if chosen.derived_from is None:
        return writer
    return f"{writer}, {chosen.origin} by the search"


def _chosen(record: RunRecord, run: Path, candidate: int | None) -> CandidateJudged:
    """Return the candidate of that number, else the winner, else the best of a run without a winner yet."""
    named = shlex.quote(str(run))
    if candidate is None:
        ranked = record.ranked()
        if not ranked:
            raise UserError(f"{run} has no scored candidate yet: go on with `vulcan resume {named}`")
        return record.candidates[record.chosen.candidate] if record.chosen else ranked[0]
    judged = record.candidates.get(candidate)
    if judged is None or judged.fingerprint is None:
        raise UserError(f"{run} has no policy of number {candidate} (`vulcan show {named}` lists what it has)")
    return judged
