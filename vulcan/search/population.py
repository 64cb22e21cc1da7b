"""The candidates that a strategy builds on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Member:
    """A scored candidate; a higher score is better."""

    candidate: int
    round: int
    source: str
    score: float


class Population:
    """Every scored candidate so far, in the order in which they came."""

    def __init__(self, members: Iterable[Member] = ()) -> None:
        self._members = list(members)

    def add(self, member: Member) -> None:
        self._members.append(member)

    def __len__(self) -> int:
        return len(self._members)

    def best(self, count: int, *, before_round: int) -> tuple[Member, ...]:
        """The best of the rounds before one; of equals the earlier."""
        earlier = [m for m in self._members if m.round < before_round]
        return tuple(sorted(earlier, key=lambda m: (-m.score, m.candidate))[:count])
