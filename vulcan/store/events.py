"""The events of a run, as frozen values: the store, the progress display and the log are only listeners.

They are appended in the order of proposals, whatever order work finished in, so that one seed gives one sequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Self, get_args

from vulcan.evaluator import BaselineKind, SplitName
from vulcan.findings import InstanceFinding
from vulcan.task import Json

Verdict = Literal[
    "scored", "stopped", "duplicate", "same-decisions", "rejected", "timeout", "memory", "crashed", "failed", "no-reply"
]
"""Outcome of a candidate.

`scored`, on all instances; `stopped` early, because cheaper scores showed that it was not among the best; `duplicate`
of an earlier candidate, or of the `same-decisions` on a short probe, and not scored again; `rejected` before scoring;
the way in which scoring failed; or the model gave no reply.
"""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

StopReason = Literal["finished", "interrupted", "error"]

Origin = Literal["model", "seed", "tuned", "simplified", "user"]
"""Author of a candidate: the model, the task's author, the search itself, from another candidate, or its user."""

SteeringAct = Literal["hint", "add"]
"""What a person gives a search: a hint for its prompts, or a program to score."""

InstanceMetrics = tuple[tuple[str, dict[str, float]], ...]
"""Metrics per instance, with its name, in the order of the run's instances."""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run was opened, or resumed with other settings. `config` is all that a replay needs.

    It applies from the proposal `since` on; what was asked before is drafted by the one before. A replay names the run
    that it `repeats`, whose replies answer it.
    """

    config: dict[str, Json]
    version: str
    since: int = 0
    repeats: str = ""


@dataclass(frozen=True, slots=True)
class InstancesPrepared:
    """Names, splits and parameters of the instances, in order, and the cheaper versions of those of `train`.

    `notes` say what was left out or changed when their workloads were read.
    """

    instances: tuple[dict[str, Json], ...]
    rungs: tuple[dict[str, Json], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BaselineMeasured:
    """A baseline was measured on every instance of a split; `score` is its mean objective there."""

    policy: str
    kind: BaselineKind
    split: SplitName
    score: float
    metrics: InstanceMetrics

    @property
    def label(self) -> str:
        """Name of the policy, with its kind unless it is a baseline."""
        return self.policy if self.kind == "baseline" else f"{self.policy} ({self.kind})"


@dataclass(frozen=True, slots=True)
class ReferenceMeasured:
    """A reference policy of the objective was measured on the cheaper instances of a rung."""

    policy: str
    rung: str
    metrics: InstanceMetrics


def _training_findings(findings: Iterable[Mapping[str, Json]]) -> tuple[InstanceFinding, ...]:
    """Read findings as stored. Raises ValueError for malformed ones, and for any of held-out data."""
    read = tuple(map(InstanceFinding.from_json, findings))
    for one in read:
        if one.split != "train":
            raise ValueError(f"a finding of {one.instance} ({one.split}), which no prompt may show")
    return read


@dataclass(frozen=True, slots=True)
class WorkloadDescribed:
    """The evaluator's findings about the training instances, for prompts (`InstanceFinding.to_json`)."""

    findings: tuple[dict[str, Json], ...]

    def __post_init__(self) -> None:
        _training_findings(self.findings)

    @classmethod
    def of(cls, findings: Iterable[InstanceFinding]) -> Self:
        return cls(tuple(one.to_json() for one in findings))

    @property
    def located(self) -> tuple[InstanceFinding, ...]:
        return _training_findings(self.findings)


@dataclass(frozen=True, slots=True)
class LessonsLearnt:
    """Programs that the offline generator fitted to the evaluator's lessons on the training instances, best first."""

    programs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PolicyExplained:
    """The evaluator's findings about a candidate on the training instances, for the prompts that show it.

    `problem` says why there are none. The event precedes that of the first proposal whose prompt has them.
    """

    candidate: int
    findings: tuple[dict[str, Json], ...]
    problem: str = ""

    def __post_init__(self) -> None:
        _training_findings(self.findings)

    @classmethod
    def of(cls, candidate: int, findings: Iterable[InstanceFinding], problem: str = "") -> Self:
        return cls(candidate, tuple(one.to_json() for one in findings), problem)

    @property
    def located(self) -> tuple[InstanceFinding, ...]:
        return _training_findings(self.findings)


@dataclass(frozen=True, slots=True)
class CandidateProposed:
    """A candidate was requested from `model`. `round` counts from 1; the task's own seed policies are round 0.

    `form` is the requested form of the program: `full`, or as a `diff` against the first parent.
    """

    proposal: int
    round: int
    operator: str
    parents: tuple[int, ...]
    seed: int
    model: str
    island: int = 0
    form: Literal["full", "diff"] = "full"


@dataclass(frozen=True, slots=True)
class SearchSteered:
    """An instruction by a person, which applies from a proposal on; the event precedes that of the proposal.

    `text` is the hint, or the program to add.
    """

    proposal: int
    id: str
    act: SteeringAct
    text: str


