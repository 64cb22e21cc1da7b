"""How a run stands, and a candidate in it, as far as its events alone say."""

from __future__ import annotations

from vulcan.evaluator import SplitName
from vulcan.store import RunRecord
from vulcan.store.events import InstanceMetrics


def state_of(record: RunRecord) -> str:
    """`finished`, `interrupted`, `error`, or `open` where nothing says that it stopped."""
    return record.stopped.reason if record.stopped else "open"


def score_of(record: RunRecord, candidate: int, split: SplitName) -> float | None:
    """The mean objective of a candidate on a split; None where it was not measured there, or failed."""
    if split == "train":
        return record.candidates[candidate].score
    confirmed = record.confirmed.get((candidate, split))
    return confirmed.score if confirmed else None


def metrics_of(record: RunRecord, candidate: int, split: SplitName) -> InstanceMetrics:
    """What a candidate measured on each instance of a split; empty where it has no score there."""
    if score_of(record, candidate, split) is None:
        return ()
    return record.candidates[candidate].metrics if split == "train" else record.confirmed[candidate, split].metrics


def gap(record: RunRecord, candidate: int | None, split: SplitName) -> float | None:
    """How much worse a candidate is on a split that the search did not see than on `train`."""
    if candidate is None:
        return None
    seen, unseen = score_of(record, candidate, "train"), score_of(record, candidate, split)
    return None if seen is None or unseen is None else seen - unseen


def proposals(record: RunRecord) -> int:
    """How many candidates, or pieces of advice, were asked for and settled."""
    return sum(p.round > 0 for p in record.proposals.values())


def refined(record: RunRecord, by: str) -> dict[str, int]:
    """How often the search refined a candidate itself, what that took, and how often something better came of it."""
    done = [r for r in record.refined if r.by == by]
    better = sum(r.result is not None for r in done)
    return {"candidates": len(done), "evaluations": sum(r.evaluations for r in done), "better": better}
