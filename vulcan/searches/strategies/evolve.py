"""The strategy `evolve`: islands of MAP-Elites archives, with operators that suit the model.

An archive has one elite per cell, the kind of candidate that competes for it (Mouret and Clune, 2015). Islands evolve
separately and migrate their best at intervals. The schedule chooses the operator and its parents; a reply is to give
the whole program or a diff, depending on what the model has been seen to handle.
"""

from __future__ import annotations

import ast
import math
import random
from collections.abc import Sequence
from functools import lru_cache
from statistics import fmean

from vulcan.anvil.parse import syntax_tree
from vulcan.searches.config import SearchConfig
from vulcan.searches.options import DiffPolicy
from vulcan.searches.population import JudgedReply, Population, ScoredCandidate
from vulcan.searches.strategies.base import Draft, Form, Strategy

Cell = tuple[tuple[str, ...], int]
"""Behaviour, and complexity on a logarithmic scale."""

Reference = tuple[float, ...]


def cell_of(member: ScoredCandidate, reference: Reference) -> Cell:
    """Return the cell of a candidate.

    With several instances its behaviour is the one on which it gains most over `reference`, the scores of an ordinary
    candidate. With one instance it is the set of names that the program reads.
    """
    complexity = int(math.log2(max(member.size, 1)))
    return (strength(member, reference) if len(member.scores) > 1 else reads(member.source)), complexity


def strength(member: ScoredCandidate, reference: Reference) -> tuple[str, ...]:
    """Return the index of the instance with the largest gain over the reference; ties go to the first."""
    gains = [score - usual for score, usual in zip(member.scores, reference, strict=True)]
    return (str(max(range(len(gains)), key=lambda i: (gains[i], -i))),)


@lru_cache(10_000)  # for every candidate before a draft
def reads(source: str) -> tuple[str, ...]:
    """Return the features and statistics that a program reads, as `now`, `obj.size` and `obj.count.ewma`, sorted."""
    tree = syntax_tree(source)
    entry = [node for node in tree.body if isinstance(node, ast.FunctionDef)][-1:]
    arguments = {a.arg for function in entry for a in function.args.args}
    found: set[str] = set()
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        name = _dotted(node)
        if name is None:
            pending.extend(ast.iter_child_nodes(node))
        elif not name.startswith("math.") and ("." in name or name in arguments):
            found.add(name)
    return tuple(sorted(found))


def _dotted(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value)
        return owner and f"{owner}.{node.attr}"
    return None


def rank(member: ScoredCandidate) -> tuple[float, int]:
    """Return a sort key: the best first; ties go to the earlier."""
    return -member.score, member.candidate


class Archive:
    """A MAP-Elites archive: each cell holds the best of its candidates so far."""

    def __init__(self) -> None:
        self.elites: dict[Cell, ScoredCandidate] = {}

    def add(self, cell: Cell, member: ScoredCandidate) -> None:
        """Add a candidate, which is now the cell's elite if it is better."""
        self.elites[cell] = min(self.elites.get(cell, member), member, key=rank)

    def ranked(self) -> list[ScoredCandidate]:
        """Return the elites of all cells, the best first."""
        return sorted(self.elites.values(), key=rank)


class Islands:
    """A ring of archives, filled with a population in its order.

    A candidate belongs to the island it was made on, a seed policy or the user's own to all. After every
    `migrate_every` candidates the best of each island is copied to the next one on the ring.
    """

    def __init__(self, count: int, migrate_every: int, members: Sequence[ScoredCandidate]) -> None:
        self.archives = tuple(Archive() for _ in range(count))
        reference = _usual([m for m in members if m.origin == "seed"] or members[:1])
        self._cells = {member.candidate: cell_of(member, reference) for member in members}
        placed = 0
        for member in members:
            if member.origin in ("seed", "user"):
                for archive in self.archives:
                    archive.add(self.cell(member), member)
                continue
            self.archives[member.island % count].add(self.cell(member), member)
            placed += 1
            if placed % migrate_every == 0:
                self._migrate()

    def cell(self, member: ScoredCandidate) -> Cell:
        """Return the cell of a member."""
        return self._cells[member.candidate]

    def best(self, count: int) -> tuple[ScoredCandidate, ...]:
        """Return the best elites of all islands, without duplicates, the best first."""
        found = {m.candidate: m for archive in self.archives for m in archive.ranked()[:count]}
        return tuple(sorted(found.values(), key=rank)[:count])

    def _migrate(self) -> None:
        leaving = [min(archive.elites.values(), key=rank, default=None) for archive in self.archives]
        for index, traveller in enumerate(leaving):
            if traveller is not None:
                self.archives[(index + 1) % len(self.archives)].add(self.cell(traveller), traveller)


