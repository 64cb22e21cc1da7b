"""Proposals: requests for a candidate, their state until a verdict, and the events that record them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from vulcan.models import Message, Parent, Reply, Request
from vulcan.searches.evaluation import CandidateEvaluation, StoppingContext
from vulcan.searches.reply import ParsedReply
from vulcan.searches.strategies import Draft
from vulcan.store import RunRecord
from vulcan.store.events import (
    AdviceReceived,
    CallRecord,
    CandidateJudged,
    CandidateProposed,
    Event,
    Verdict,
)

ADVICE = "advice"
"""Operator of a proposal that asks for lessons from the search so far instead of a program."""

EMPTY_REPLY = "(an empty reply)"
"""The text of a reply that had none, in the chat that asks for its repair."""

ADDED = "added"
"""Operator of a proposal that a person made: its program is scored without a call of a model."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A request for one candidate. `turn` is 0 for the first reply, later for repairs in the same chat.

    `progress` is the share of the search that precedes it, and `model` the one that is to answer.
    """

    number: int
    turn: int
    draft: Draft
    model: str
    messages: tuple[Message, ...]
    seed: int
    progress: float

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
            self.progress,
            self.model,
        )

    @property
    def diff_of(self) -> str | None:
        """Source to which a reply in diff form applies."""
        return self.draft.parents[0].source if self.draft.form == "diff" and self.draft.parents else None

    def repaired(self, reply: str, repair: str) -> Proposal:
        """Return the next turn: the chat extended by the reply and its errors."""
        given = reply if reply.strip() else EMPTY_REPLY  # servers refuse a turn without text
        messages = (*self.messages, Message("assistant", given), Message("user", repair))
        return replace(self, turn=self.turn + 1, messages=messages)


@dataclass
class PendingProposal:
    """The state of a proposal that has no verdict yet.

    `before` are the events that precede its own: instructions that apply from it on, findings that its prompt was the
    first to need. `answered` is true once the open turn has its reply, `unpaid` if it has none because the budget was
    spent, `refused` if the model answers others, but not it.
    """

    proposal: Proposal
    context: StoppingContext
    before: tuple[Event, ...] = ()
    replies: list[ParsedReply] = field(default_factory=list)
    evaluation: CandidateEvaluation | None = None
    repair: Proposal | None = None
    unanswered: str | None = None
    unpaid: bool = False
    refused: bool = False
    advice: str | None = None
    answered: bool = False

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
        if self.advice is not None:
            events.append(AdviceReceived(proposal.number, self.advice))
        next_candidate = len(record.candidates) + 1
        for turn, reading in enumerate(self.replies):
            trial = self.evaluation if reading.policy is not None else None
            made = judged(record, reading, next_candidate + turn, proposal.number, turn, trial)
            events.append(replace(made, origin="user") if draft.operator == ADDED else made)
        unpaid_repair = self.unpaid and self.replies
        if self.unanswered is not None and draft.operator != ADVICE and not unpaid_repair:
            turn = len(self.replies)
            events.append(_without_score(next_candidate + turn, proposal.number, turn, "no-reply", self.unanswered))
        return events


def rest_is_unpaid(pending: Mapping[int, PendingProposal], last_answered: int) -> bool:
    """Check whether all pending proposals, as far as known, were asked when the budget was already exhausted.

    They then count as never asked, unless something later was answered.
    """
    first, left = next(iter(pending)), tuple(pending.values())
    return (
        left[0].unpaid
        and first > last_answered
        and all(not one.replies and (one.unpaid or not one.answered) for one in left)
    )


def judged(
    record: RunRecord, reading: ParsedReply, candidate: int, proposal: int, turn: int, trial: CandidateEvaluation | None
) -> CandidateJudged:
    """Return the verdict on a program; `trial` is None if it was not scored."""
    policy = reading.policy
    if policy is None:
        return _without_score(candidate, proposal, turn, "rejected", reading.feedback, reading.source, reading.rules)
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
        of=record.candidate_with(policy.fingerprint),
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


def storable(reply: Reply) -> Reply:
    """Replace unpaired surrogates, which cannot be encoded as UTF-8."""
    return replace(reply, text=reply.text.encode(errors="replace").decode())


def call_record(proposal: Proposal, reply: Reply) -> CallRecord:
    """Convert the reply to a turn of a proposal to its record in the store."""
    return CallRecord(
        proposal.number,
        proposal.turn,
        tuple((m.role, m.content) for m in proposal.messages),
        reply.text,
        reply.model,
        reply.finish,
        reply.tokens_in,
        reply.tokens_out,
        reply.dollars,
        reply.seconds,
        reply.by,
    )


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


def derived_seed(seed: int, number: int) -> int:
    """Derive a seed of 63 bits for one proposal, unrelated to those of its neighbours."""
    digest = hashlib.sha256(f"{seed}:{number}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
