"""A search with all that a search can have, in a second, and what a model might answer to it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from search_parts import CROWD, TASK, Scripted, as_reply, evidence, lineup, mood, racing, share

from vulcan.models.base import Proposer, Request
from vulcan.scoring import Executor
from vulcan.searches import session
from vulcan.searches.config import SearchConfig
from vulcan.searches.model_pool import ModelPool
from vulcan.searches.recorded_replies import RecordedReplies
from vulcan.searches.session import ExecutionConfig, RunDisplay, run_search
from vulcan.store import Store
from vulcan.store.events import Event

LOCAL = ExecutionConfig("local", 2)


def rich(**changes: Any) -> SearchConfig:
    """Islands, advice, repairs, rungs, two parts of a crowd, tuning, simplification and finalists."""
    plain: dict[str, Any] = {
        "strategy": "evolve", "objective": "calm", "rounds": 4, "samples": 9, "in_flight": 5, "islands": 2,
        "migrate_every": 6, "advice_every": 11, "repairs": 2, "tune": 8, "simplify": 12, "finalists": 3,
        "seed": 22, "settings": {"crowd": CROWD},
    }  # fmt: skip
    return racing(**{**plain, **changes})


def answer(request: Request) -> str | None:
    """Follows from the request alone: mostly a program of two numbers, and all that may be wrong with one."""
    rng = random.Random(f"{request.seed} {request.turn}")
    if request.operator == "advice":
        return f"Lesson {rng.randrange(1000)}: take on less than {rng.random():.3f} of what fits."
    best = max(request.parents, key=lambda parent: parent.score, default=None)
    match rng.randrange(12):
        case 0:
            return "I would rather not."
        case 1:
            return as_reply("def decide(load, room):\n    return load + missing\n")
        case 2:
            return as_reply(mood(rng.choice((104, 105))))
        case 3 if best is not None:
            return as_reply(best.source)
        case 4 if best is not None:
            return as_reply(best.source.rstrip() + " + 0 * load\n")
        case 5:
            return None
        case 6:
            return as_reply("def decide(load, room):\n    return 3\n")
        case _:
            inert = f"min(load, room) + load * 1e-{rng.randint(7, 12)}"
            return as_reply(share(round(rng.uniform(0.2, 1.5), 3), f"({inert})"))


class Quiet(RunDisplay):
    """Shows nothing, and passes events on."""

    def __init__(self, listen: Callable[[Event], None] = lambda _: None) -> None:
        self._listen = listen

    def __call__(self, event: Event) -> None:
        self._listen(event)


def search(
    chosen: SearchConfig,
    store: Store,
    executor: Executor,
    answered: Callable[[Request], str | None] = answer,
    *,
    by: Proposer | None = None,
    display: RunDisplay | None = None,
    recording: RecordedReplies | None = None,
    directory: Path | None = None,
) -> list[Request]:
    """A whole search as the command line runs it, with these answers, or a model in their place, and this executor.

    What was asked of the model; a search with a recording asks nothing.
    """
    models: list[Scripted] = []

    def opened(*_: Any) -> ModelPool:
        models.append(Scripted(answered))
        return lineup(models[-1] if by is None else by)

    @contextmanager
    def given(
        _config: Any, _evidence: Any, _machines: Any, meanwhile: Callable[[], None], _display: Any
    ) -> Iterator[Executor]:
        meanwhile()
        yield executor

    with patch.object(session, "open_model_pool", opened), patch.object(session, "executor_for", given):
        run_search(
            TASK, chosen, store, evidence(chosen), LOCAL, display or RunDisplay(), recording=recording,
            directory=directory,
        )  # fmt: skip
    return models[0].requests if models else []
