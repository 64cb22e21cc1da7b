"""Shortens a policy by what its score does not need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vulcan.anvil import Policy, Rejected, check
from vulcan.anvil import program as p
from vulcan.anvil.emit_source import emit_source
from vulcan.anvil.rewriting.clean import cleaned
from vulcan.anvil.rewriting.rewrite import program_size
from vulcan.searches.cuts import Cut, cuts
from vulcan.searches.tune import Evaluate
from vulcan.task import Task

_BATCH = 8


@dataclass(frozen=True, slots=True)
class Simplified:
    """A smaller policy that scores about as high as the one it was made from.

    `size` and `before` are nodes of the program (`anvil.rewriting.rewrite.program_size`); `evaluations` counts the
    sources that were evaluated.
    """

    source: str
    score: float
    size: int
    before: int
    evaluations: int


@dataclass(frozen=True, slots=True)
class _Smaller:
    """A valid program smaller than the one at hand, and the cut that made it; None where it is only cleaned."""

    cut: Cut | None
    policy: Policy
    size: int


def simplify(
    source: str, task: Task, score: float, evaluate: Evaluate, *, evaluations: int, tolerance: float
) -> Simplified | None:
    """The smallest policy found that scores at least `score - tolerance`; None where none is smaller.

    Greedy: of eight cuts at a time (see `vulcan.searches.cuts`), those that were harmless before first and then the
    largest, the smallest program that keeps the score is taken, and cut again, until nothing helps or `evaluations`
    sources were evaluated. A cut that cost too much once is not tried again. `score` is that of the source by the
    same `evaluate`. Docstrings are kept, comments lost. The result follows from the arguments alone. Raises Rejected
    where the source is not a policy of the task.
    """
    policy = check(source, task)
    search = _Search(task, evaluate, score - tolerance, evaluations)
    best: tuple[_Smaller, float] | None = None
    while (found := search.step(policy)) is not None:
        best = found
        policy = found[0].policy
    if best is None:
        return None
    smaller, reached = best
    before = program_size(check(source, task).program)
    return Simplified(smaller.policy.source, reached, smaller.size, before, len(search.scores))


class _Search:
    def __init__(self, task: Task, evaluate: Evaluate, least: float, evaluations: int) -> None:
        self.task = task
        self.evaluate = evaluate
        self.least = least
        self.left = evaluations
        self.scores: dict[str, float | None] = {}
        self.harmless: set[Cut] = set()
        self.harmful: set[Cut] = set()

    def step(self, policy: Policy) -> tuple[_Smaller, float] | None:
        """The smallest acceptable of the first candidates of which any is, with its score."""
        candidates = sorted(self.candidates(policy), key=self.order)
        for start in range(0, len(candidates), _BATCH):
            found: list[tuple[_Smaller, float]] = []
            batch = self.measured(candidates[start : start + _BATCH])
            for candidate in batch:
                score = self.scores[candidate.policy.fingerprint]
                is_kept = score is not None and score >= self.least
                if candidate.cut is not None:
                    (self.harmless if is_kept else self.harmful).add(candidate.cut)
                if score is not None and is_kept:
                    found.append((candidate, score))
            if found:
                return min(found, key=lambda pair: (pair[0].size, -pair[1]))
            if self.left <= 0:
                break
        return None

    def order(self, candidate: _Smaller) -> tuple[bool, int, str]:
        untried = candidate.cut is not None and candidate.cut not in self.harmless
        return untried, candidate.size, candidate.policy.source

    def candidates(self, policy: Policy) -> Iterator[_Smaller]:
        """Every valid program that is smaller by a cut not known to be harmful, once."""
        size = program_size(policy.program)
        seen: set[str] = set()
        made: list[tuple[Cut | None, p.Program]] = [(None, policy.program)]
        made += [(cut, program) for cut, program in cuts(policy.program) if cut not in self.harmful]
        for cut, program in made:
            try:
                valid = check(self.written(program), self.task)  # only a valid program can be cleaned
                source = self.written(cleaned(valid.program))
                smaller = valid if source == valid.source else check(source, self.task)
            except Rejected:
                continue
            own = program_size(smaller.program)
            if own < size and smaller.fingerprint not in seen:
                seen.add(smaller.fingerprint)
                yield _Smaller(cut, smaller, own)

    def written(self, program: p.Program) -> str:
        return emit_source(program, self.task.interface)

    def measured(self, candidates: Sequence[_Smaller]) -> list[_Smaller]:
        """The candidates, from the first on, that could be evaluated within what is left."""
        known: list[_Smaller] = []
        new: dict[str, str] = {}
        for candidate in candidates:
            fingerprint = candidate.policy.fingerprint
            if fingerprint not in self.scores and fingerprint not in new:
                if len(new) == self.left:
                    break
                new[fingerprint] = candidate.policy.source
            known.append(candidate)
        if new:
            self.scores.update(zip(new, self.evaluate(list(new.values())), strict=True))
            self.left -= len(new)
        return known
