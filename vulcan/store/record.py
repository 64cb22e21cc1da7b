"""The state of a run: a fold over its events."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vulcan.errors import UserError
from vulcan.evaluator import BaselineKind, Instance, Rung, SplitName
from vulcan.store.events import (
    AdviceReceived,
    BaselineMeasured,
    CallsChanged,
    CandidateJudged,
    CandidateProposed,
    CandidateRefined,
    Event,
    FinalistScored,
    HeldOutMeasured,
    InstancesPrepared,
    LessonsLearnt,
    PolicyExplained,
    ReferenceMeasured,
    RunStarted,
    RunStopped,
    SearchSteered,
    WinnerChosen,
    WorkloadDescribed,
)

_WITHOUT_SCORING = ("duplicate", "rejected", "no-reply")


@dataclass
class RunRecord:
    """The state of a run, accumulated from its events by `add`; `config` is that of the last of `searches`."""

    config: dict[str, Any] = field(default_factory=dict)
    repeats: str = ""
    searches: list[RunStarted] = field(default_factory=list)
    version: str = ""
    instances: tuple[Instance, ...] = ()
    rungs: tuple[Rung, ...] = ()
    notes: tuple[str, ...] = ()
    references: dict[tuple[str, str], ReferenceMeasured] = field(default_factory=dict)
    baselines: dict[tuple[str, SplitName], BaselineMeasured] = field(default_factory=dict)
    workload: WorkloadDescribed | None = None
    lessons: LessonsLearnt | None = None
    explained: dict[int, PolicyExplained] = field(default_factory=dict)
    proposals: dict[int, CandidateProposed] = field(default_factory=dict)
    candidates: dict[int, CandidateJudged] = field(default_factory=dict)
    advice: dict[int, str] = field(default_factory=dict)
    steered: list[SearchSteered] = field(default_factory=list)
    calls_changed: list[CallsChanged] = field(default_factory=list)
    refined: list[CandidateRefined] = field(default_factory=list)
    confirmed: dict[tuple[int, SplitName], FinalistScored] = field(default_factory=dict)
    chosen: WinnerChosen | None = None
    held_out: HeldOutMeasured | None = None
    stopped: RunStopped | None = None
    _fingerprints: dict[str, int] = field(default_factory=dict)
    _ranked: list[CandidateJudged] = field(default_factory=list)

    @classmethod
    def of(cls, events: Iterable[Event]) -> RunRecord:
        record = cls()
        for event in events:
            record.add(event)
        return record

    def add(self, event: Event) -> None:
        """Take one more event. Raises UserError where it names a proposal or a candidate that none before it made."""
        self._check(event)
        self.stopped = None
        match event:
            case RunStarted():
                self.searches.append(event)
                self.config, self.version, self.repeats = event.config, event.version, event.repeats
            case InstancesPrepared(instances, rungs, notes):
                self.instances = tuple(Instance(**instance) for instance in instances)  # type: ignore[arg-type]
                self.rungs = tuple(map(_rung, rungs))
                self.notes = notes
            case ReferenceMeasured(policy, rung):
                self.references[policy, rung] = event
            case BaselineMeasured(policy, _, split):
                self.baselines[policy, split] = event
            case WorkloadDescribed():
                self.workload = event
            case LessonsLearnt():
                self.lessons = event
            case PolicyExplained(candidate):
                self.explained[candidate] = event
            case CandidateProposed(proposal):
                self.proposals[proposal] = event
            case CandidateJudged(candidate):
                self.candidates[candidate] = event
                if event.verdict not in _WITHOUT_SCORING and event.fingerprint is not None:
                    self._fingerprints[event.fingerprint] = candidate
                if event.score is not None and event.verdict == "scored":
                    insort(self._ranked, event, key=lambda one: (-(one.score or 0.0), one.candidate))
            case AdviceReceived(proposal, text):
                self.advice[proposal] = text
            case SearchSteered():
                self.steered.append(event)
            case CallsChanged():
                self.calls_changed.append(event)
            case CandidateRefined():
                self.refined.append(event)
            case HeldOutMeasured():
                self.held_out = event
            case FinalistScored(candidate, split):
                self.confirmed[candidate, split] = event
            case WinnerChosen():
                self.chosen = event
            case RunStopped():
                self.stopped = event

    def _check(self, event: Event) -> None:
        candidates: tuple[int, ...] = ()
        match event:
            case CandidateProposed(parents=parents):
                candidates = parents
            case CandidateJudged(proposal=proposal, derived_from=derived_from):
                if proposal not in self.proposals:
                    raise UserError(f"the run contradicts itself: it judges proposal {proposal}, and has none such")
                candidates = () if derived_from is None else (derived_from,)
            case CandidateRefined(candidate) | FinalistScored(candidate) | WinnerChosen(candidate):
                candidates = (candidate,)
        if missing := [number for number in candidates if number not in self.candidates]:
            raise UserError(f"the run contradicts itself: it names candidate {missing[0]}, and has none such")

    def candidate_with(self, fingerprint: str) -> int | None:
        """Return the candidate of an equal program that was scored, or failed in scoring."""
        return self._fingerprints.get(fingerprint)

    def best_parent_of(self, candidate: int) -> CandidateJudged | None:
        """Return the parent of a candidate with the highest score; None where none has one."""
        parents = [self.candidates[n] for n in self.parents_of(candidate) if n in self.candidates]
        scored = [parent for parent in parents if parent.score is not None]
        return max(scored, key=lambda parent: parent.score or 0.0, default=None)

    def candidate(self, number: int, run: object) -> CandidateJudged:
        """Return a candidate by its number. Raises UserError, with the run's name, where there is none."""
        if number not in self.candidates:
            raise UserError(f"{run} has no candidate {number}: they go from 1 to {len(self.candidates)}")
        return self.candidates[number]

    def ranked(self) -> list[CandidateJudged]:
        """Return the scored candidates, the best first; ties go to the earlier."""
        return list(self._ranked)

    def best(self) -> CandidateJudged | None:
        """Return the winner, or the best-scoring candidate until there is one."""
        if self.chosen is not None:
            return self.candidates[self.chosen.candidate]
        return next(iter(self.ranked()), None)

    def score_of(self, candidate: int, split: SplitName) -> float | None:
        """Return a candidate's mean objective on a split; None where it was not measured there, or failed."""
        if split == "train":
            return self.candidates[candidate].score
        confirmed = self.confirmed.get((candidate, split))
        return confirmed.score if confirmed else None

    def best_baseline(self, split: SplitName, kind: BaselineKind = "baseline") -> BaselineMeasured | None:
        """Return the baseline of the kind with the highest score on a split."""
        known = [b for (_, s), b in self.baselines.items() if s == split and b.kind == kind]
        return max(known, key=lambda b: b.score, default=None)

    def named_baseline(self, split: SplitName) -> BaselineMeasured | None:
        """Return, as measured on a split, the baseline that is best on validation, or on train if nothing is held out.

        It is the one that a user would take without a search: of the best one on test nobody knows beforehand.
        """
        held_out = any(where == "validation" for _, where in self.baselines)
        best = self.best_baseline("validation" if held_out else "train")
        return None if best is None else self.baselines.get((best.policy, split))

    def parents_of(self, candidate: int) -> tuple[int, ...]:
        """Return the candidates from which one was derived."""
        judged = self.candidates[candidate]
        return self.proposals[judged.proposal].parents if judged.derived_from is None else (judged.derived_from,)

    def verdicts(self) -> dict[str, int]:
        """Count the candidates per verdict."""
        return dict(Counter(c.verdict for c in self.candidates.values()))


def _rung(plain: Mapping[str, Any]) -> Rung:
    instances = tuple(Instance(**instance) for instance in plain["instances"])
    return Rung(plain["name"], instances, plain["keep"], plain.get("cost", 1.0))
