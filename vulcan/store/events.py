"""What happens in a run, as frozen values: the store, the progress display and the log only listen to them.

They are appended in the order of proposals, whatever order work finished in, so that one seed gives one sequence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from vulcan.evaluator import BaselineKind, SplitName
from vulcan.task import Json

Verdict = Literal["scored", "duplicate", "rejected", "timeout", "memory", "crashed", "failed", "no-reply"]
"""`scored`; `duplicate` of an earlier candidate, and not scored again; `rejected` by the checker, or no program in the
reply; how scoring it failed; or the model gave no reply."""

VERDICTS: tuple[Verdict, ...] = (
    "scored", "duplicate", "rejected", "timeout", "memory", "crashed", "failed", "no-reply",
)  # fmt: skip

InstanceMetrics = tuple[tuple[str, dict[str, float]], ...]
"""The metrics of each instance, by its name, in the order of the run's instances."""


@dataclass(frozen=True, slots=True)
class Started:
    """A run was opened. `config` is all that a repetition needs."""

    config: dict[str, Json]
    version: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """The instances, in order: their names, splits and parameters."""

    instances: tuple[dict[str, Json], ...]


@dataclass(frozen=True, slots=True)
class BaselineMeasured:
    """A known policy was measured on every instance of a split; `score` is its mean objective there."""

    policy: str
    kind: BaselineKind
    split: SplitName
    score: float
    metrics: InstanceMetrics


@dataclass(frozen=True, slots=True)
class Proposed:
    """A candidate was asked for. `round` counts from 1; the task's own seed policies are round 0."""

    proposal: int
    round: int
    operator: str
    parents: tuple[int, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class Judged:
    """A program was read out of a reply, and this became of it.

    `turn` counts the replies of a proposal from 0: later ones are repairs. `source` is empty where the reply held
    no program. `feedback` says what was wrong, as the model is told it. `score` is its mean objective on the split
    `train`, None unless it has one; `of` is the candidate that it duplicates.
    """

    candidate: int
    proposal: int
    turn: int
    source: str
    fingerprint: str | None
    verdict: Verdict
    feedback: str
    rules: tuple[str, ...]
    operations: int | None
    of: int | None
    score: float | None
    metrics: InstanceMetrics


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A finalist was measured on a split that the search did not see; `score` is None where it failed there."""

    candidate: int
    split: SplitName
    score: float | None
    metrics: InstanceMetrics


@dataclass(frozen=True, slots=True)
class Chosen:
    """The winner, and on which split it was chosen."""

    candidate: int
    split: SplitName


@dataclass(frozen=True, slots=True)
class Stopped:
    """The run stopped: `finished`, `interrupted`, or `error` with the message."""

    reason: Literal["finished", "interrupted", "error"]
    message: str = ""


Event = Started | Prepared | BaselineMeasured | Proposed | Judged | Confirmed | Chosen | Stopped

EVENTS: Mapping[str, type[Event]] = {
    kind.__name__: kind for kind in (Started, Prepared, BaselineMeasured, Proposed, Judged, Confirmed, Chosen, Stopped)
}


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call of a model: kept as soon as it is answered, in whatever order, for it may have been paid for."""

    proposal: int
    turn: int
    messages: tuple[tuple[str, str], ...]
    reply: str
    model: str
    finish: str
    tokens_in: int | None
    tokens_out: int | None
    dollars: float | None
    seconds: float
