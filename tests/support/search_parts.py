"""Fixtures of the search tests: the mood task, scripted replies, and readers of a store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from locations import TASKS

from vulcan.evaluator import load_evaluator
from vulcan.models.base import ModelUnavailable, Proposer, Reply, Request
from vulcan.models.budget import Budget
from vulcan.models.ensemble import Ensemble
from vulcan.registry import find_task
from vulcan.scoring import Executor
from vulcan.searches.config import SearchConfig, complete_settings
from vulcan.searches.evidence import EvaluationSet, find_objective, load_evaluation_set, make_scorer, open_run
from vulcan.searches.model_pool import ModelPool
from vulcan.searches.study import Listener, Study
from vulcan.store import MemoryStore, RunRecord, Store
from vulcan.store.events import CallRecord, CandidateJudged, CandidateProposed, Event, RunStopped

MOOD_TASK = str(TASKS / "mood_task")
TASK = find_task(MOOD_TASK)
SEEDS = len(TASK.seed_policies())


def config(**changes: Any) -> SearchConfig:
    """Two rounds of three by PolicySmith, on the task of moods, of the model of `Scripted`.

    Nothing races, is tuned or made simpler.
    """
    plain: dict[str, Any] = {
        "model": ("scripted",), "strategy": "policysmith", "rounds": 2, "samples": 3, "repairs": 1, "racing": False,
        "tune": 0, "simplify": 0, "seed": 1,
    }  # fmt: skip
    settings = complete_settings(TASK, changes.pop("settings", {}))
    return SearchConfig(**{"task": MOOD_TASK, "settings": settings, "objective": "gain", **plain, **changes})


def racing(**changes: Any) -> SearchConfig:
    """Return the same with cheaper versions of the instances, on which candidates race and are distinguished."""
    settings = {"cheap": True, **changes.pop("settings", {})}
    return config(**{"racing": True, "settings": settings, **changes})


def evidence(chosen: SearchConfig) -> EvaluationSet:
    return load_evaluation_set(TASK, chosen, load_evaluator(TASK))


EVIDENCE = evidence(config())
INSTANCES = EVIDENCE.instances
CROWD = 10


def opened(store: Store, chosen: SearchConfig, executor: Executor, listeners: Iterable[Listener] = ()) -> Study:
    """Return a study over a store that is opened if it is new."""
    open_run(TASK, chosen, store, evidence(chosen), lambda _: None)
    scorer = make_scorer(find_objective(TASK, chosen.objective), RunRecord.of(store.events()))
    return Study(TASK, chosen, store, scorer, executor, listeners)


def new_study(executor: Executor, **changes: Any) -> Study:
    return opened(MemoryStore(), config(**changes), executor)


def share(numerator: float, of: str = "min(load, room)") -> str:
    """Return a program whose score grows with the number."""
    return f"def decide(load, room):\n    return {of} * {numerator!r}\n"


def mood(number: int) -> str:
    """Return a program that makes the evaluator misbehave."""
    return f"def decide(load, room):\n    if load + room == 0:\n        return {number}\n    return load\n"


def as_reply(source: str) -> str:
    return f"An idea.\n\n```python\n{source}```\n"


def reply(text: str) -> Reply:
    return Reply(text, "a model", "stop", 10, 5, 0.25, 1.5)


class Scripted:
    """A proposer that answers by a function of the request, and counts; None is no answer at all."""

    name = "scripted"

    def __init__(self, answer: Callable[[Request], str | None]) -> None:
        self._answer = answer
        self._lock = threading.Lock()
        self.requests: list[Request] = []
        self.closed = False

    def propose(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
        text = self._answer(request)
        if text is None:
            raise ModelUnavailable("nobody there")
        return reply(text)

    def close(self) -> None:
        self.closed = True


def lineup(*models: Proposer, **limits: Any) -> ModelPool:
    """Return the models with a budget of these limits."""
    return ModelPool(Ensemble(models), Budget(**limits))


def of_kind(store: Store, kind: type[Any]) -> list[Any]:
    return [event for event in store.events() if isinstance(event, kind)]


def judged(store: Store) -> list[CandidateJudged]:
    """Return every verdict, but for those on the task's own policies."""
    rounds = {p.proposal: p.round for p in of_kind(store, CandidateProposed)}
    return [event for event in of_kind(store, CandidateJudged) if rounds[event.proposal] > 0]


def contents(store: Store) -> tuple[list[Event], list[CallRecord]]:
    """All that one seed and the same replies fix: no times, and not where a run was interrupted."""
    events = [event for event in store.events() if not isinstance(event, RunStopped)]
    return events, [replace(call, seconds=0.0) for call in store.calls()]
