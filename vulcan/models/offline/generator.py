"""The proposer `offline/evolve`: the offline generator, which is not a language model."""

from __future__ import annotations

import functools
import logging
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from vulcan.anvil import Rejected
from vulcan.models.base import Parent, Reply, Request
from vulcan.models.offline.breed import Breeder, Written
from vulcan.models.offline.several import SeveralBreeder
from vulcan.models.offline.vocabulary import vocabulary
from vulcan.task import Task

NAME = "offline/evolve"

log = logging.getLogger(__name__)


class OfflineEvolve:
    """Writes Anvil programs by itself, by typed mutation and crossover over a task's declared features.

    It reads the task's signature and the request's parents and operator, and no messages. A reply follows from
    `seed`, `proposal`, `turn`, `parents` and `operator` of its request alone. Safe to call from many threads.
    """

    def __init__(self, task: Task) -> None:
        self._breeder: _Breeder = SeveralBreeder(task) if task.others else Breeder(vocabulary(task))
        self._genome = functools.lru_cache(maxsize=64)(self._breeder.genome)  # a round's proposals share their parents

    @property
    def name(self) -> str:
        return NAME

    def propose(self, request: Request) -> Reply:
        started = time.perf_counter()
        rng = random.Random(f"{request.seed}:{request.proposal}:{request.turn}")
        written = self._breeder.write(rng, self._genomes(request), request.proposal, request.operator)
        text = f"{written.description}\n\n```python\n{written.policy.source}```\n"
        return Reply(text, NAME, "stop", None, None, 0.0, time.perf_counter() - started)

    def close(self) -> None:
        """Nothing is held open."""

    def _genomes(self, request: Request) -> list[Any]:
        """The parents that are programs of this task: in their order for an operator that tells them apart."""
        found: list[Any] = []
        for parent in _in_order(request):
            try:
                genome: Any = self._genome(parent.source)
            except Rejected as rejected:
                log.warning("candidate %d cannot be a parent: %s", parent.candidate, rejected)
                continue
            found.append(replace(genome, label=f"candidate {parent.candidate}"))
        return found


class _Breeder(Protocol):
    """What both breeders do; a genome is their own view of a parent, with a `label`."""

    def genome(self, source: str) -> Any: ...
    def write(self, rng: random.Random, parents: Sequence[Any], proposal: int, operator: str = "") -> Written: ...


def _in_order(request: Request) -> Sequence[Parent]:
    if request.operator == "crossover":
        return request.parents
    return sorted(request.parents, key=lambda parent: -parent.score)
