"""Inputs of the search benchmarks: the trace w106 with a 10 % cache, or generated requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.harness import DATA
from vulcan import __version__
from vulcan.evaluator import BaselineKind, Evaluator, Instance, load_evaluator
from vulcan.generator import OfflineEvolve
from vulcan.models.base import Reply, Request
from vulcan.registry import find_task
from vulcan.searches.config import SearchConfig, complete_settings
from vulcan.searches.evidence import (
    EvaluationSet,
    baseline_events,
    find_objective,
    load_evaluation_set,
    reference_events,
)
from vulcan.store import RunRecord, Store
from vulcan.store.events import InstancesPrepared, RunStarted
from vulcan.task import Json

TASK = find_task("cache_eviction")
W106 = DATA / "cache" / "caffeine" / "cloud_physics" / "w106.trace.xz"
GENERATED = "zipf:requests=3000000,objects=250000,alpha=0.9,seed=1"
"""About as long as the part of w106 that a search sees, and with as many objects."""

MECHANISMS = ("heap", "sample")


@dataclass(frozen=True)
class Ground:
    """A search's configuration, what it measures on, and the evaluator, prepared."""

    name: str
    config: SearchConfig
    evidence: EvaluationSet
    evaluator: Evaluator

    @property
    def full(self) -> Instance:
        return next(i for i in self.evidence.instances if i.split == "train")

    @property
    def rung(self) -> Instance | None:
        """The cheapest version of it; None where the cache is too small for one."""
        return self.evidence.rungs[0].instances[0] if self.evidence.rungs else None


def ground(**options: Any) -> Ground:
    """Return the ground of a search with further options of `SearchConfig`."""
    there = W106.is_file()
    settings: dict[str, Json] = {
        "trace": [str(W106) if there else GENERATED],
        "trace_format": "be-u32" if there else None,
        "cache_size": ["10%"],
    }
    config = SearchConfig(
        task=TASK.name, settings=complete_settings(TASK, settings), objective="object",
        **{"tune": 0, "simplify": 0, "islands": 1, **options},
    )  # fmt: skip
    evaluator = load_evaluator(TASK)
    found = load_evaluation_set(TASK, config, evaluator)
    evidence = replace(found, instances=tuple(i for i in found.instances if i.split == "train"))
    evaluator.prepare(evidence.everything)
    return Ground("w106" if there else "generated Zipf requests", config, evidence, evaluator)


class References:
    """The evaluator with no more known policies than an objective compares with: the others take their time."""

    def __init__(self, evaluator: Evaluator, references: Sequence[str]) -> None:
        self._evaluator = evaluator
        self._references = references

    def baselines(self) -> Mapping[str, BaselineKind]:
        return {name: kind for name, kind in self._evaluator.baselines().items() if name in self._references}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._evaluator, name)


def opened(on: Ground, store: Store) -> RunRecord:
    """The beginning of a run, as `vulcan.searches.evidence.open_run` writes it, but with the references alone."""
    objective = find_objective(TASK, on.config.objective)
    evaluator: Any = References(on.evaluator, objective.references)
    rungs: Any = tuple(
        {"name": r.name, "instances": [i.to_json() for i in r.instances], "keep": r.keep, "cost": r.cost}
        for r in on.evidence.rungs
    )
    store.append(
        RunStarted(on.config.to_json(), __version__),
        InstancesPrepared(tuple(i.to_json() for i in on.evidence.instances), rungs),
        *baseline_events(objective, evaluator, on.evidence.instances, lambda _: None),
        *reference_events(objective, evaluator, on.evidence.rungs, lambda _: None),
    )
    return RunRecord.of(store.events())


def replies(count: int) -> list[Reply]:
    """Replies of the offline generator, all without parents; of a fixed seed."""
    generator = OfflineEvolve(TASK)
    return [generator.propose(Request(number, 0, (), (), seed=7)) for number in range(count)]
