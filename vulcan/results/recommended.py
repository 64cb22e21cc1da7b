"""The policy of a run that is exported: a candidate that is named, or what the verdict recommends."""

from __future__ import annotations

import shlex
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from vulcan.errors import UserError
from vulcan.export.formats import export_policy
from vulcan.export.provenance import Provenance
from vulcan.python_policy.check import AnyPolicy, check_policy
from vulcan.registry import recorded_task
from vulcan.results.run import cautions_of, run_verdict
from vulcan.searches.evidence import SPLITS
from vulcan.searches.target import plain_name, seeds_of
from vulcan.searches.verdict import RunVerdict
from vulcan.store import RunRecord, Store
from vulcan.store.events import CandidateJudged
from vulcan.store.runs import open_store
from vulcan.task import Task


@dataclass(frozen=True, slots=True)
class ExportCandidate:
    """A policy with its provenance, ready for export, and what it is called in messages.

    `number` is the candidate's, None for one of no run, or of the task's own. `verdict` is the verdict on the run in a
    sentence, with what is exported for it where no candidate was named, and `cautions` are what the task warns of in
    the candidate. Of a task whose formats are listed, `others` are further policies.
    """

    name: str
    policy: AnyPolicy
    provenance: Provenance
    number: int | None = None
    verdict: str | None = None
    cautions: tuple[str, ...] = ()
    others: tuple[AnyPolicy, ...] = ()

    def files(self, format: str) -> dict[str, str]:
        """Export it in any available format: the text of each file by name, the main file first. Raises UserError."""
        return export_policy(self.policy, format, self.provenance)


def find_winner(run: Path) -> ExportCandidate:
    """Return the winner, or the best so far, with its provenance. Raises UserError."""
    with closing(open_store(run)) as store:
        return _candidate(run, store, RunRecord.of(store.events()), None)


def find_recommended(run: Path, candidate: int | None = None) -> ExportCandidate:
    """Return the candidate of that number, or the policy that the verdict on the run recommends.

    Without a verdict it is the winner, or the best so far. Raises UserError, also for a baseline that is recommended
    and has no form in the policy language: nothing takes its place.
    """
    with closing(open_store(run)) as store:
        record = RunRecord.of(store.events())
        verdict = run_verdict(record) if record.chosen is not None else None
        if verdict is not None and candidate is None:
            known = verdict.candidate is None
            found = _known(run, store, record, verdict) if known else _candidate(run, store, record, verdict.candidate)
            return replace(found, verdict=f"{verdict.sentence}{export_note(verdict, found.number)}")
        found = _candidate(run, store, record, candidate)
    if verdict is not None:
        return replace(found, verdict=verdict.sentence)
    if record.chosen is not None or candidate is not None:
        return found
    said = (
        f"Not finished: candidate {found.number} is the best on train so far, and nothing is held out yet; "
        f"`vulcan resume {shlex.quote(str(run))}` goes on to a verdict."
    )
    return replace(found, verdict=said)


def _candidate(run: Path, store: Store, record: RunRecord, number: int | None) -> ExportCandidate:
    """Return the candidate of that number, else the winner, else the best of a run without a winner yet."""
    judged = record.best() if number is None else record.candidates.get(number)
    named = shlex.quote(str(run))
    if number is None and judged is None:
        raise UserError(f"{run} has no scored candidate yet: continue with `vulcan resume {named}`")
    if judged is None or (number is not None and judged.fingerprint is None):
        raise UserError(f"{run} has no policy of number {number} (`vulcan show {named}` lists what it has)")
    call = store.call(judged.proposal, judged.turn)
    author = call.model if call else "the task's author"
    if judged.derived_from is not None:
        author = f"{author}, {judged.origin} by the search"
    task = recorded_task(record.config["task"])
    provenance = _provenance(record, run, task, author, store.started_at(), judged)
    cautions = tuple(cautions_of(record, judged.candidate))
    name, policy = f"candidate {judged.candidate} of {run.name}", check_policy(judged.source, task)
    return ExportCandidate(name, policy, provenance, judged.candidate, cautions=cautions)


def _known(run: Path, store: Store, record: RunRecord, verdict: RunVerdict) -> ExportCandidate:
    """Return the task's own policy of the name of the recommended baseline. Raises UserError where there is none."""
    task = recorded_task(record.config["task"])
    if (source := known_source(task, verdict)) is None:
        raise UserError(f"{verdict.sentence} {how_to_take(run, task, verdict)}")
    provenance = _provenance(record, run, task, "the task's author", store.started_at())
    return ExportCandidate(f"a policy of the task, by {run.name}", check_policy(source, task), provenance)


def _provenance(
    record: RunRecord, run: Path, task: Task, author: str, date: str, chosen: CandidateJudged | None = None
) -> Provenance:
    number = None if chosen is None else chosen.candidate
    scores = {split: record.score_of(number, split) for split in SPLITS} if number is not None else {}
    return Provenance(
        task=task.name,
        run=run.name,
        candidate="" if number is None else str(number),
        proposer=author,
        date=date,
        seed=record.config["seed"],
        objective=record.config["objective"],
        scores={split: score for split, score in scores.items() if score is not None},
        instances=[f"{i.name}, {i.split}" for i in record.instances if number is None or scores[i.split] is not None],
        settings=record.config["settings"],
        version=record.version,
    )


def known_source(task: Task, verdict: RunVerdict, target: str | None = None) -> str | None:
    """Return the task's own policy of the recommended baseline's name; None without one that the target carries."""
    own = seeds_of(task, target).items()
    return next((source for name, source in own if plain_name(name) == plain_name(verdict.policy)), None)


def recommended_source(record: RunRecord, task: Task, verdict: RunVerdict) -> str | None:
    """Return the program of the recommended policy; None for a baseline that has none."""
    if verdict.candidate is not None:
        return record.candidates[verdict.candidate].source
    return known_source(task, verdict, record.config.get("target"))


def how_to_take(run: Path, task: Task, verdict: RunVerdict | None, target: str | None = None) -> str:
    """Return what to do next with a finished run, for a sentence: the command that exports what is recommended."""
    command = f"vulcan export {shlex.quote(str(run))} --format {target or 'python'}"
    if verdict is None or verdict.candidate is not None or known_source(task, verdict, target) is not None:
        what = "it" if verdict is None else verdict.policy.removeprefix("start: ")
        return f"take {what} with `{command}{'' if target else ' -o best.py'}`"
    what = f"{verdict.policy} has no form {f'that {target} carries' if target else 'in the policy language to export'}"
    if verdict.second is None:
        return f"{what}; `{command} --candidate N` writes one of the search's"
    return f"{what}; `{command} --candidate {verdict.second}` writes what it found"


def export_note(verdict: RunVerdict, exported: int | None) -> str:
    """Say what is exported for a verdict that does not recommend the winner of the search."""
    if verdict.conclusion == "better" or verdict.kind == "candidate":
        return ""
    which = "the task's own policy" if exported is None else f"candidate {exported}"
    what = f" Exported: {verdict.policy.removeprefix('start: ')} in the policy language, {which}"
    other = f"; `--candidate {verdict.second}` exports what the search found" if verdict.second is not None else ""
    return f"{what}{other}."
