"""What a strategy decides from: the scored candidates, everything that was judged, and the advice so far."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vulcan.store.events import Origin, Verdict


@dataclass(frozen=True, slots=True)
class ScoredCandidate:
    """A scored candidate.

    `score` is its mean objective on the split `train`, higher is better, and `scores` the objective on each of the
    instances there, in their order. `operations` bounds a call statically, `size` counts the nodes of the program.
    `parents` are candidates. `warnings` has one line each, as a model is told.
    """

    candidate: int
    proposal: int
    round: int
    source: str
    score: float
    scores: tuple[float, ...]
    operations: int
    size: int
    operator: str
    island: int
    model: str
    parents: tuple[int, ...]
    origin: Origin
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JudgedReply:
    """A reply that was judged, whether its program got a score or not, and also one without a program.

    `feedback` is what the model was told, empty where nothing was wrong; `form` is how the reply was to give the
    program: "full" or "diff".
    """

    proposal: int
    turn: int
    candidate: int
    operator: str
    form: str
    model: str
    verdict: Verdict
    feedback: str
    score: float | None
    parents: tuple[int, ...]
    island: int


class Population:
    """What had settled before a barrier: append-only, in the order of candidates, attempts and advice proposals."""

    def __init__(
        self,
        members: Iterable[ScoredCandidate] = (),
        attempts: Iterable[JudgedReply] = (),
        advice: Iterable[tuple[int, str]] = (),
    ) -> None:
        self._members = list(members)
        self._attempts = list(attempts)
        self._advice = list(advice)

    @property
    def members(self) -> tuple[ScoredCandidate, ...]:
        """Every scored candidate, in the order of candidates."""
        return tuple(self._members)

    @property
    def attempts(self) -> tuple[JudgedReply, ...]:
        """Everything that was judged, in the order of candidates."""
        return tuple(self._attempts)

    @property
    def advice(self) -> tuple[tuple[int, str], ...]:
        """The text of each settled advice proposal, with its proposal."""
        return tuple(self._advice)

    def add(self, member: ScoredCandidate) -> None:
        self._members.append(member)

    def add_attempt(self, attempt: JudgedReply) -> None:
        self._attempts.append(attempt)

    def add_advice(self, proposal: int, text: str) -> None:
        self._advice.append((proposal, text))

    def __len__(self) -> int:
        """The number of members."""
        return len(self._members)

    def best(self, count: int, *, before_round: int | None = None) -> tuple[ScoredCandidate, ...]:
        """The best members, of those of the rounds before one where it is given; of equals the earlier."""
        chosen = [m for m in self._members if before_round is None or m.round < before_round]
        return tuple(sorted(chosen, key=lambda m: (-m.score, m.candidate))[:count])
