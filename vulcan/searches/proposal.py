"""Proposals: requests for a candidate, their state until a verdict, and the events that record them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from vulcan.models.base import Message, Parent, Reply, Request
from vulcan.searches.evaluation import CandidateEvaluation, StoppingContext
from vulcan.searches.reply import ParsedReply
from vulcan.searches.strategies import Draft
from vulcan.store import RunRecord
from vulcan.store.events import AdviceReceived, CallRecord, CandidateJudged, CandidateProposed, Event, Verdict

if TYPE_CHECKING:
    from vulcan.searches.conversation import Conversation
    from vulcan.searches.recorded_replies import RecordedReplies

ADVICE = "advice"
"""Operator of a proposal that asks for lessons from the search so far instead of a program."""

MAX_ADVICE = 2_000
"""Maximum length, in characters, of the stored reply to one."""

EMPTY_REPLY = "(an empty reply)"
"""The text of a reply that had none, in the chat that asks for its repair."""

ADDED = "added"
"""Operator of a proposal that a person made: its program is scored without a call of a model."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A request for one candidate. `turn` is 0 for the first reply, later for repairs in the same chat.

    `model` is the one that is to answer, and `tools` are those that it may call, in the form of the chat-completions
    API.
    """

    number: int
    turn: int
    draft: Draft
    model: str
    messages: tuple[Message, ...]
    seed: int
    tools: tuple[Mapping[str, Any], ...] = ()

    def request(self) -> Request:
        """Convert to the request that a proposer receives."""
        draft = self.draft
        parents = tuple(Parent(m.candidate, m.source, m.score) for m in draft.parents)
        return Request(
            self.number,
            self.turn,
            self.messages,
            parents,
            self.seed,
            draft.operator,
            draft.form,
            self.model,
            self.tools,
        )

    @property
    def name(self) -> str:
        """Its external name: `12`, its first repair `12.1`."""
        return turn_name(self.number, self.turn)

    @property
    def diff_of(self) -> str | None:
        """Source to which a reply in diff form applies."""
        return self.draft.parents[0].source if self.draft.form == "diff" and self.draft.parents else None

    def repaired(self, reply: str, repair: str) -> Proposal:
        """Return the next turn: the chat extended by the reply and its errors."""
        given = reply if reply.strip() else EMPTY_REPLY  # servers refuse a turn without text
        messages = (*self.messages, Message("assistant", given), Message("user", repair))
        return replace(self, turn=self.turn + 1, messages=messages)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A program that a turn of a proposal gave, or was to give; `trial` is None if it was not scored.

    `partial` says what it scored where it was measured on a part of the training data alone.
    """

    turn: int
    reading: ParsedReply
    trial: CandidateEvaluation | None
    partial: str = ""


@dataclass
class PendingProposal:
    """The state of a proposal that has no verdict yet.

    `before` are the events that precede its own: instructions that apply from it on, findings that its prompt was the
    first to need. `answered` is true once the open turn has its reply, `unpaid` if it has none because the budget was
    spent, `refused` if the model answers others, but not it. `attempts` has the drafts of a conversation too.
    """

    proposal: Proposal
    context: StoppingContext
    before: tuple[Event, ...] = ()
    conversation: Conversation | None = None
    attempts: list[Attempt] = field(default_factory=list)
    evaluation: CandidateEvaluation | None = None
    repair: Proposal | None = None
    unanswered: str | None = None
    unpaid: bool = False
    refused: bool = False
    advice: str | None = None
    answered: bool = False

    def __post_init__(self) -> None:
        if self.conversation is not None:
            self.attempts = self.conversation.attempts

    def knows(self, fingerprint: str, record: RunRecord) -> bool:
        """Check whether a program is of the record, or was measured in this proposal."""
        return record.candidate_with(fingerprint) is not None or any(
            a.trial is not None and a.reading.policy is not None and a.reading.policy.fingerprint == fingerprint
            for a in self.attempts
        )

    def last_turn(self, repairs: int, recording: RecordedReplies | None) -> int:
        """Return the last turn that the proposal may have; one that is repeated has no more than it had."""
        last = repairs if self.conversation is None else self.conversation.share.turns - 1
        return last if recording is None else recording.last_turns.get(self.proposal.number, last)

    def take_repair(self) -> Proposal | None:
        """Return the next turn of the chat, which is open from now on; None if it has none."""
        if (repair := self.repair) is not None:
            self.proposal, self.repair, self.answered = repair, None, False
        return repair

    @property
    def complete(self) -> bool:
        return self.answered and self.repair is None and (self.evaluation is None or self.evaluation.finished)

    def events(self, record: RunRecord) -> list[Event]:
        """Return the events of the proposal once its turn comes; `record` covers everything before it."""
        proposal, draft = self.proposal, self.proposal.draft
        parents = tuple(m.candidate for m in draft.parents)
        events: list[Event] = [
            *self.before,
            CandidateProposed(
                proposal.number,
                draft.round,
                draft.operator,
                parents,
                proposal.seed,
                proposal.model,
                draft.island,
                draft.form,
            ),
        ]
        advice = self.advice
        if self.conversation is not None and self.conversation.notes_made:
            advice = "\n".join(self.conversation.notes_made)
        if advice is not None:
            events.append(AdviceReceived(proposal.number, advice))
        next_candidate, drafts = len(record.candidates) + 1, dict[str, int]()
        for number, attempt in enumerate(self.attempts, next_candidate):
            made = judged(record, attempt, number, proposal.number, drafts)
            events.append(replace(made, origin="user") if draft.operator == ADDED else made)
            if attempt.trial is not None and made.fingerprint is not None:
                drafts.setdefault(made.fingerprint, number)
        unpaid_turn = self.unpaid and proposal.turn > 0
        if self.unanswered is not None and draft.operator != ADVICE and not unpaid_turn:
            number = next_candidate + len(self.attempts)
            events.append(_without_score(number, proposal.number, proposal.turn, "no-reply", self.unanswered))
        return events


