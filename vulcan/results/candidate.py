"""One candidate of a run: its program, lineage and scores."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast

from vulcan.documents.policy import FindingRow
from vulcan.documents.run import CandidateDocument, InstanceMetricsRow, ProposalData, RankedCandidate
from vulcan.findings import InstanceFinding
from vulcan.results.run import metrics_of, scorer_of
from vulcan.searches.evidence import SPLITS
from vulcan.store import RunRecord
from vulcan.store.events import CallRecord, CandidateJudged


def candidate_document(record: RunRecord, judged: CandidateJudged, call: CallRecord | None) -> CandidateDocument:
    """Return a candidate in full; `call` is the reply that it was parsed from. Raises UserError."""
    return {
        "candidate": judged.candidate,
        "verdict": judged.verdict,
        "source": judged.source,
        "origin": judged.origin,
        "derived_from": judged.derived_from,
        "proposal": cast(ProposalData, asdict(record.proposals[judged.proposal])),
        "turn": judged.turn,
        "model": call.model if call else None,
        "lineage": lineage(record, judged.candidate),
        "duplicate_of": judged.of,
        "operations": judged.operations,
        "size": judged.size,
        "feedback": judged.feedback,
        "rules": list(judged.rules),
        "warnings": list(judged.warnings),
        "signature": judged.signature,
        "rungs": [{"rung": rung, "score": score} for rung, score in judged.rungs],
        "scores": {split: record.score_of(judged.candidate, split) for split in SPLITS},
        "metrics": metric_rows(record, judged.candidate),
        "findings": [cast(FindingRow, one.to_json()) for one in findings_about(record, judged.candidate)],
        "messages": [{"role": role, "content": content} for role, content in (call.messages if call else ())],
    }


def findings_about(record: RunRecord, candidate: int) -> tuple[InstanceFinding, ...]:
    """Return what models were told of a candidate; nothing where no prompt had that."""
    explained = record.explained.get(candidate)
    return explained.located if explained else ()


def candidate_row(record: RunRecord, judged: CandidateJudged) -> RankedCandidate:
    """Return a short row about a candidate, for lists."""
    proposal = record.proposals[judged.proposal]
    return {
        "candidate": judged.candidate,
        "proposal": judged.proposal,
        "turn": judged.turn,
        "operator": proposal.operator,
        "origin": judged.origin,
        "parents": list(record.parents_of(judged.candidate)),
        "verdict": judged.verdict,
        "score": judged.score,
        "size": judged.size,
    }


def lineage(record: RunRecord, candidate: int) -> list[list[int]]:
    """Return the ancestors of a candidate by generation, nearest first, back to the task's own policies."""
    generations: list[list[int]] = []
    parents = record.parents_of(candidate)
    seen: set[int] = set()
    while parents:
        generations.append(sorted(parents))
        seen.update(parents)
        earlier = {p for c in parents for p in record.parents_of(c)}
        parents = tuple(sorted(earlier - seen))
    return generations


def metric_rows(record: RunRecord, candidate: int) -> list[InstanceMetricsRow]:
    """Return a candidate's score and metrics on each instance that it was measured on."""
    scorer = scorer_of(record)
    return [
        {
            "instance": instance,
            "split": split,
            "score": scorer.on_instance(split, instance, metrics),
            "metrics": dict(metrics),
        }
        for split in SPLITS
        for instance, metrics in metrics_of(record, candidate, split)
        if scorer is not None
    ]