def _usual(members: Sequence[ScoredCandidate]) -> Reference:
    """Return the mean score on each instance."""
    return tuple(fmean(column) for column in zip(*(m.scores for m in members), strict=True))


_MEDIAN = 0.6931471805599453
"""Median of the exponential distribution with mean 1."""

_HALVES = 10.0
"""Programs that build on nothing are all of the first proposals; their share halves every so many proposals."""

_CROSSOVER, _FRESH = 0.2, 0.1
"""Shares of all other proposals; the rest mutate."""

_UNIFORM, _HALF_RANK = 0.15, 2.0
"""Share of parents that are drawn uniformly from all elites; for the others the odds halve every so many ranks."""


def choose_operator(rng: random.Random, started: float, elites: int) -> str:
    """Draw an operator, given the share of proposals that build on nothing, and the number of `elites`."""
    if elites == 0 or rng.random() < started:
        return "initial"
    drawn = rng.random()
    if drawn < _FRESH:
        return "fresh"
    return "crossover" if drawn < _FRESH + _CROSSOVER and elites > 1 else "mutate"


def choose_parents(rng: random.Random, operator: str, archive: Archive, most: int) -> tuple[ScoredCandidate, ...]:
    """Draw distinct elites, in order: one for `mutate`, up to `most` for `crossover`, none for other operators."""
    if operator not in ("mutate", "crossover"):
        return ()
    left = archive.ranked()
    count = min(1 if operator == "mutate" else most, len(left))
    return tuple(left.pop(_rank(rng, len(left))) for _ in range(count))


def _rank(rng: random.Random, count: int) -> int:
    if rng.random() >= _UNIFORM:
        drawn = int(rng.expovariate(_MEDIAN / _HALF_RANK))
        if drawn < count:
            return drawn
    return rng.randrange(count)


_TRIALS = 6
"""Minimum number of replies in a form before its share of usable ones is judged."""

_TRYING = 0.2
_PREFERRED = 0.7
_AVOIDED = 0.05
"""Shares of diffs: on trial, if they do as well as whole programs, and if they do not."""

_AS_WELL = 0.95


def choose_form(policy: DiffPolicy, attempts: Sequence[JudgedReply], rng: random.Random) -> Form:
    """Choose the form of the next reply.

    Under `auto` whole programs are requested until there are some, then a few diffs, and then mostly diffs as long as
    the share of first replies that hold a usable program is about as high with them: weak models do better with whole
    programs.
    """
    if policy != "auto":
        return "diff" if policy == "always" else "full"
    return "diff" if rng.random() < _share_of_diffs(attempts) else "full"


def _share_of_diffs(attempts: Sequence[JudgedReply]) -> float:
    full = usable_share(attempts, "full")
    if full is None:
        return 0.0
    diffs = usable_share(attempts, "diff")
    if diffs is None:
        return _TRYING
    return _PREFERRED if diffs >= _AS_WELL * full else _AVOIDED


def usable_share(attempts: Sequence[JudgedReply], form: Form) -> float | None:
    """Return the share of first replies in a form with a usable program; None while there are too few."""
    first = [a for a in attempts if a.form == form and a.turn == 0 and a.verdict != "no-reply"]
    if len(first) < _TRIALS:
        return None
    return sum(a.verdict != "rejected" for a in first) / len(first)


_ISLAND = 200
"""Minimum number of proposals per island: a short search has fewer islands than its maximum."""

_FIRST = 15
"""A search has `initial` programs in about a tenth of its proposals at most: their share halves within total / 15."""