def rest_is_unpaid(pending: Mapping[int, PendingProposal], last_answered: int) -> bool:
    """Check whether all pending proposals, as far as known, were asked when the budget was already exhausted.

    They then count as never asked, unless something later was answered.
    """
    first, left = next(iter(pending)), tuple(pending.values())
    return (
        left[0].unpaid
        and first > last_answered
        and all(not one.proposal.turn and (one.unpaid or not one.answered) for one in left)
    )


def judged(
    record: RunRecord, attempt: Attempt, candidate: int, proposal: int, drafts: Mapping[str, int] = {}
) -> CandidateJudged:
    """Return the verdict on a program; `drafts` has earlier ones of its proposal, by fingerprint."""
    turn, reading, trial = attempt.turn, attempt.reading, attempt.trial
    policy = reading.policy
    if policy is None:
        return _without_score(candidate, proposal, turn, "rejected", reading.feedback, reading.source, reading.rules)
    if attempt.partial:  # without a fingerprint: it may yet be measured on all of it
        return _without_score(candidate, proposal, turn, "stopped", attempt.partial, reading.source)
    verdict = CandidateJudged(
        candidate=candidate,
        proposal=proposal,
        turn=turn,
        source=reading.source,
        fingerprint=policy.fingerprint,
        verdict="duplicate",
        feedback="",
        rules=(),
        operations=policy.operations,
        size=policy.size,
        of=record.candidate_with(policy.fingerprint) or drafts.get(policy.fingerprint),
        score=None,
        metrics=(),
        warnings=tuple(map(str, policy.warnings)),
    )
    if verdict.of is not None or trial is None:
        return verdict
    assert trial.verdict is not None
    return replace(
        verdict,
        verdict=trial.verdict,
        feedback=trial.feedback,
        of=trial.duplicate_of,
        score=trial.score,
        metrics=trial.metrics,
        rungs=trial.rungs,
        signature=trial.signature,
    )


def call_record(proposal: Proposal, reply: Reply) -> CallRecord:
    """Convert the reply to a turn of a proposal to its record in the store, which holds no unpaired surrogates."""
    messages = tuple((m.role, m.content) for m in proposal.messages)
    kept = replace(reply, text=reply.text.encode(errors="replace").decode())
    return CallRecord(proposal.number, proposal.turn, messages, *astuple(kept))


def _without_score(
    candidate: int,
    proposal: int,
    turn: int,
    verdict: Verdict,
    feedback: str,
    source: str = "",
    rules: tuple[str, ...] = (),
) -> CandidateJudged:
    return CandidateJudged(
        candidate, proposal, turn, source, None, verdict, feedback, rules, None, None, None, None, ()
    )


def turn_name(number: int, turn: int) -> str:
    return f"{number}.{turn}" if turn else str(number)


def derived_seed(seed: int, number: int) -> int:
    """Derive a seed of 63 bits for one proposal, unrelated to those of its neighbours."""
    digest = hashlib.sha256(f"{seed}:{number}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
