"""Members and attempts of a made-up search, for the tests of strategies and prompts."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from locations import TASKS

from vulcan.registry import find_task
from vulcan.searches.population import Population, ScoredCandidate

TASK = find_task(str(TASKS / "mood_task"))

SEEDS = 3
"""The seed policies of a made-up search: candidates 1 to 3."""

_MEMBER = ScoredCandidate(1, 1, "def decide(load, room):\n    return load\n", 0.0, (0.0,), 8)


def member(candidate: int, score: float = 0.0, **changes: Any) -> ScoredCandidate:
    """A member with one instance."""
    return replace(_MEMBER, **{"candidate": candidate, "score": score, "scores": (score,), **changes})


def seeds() -> list[ScoredCandidate]:
    return [member(i, 0.1 * i, round=0, origin="seed") for i in range(1, SEEDS + 1)]


def reading(*names: str) -> str:
    """A program that reads these features."""
    return f"def decide(load, room):\n    return {' + '.join(names) or '1.0'}\n"


FEATURES = ("load.now", "load.count", "load.count.ewma(0.5)", "room.free", "room.size", "load")


def made_up(rng: random.Random, number: int, islands: int, instances: int = 1) -> ScoredCandidate:
    """What might have become of proposal `number`, counted from 0, of a search with that many islands."""
    scores = tuple(rng.uniform(-1.0, 1.0) for _ in range(instances))
    return member(
        SEEDS + 1 + number,
        sum(scores) / instances,
        scores=scores,
        source=reading(*sorted(rng.sample(FEATURES, rng.randint(1, 3)))),
        size=rng.randint(4, 200),
        island=number % islands,
    )


def population(rng: random.Random, count: int, islands: int = 4, instances: int = 1) -> Population:
    """The seed policies and the members of `count` proposals, of which one in five came to nothing."""
    found = [replace(s, scores=tuple(s.score for _ in range(instances))) for s in seeds()]
    found += [made_up(rng, number, islands, instances) for number in range(count) if rng.random() < 0.8]
    return Population(found)