_INSPIRATIONS = 2
_FAILURES = 8
_SUCCESSES = 4


class Evolve(Strategy):
    """The strategy `evolve`: parents from one island's archive, inspirations from its other cells and all islands.

    Islands take turns; a short search has fewer of them. At intervals the model is asked for lessons instead of a
    program; later prompts show them.
    """

    def __init__(self, config: SearchConfig) -> None:
        super().__init__(config.candidates, config.samples, config.in_flight)
        self._config = config
        self._island_count = max(1, min(config.islands, self.total // _ISLAND))
        # a short search would else go by with programs that build on none of its own
        self._halves = min(_HALVES, self.total / _FIRST)

    def draft(self, number: int, population: Population, rng: random.Random) -> Draft:
        islands = Islands(self._island_count, self._config.migrate_every, population.members)
        if (every := self._config.advice_every) and (number + 1) % every == 0:
            return self._for_advice(self.round(number), every, population, islands)
        island = number % self._island_count
        operator = choose_operator(rng, 0.5 ** (number / self._halves), len(islands.archives[island].elites))
        return self._for_model(rng, self.round(number), operator, island, population, islands)

    def _for_model(
        self, rng: random.Random, round_: int, operator: str, island: int, population: Population, islands: Islands
    ) -> Draft:
        """Draft a proposal whose prompt shows the parents and further candidates."""
        archive = islands.archives[island]
        if operator == "initial":
            shown = tuple(m for m in population.members if m.origin == "seed")
            return Draft(round_, operator, shown, island=island)
        parents = choose_parents(rng, operator, archive, max(self._config.parents, 2))
        inspirations = _inspirations(rng, parents, archive, islands)
        form = choose_form(self._config.diff, population.attempts, rng) if operator == "mutate" else "full"
        return Draft(round_, operator, parents, inspirations, island, form, _latest(population))

    def _for_advice(self, round_: int, every: int, population: Population, islands: Islands) -> Draft:
        best = islands.best(self._config.parents)
        improved = _improvements(population.members[-every:], population.members)
        successes = tuple(m for m in improved if m not in best)[:_SUCCESSES]
        failures = _distinct(population.attempts[-3 * every :])
        return Draft(round_, "advice", best, successes, 0, "full", _latest(population), failures)


def _inspirations(
    rng: random.Random, parents: Sequence[ScoredCandidate], archive: Archive, islands: Islands
) -> tuple[ScoredCandidate, ...]:
    """Return the best of all, and elites of cells other than the parents', favouring better ones."""
    shown = {m.candidate for m in parents}
    best = [m for m in islands.best(1) if m.candidate not in shown]
    cells = {islands.cell(m)[0] for m in (*parents, *best)}
    others = [m for m in archive.ranked() if m.candidate not in shown and islands.cell(m)[0] not in cells]
    while others and len(best) < _INSPIRATIONS:
        found = others[int(len(others) * rng.random() ** 2)]
        best.append(found)
        cells.add(islands.cell(found)[0])
        others = [m for m in others if islands.cell(m)[0] not in cells]
    return tuple(best)


def _latest(population: Population) -> str:
    return population.advice[-1][1] if population.advice else ""


def _improvements(recent: Sequence[ScoredCandidate], members: Sequence[ScoredCandidate]) -> list[ScoredCandidate]:
    """Return the members that beat the best of their parents, by decreasing gain."""
    scores = {m.candidate: m.score for m in members}
    gains: list[tuple[float, ScoredCandidate]] = []
    for member in recent:
        known = [scores[p] for p in member.parents if p in scores]
        if known and member.score > max(known):
            gains.append((member.score - max(known), member))
    return [m for _, m in sorted(gains, key=lambda pair: (-pair[0], pair[1].candidate))]


def _distinct(attempts: Sequence[JudgedReply]) -> tuple[JudgedReply, ...]:
    """Return the latest failures, one per distinct feedback."""
    found: dict[str, JudgedReply] = {}
    for attempt in reversed(attempts):
        if attempt.feedback and attempt.verdict not in ("scored", "no-reply"):
            found.setdefault(attempt.feedback, attempt)
    return tuple(found.values())[:_FAILURES]
