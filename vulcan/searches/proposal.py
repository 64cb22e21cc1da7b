"""What a search asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from vulcan.models import Message, Parent, Request
from vulcan.searches.strategies import Draft

ADVICE = "advice"
"""The operator of a proposal that asks for lessons from the search so far, and not for a program."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A request for one candidate. `turn` is 0 for the first reply, later for repairs in the same chat.

    `progress` is the share of the search that lies before it, and `model` what is to answer.
    """

    number: int
    turn: int
    draft: Draft
    model: str
    messages: tuple[Message, ...]
    seed: int
    progress: float

    def request(self) -> Request:
        """The same as a proposer sees it."""
        draft = self.draft
        parents = tuple(Parent(m.candidate, m.source, m.score) for m in draft.parents)
        return Request(
            self.number, self.turn, self.messages, parents, self.seed, draft.operator, draft.form, self.progress,
            self.model,
        )  # fmt: skip

    @property
    def diff_of(self) -> str | None:
        """The source that a reply in the form of a diff is against."""
        return self.draft.parents[0].source if self.draft.form == "diff" and self.draft.parents else None

    def repaired(self, reply: str, repair: str) -> Proposal:
        """The next turn: the reply and what was wrong with it added to the chat."""
        messages = (*self.messages, Message("assistant", reply), Message("user", repair))
        return replace(self, turn=self.turn + 1, messages=messages)
