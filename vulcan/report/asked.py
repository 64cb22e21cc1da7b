"""What somebody who answers the prompts of a search is told."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from vulcan.searches.conversation import Conversation, Told, asks_for_advice, name_of
from vulcan.searches.proposal import Proposal


def asked_document(conversation: Conversation, given: Proposal | None) -> dict[str, Any]:
    """A proposal that was given out, or why there is none: `open` are those that wait for a reply."""
    return {
        **(_NOTHING if given is None else _proposal(given)),
        "open": [name_of(proposal) for proposal in conversation.open()],
        "settled": conversation.study.settled,
        "total": conversation.study.total,
        "over": conversation.over,
    }


def told_document(conversation: Conversation, told: Told) -> dict[str, Any]:
    """What became of a reply, and the best candidate so far."""
    best = conversation.study.record.ranked()[:1]
    leader = {"candidate": best[0].candidate, "score": best[0].score} if best else None
    return {**asdict(told), "warnings": list(told.warnings), "best": leader}


_NOTHING: dict[str, Any] = {
    "proposal": None, "wants": None, "operator": None, "form": None, "parents": [], "messages": [],
}  # fmt: skip


def _proposal(given: Proposal) -> dict[str, Any]:
    return {
        "proposal": name_of(given),
        "wants": "advice" if asks_for_advice(given) else "policy",
        "operator": given.draft.operator,
        "form": given.draft.form,
        "parents": [member.candidate for member in given.draft.parents],
        "messages": [asdict(message) for message in given.messages],
    }
