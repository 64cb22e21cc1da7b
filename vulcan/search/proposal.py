"""What a search asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from vulcan.models import Message, Parent, Request
from vulcan.search.population import Member


@dataclass(frozen=True, slots=True)
class Proposal:
    """A request for one candidate. `turn` is 0 for the first reply, later for repairs in the same chat."""

    number: int
    turn: int
    round: int
    operator: str
    parents: tuple[Member, ...]
    messages: tuple[Message, ...]
    seed: int

    def request(self) -> Request:
        """The same as a proposer sees it."""
        parents = tuple(Parent(m.candidate, m.source, m.score) for m in self.parents)
        return Request(self.number, self.turn, self.messages, parents, self.seed)

    def repaired(self, reply: str, repair: str) -> Proposal:
        """The next turn: the reply and what was wrong with it added to the chat."""
        messages = (*self.messages, Message("assistant", reply), Message("user", repair))
        return replace(self, turn=self.turn + 1, messages=messages)