@dataclass(frozen=True, slots=True)
class CallsChanged:
    """A model refuses a parameter, which its calls leave out or exchange from then on (`vulcan.models.accommodation`).

    `proposal` is the first that was answered so.
    """

    proposal: int
    model: str
    change: Literal["temperature", "max_tokens", "stream", "stream_options", "system", "name", "tools"]


@dataclass(frozen=True, slots=True)
class AdviceReceived:
    """The reply to a proposal for advice instead of a program: the model's lessons from the search so far."""

    proposal: int
    text: str


@dataclass(frozen=True, slots=True)
class CandidateJudged:
    """The verdict on a program that was read from a reply.

    `turn` counts the replies of a proposal from 0: later ones are repairs. `source` is empty where the reply held
    no program. `feedback` has the errors, and `warnings` the suspicious parts, as sent to the model. `score` is its
    mean objective on the split `train`, None unless it has one, and `rungs` the scores on cheaper versions of it;
    `operations` bounds a call of it and `size` counts its nodes; `of` is the candidate that it duplicates. `signature`
    identifies its decisions on a short probe. A candidate that the search derived from another one (`derived_from`) has
    that one's proposal and turn.
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
    size: int | None
    of: int | None
    score: float | None
    metrics: InstanceMetrics
    rungs: tuple[tuple[str, float], ...] = ()
    signature: str | None = None
    warnings: tuple[str, ...] = ()
    origin: Origin = "model"
    derived_from: int | None = None


@dataclass(frozen=True, slots=True)
class CandidateRefined:
    """The search tuned or simplified a candidate; `result` is the new candidate, None if none was better.

    `cost` is that of the evaluations, in scores on all the training instances; None where all of them were full scores.
    Each sample of a tuning has the values of the `constants` that it tried, and last the score.
    """

    candidate: int
    by: Literal["tuned", "simplified"]
    evaluations: int
    result: int | None
    cost: float | None = None
    constants: tuple[str, ...] = ()
    samples: tuple[tuple[float, ...], ...] = ()

    def __post_init__(self) -> None:
        if any(len(sample) != len(self.constants) + 1 for sample in self.samples):
            raise ValueError("a sample without a value of each constant and a score")


@dataclass(frozen=True, slots=True)
class FinalistScored:
    """A finalist was measured on a split that the search did not see; `score` is None where that failed."""

    candidate: int
    split: SplitName
    score: float | None
    metrics: InstanceMetrics


@dataclass(frozen=True, slots=True)
class WinnerChosen:
    """The winner, and the split on which it was chosen."""

    candidate: int
    split: SplitName


@dataclass(frozen=True, slots=True)
class HeldOutMeasured:
    """What the verdict needs besides the finalists, measured on held-out data; nothing is chosen by it.

    `metrics` has the results of the policies that the search began with, `windows` the blocks of time of each instance,
    and `on_windows` the results of candidates and baselines there.
    """

    metrics: tuple[tuple[int, SplitName, InstanceMetrics], ...]
    windows: tuple[tuple[SplitName, str, tuple[str, ...]], ...]
    on_windows: tuple[tuple[int | str, SplitName, InstanceMetrics], ...]


@dataclass(frozen=True, slots=True)
class RunStopped:
    """The run stopped: `finished`, `interrupted`, or `error` with the message."""

    reason: StopReason
    message: str = ""


Event = (
    RunStarted
    | InstancesPrepared
    | BaselineMeasured
    | ReferenceMeasured
    | WorkloadDescribed
    | LessonsLearnt
    | PolicyExplained
    | CandidateProposed
    | SearchSteered
    | CallsChanged
    | AdviceReceived
    | CandidateJudged
    | CandidateRefined
    | FinalistScored
    | WinnerChosen
    | HeldOutMeasured
    | RunStopped
)

EVENTS: Mapping[str, type[Event]] = {event.__name__: event for event in get_args(Event)}
"""Event class of each `kind`, as stored and printed: its name."""


_MOST = 2**60
"""More tokens, and dollars, than a call has."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call of a model, stored as soon as it is answered, in any order, because it may have been billed.

    `model` is the server's name of the model, and `by` the search's, where it has several.
    """

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
    by: str = ""

    def __post_init__(self) -> None:
        if any(not 0 <= cost <= _MOST for cost in (self.tokens_in, self.tokens_out, self.dollars) if cost is not None):
            raise ValueError("a cost that no call has")


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """A turn of a proposal was handed out through `ask`."""

    proposal: int
    turn: int


@dataclass(frozen=True, slots=True)
class InstructionTaken(SearchSteered):
    """The search took an instruction, to apply from a proposal on; `SearchSteered` is stored with that proposal."""


Arrival = CallRecord | QuestionAsked | InstructionTaken
"""What is recorded as soon as it happens, in whatever order: the events that follow from it come in order."""

Entry = Event | Arrival

ENTRIES: Mapping[str, type[Entry]] = {**EVENTS, **{arrival.__name__: arrival for arrival in get_args(Arrival)}}
"""Class of each kind of entry in the log of a run."""

JOURNALED: tuple[type[Entry], ...] = (RunStarted, CallRecord, QuestionAsked, InstructionTaken, RunStopped)
"""What cannot be computed again, and when a run stopped: the journal has these too."""
