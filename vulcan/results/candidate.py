"""One candidate of a run: its program, where it comes from, and how it did."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from vulcan.results.run import metrics_of, score_of, scorer_of
from vulcan.searches.evidence import SPLITS
from vulcan.store import RunRecord
from vulcan.store.events import CallRecord, CandidateJudged


def candidate_document(record: RunRecord, judged: CandidateJudged, call: CallRecord | None) -> dict[str, Any]:
    """A candidate as docs/json.md has it; `call` is the reply that it was read from. Raises UserError."""
    return {
        "candidate": judged.candidate,
        "verdict": judged.verdict,
        "source": judged.source,
        "origin": judged.origin,
        "derived_from": judged.derived_from,
        "proposal": asdict(record.proposals[judged.proposal]),
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
        "scores": {split: score_of(record, judged.candidate, split) for split in SPLITS},
        "metrics": metric_rows(record, judged.candidate),
    }


def candidate_row(record: RunRecord, judged: CandidateJudged) -> dict[str, Any]:
    """The same in short, for lists."""
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
    """What a candidate was made from, what that was made from, and so on, as far as the task's own policies."""
    generations: list[list[int]] = []
    parents = record.parents_of(candidate)
    seen: set[int] = set()
    while parents:
        generations.append(sorted(parents))
        seen.update(parents)
        earlier = {p for c in parents for p in record.parents_of(c)}
        parents = tuple(sorted(earlier - seen))
    return generations


def metric_rows(record: RunRecord, candidate: int) -> list[dict[str, Any]]:
    """The score and the metrics of a candidate on each instance that it was measured on."""
    scorer = scorer_of(record)
    return [
        {
            "instance": instance,
            "split": split,
            "score": scorer.on_instance(split, instance, metrics),
            "metrics": metrics,
        }
        for split in SPLITS
        for instance, metrics in metrics_of(record, candidate, split)
        if scorer is not None
    ]
