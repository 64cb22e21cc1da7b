"""The search for each cluster of a library's training instances."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from pathlib import Path

from vulcan.errors import UserError
from vulcan.evaluator import load_evaluator, rungs_of
from vulcan.registry import find_task
from vulcan.searches.config import SearchConfig
from vulcan.searches.evidence import EvaluationSet
from vulcan.searches.session import ExecutionConfig, RunDisplay, check_config, run_search
from vulcan.store import RunRecord, Store
from vulcan.store.runs import CONTROL, FILE, create_store, lock_run, open_store

Displays = Callable[[str], AbstractContextManager[RunDisplay]]
"""Factory of the display of a search, which it gets the title of."""


def search_cluster(
    place: Path, config: SearchConfig, instances: Sequence[str], machines: ExecutionConfig, displays: Displays
) -> None:
    """Search on the named instances in the directory `place`, or resume an interrupted search there.

    A finished search is not repeated. Raises UserError, ModelRefused or WorkerLost.
    """
    task = find_task(config.task)
    evidence = _only(check_config(task, config), instances, config)
    with closing(_store(place)) as store:
        record = RunRecord.of(store.events())
        if record.config and SearchConfig.from_json(record.config) != config:
            raise UserError(f"{place} is a search with other options: use another directory")
        if record.instances and (record.instances, record.rungs) != (evidence.instances, evidence.rungs):
            raise UserError(f"{place} cannot be gone on with: its workloads or its task have changed")
        if record.stopped is not None and record.stopped.reason == "finished":
            return
        with lock_run(place), displays(place.name) as display:
            run_search(task, config, store, evidence, machines, display, control=lambda: create_store(place, CONTROL))


def _store(place: Path) -> Store:
    """Open the store of the search, created atomically if there is none."""
    if not (place / FILE).is_file():
        unfinished = place.with_name(f"{place.name}.new")
        try:
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            create_store(unfinished).close()
            unfinished.rename(place)
        except OSError as error:
            raise UserError(f"cannot write the search {place}: {error.strerror}") from error
    return open_store(place)


def _only(evidence: EvaluationSet, names: Sequence[str], config: SearchConfig) -> EvaluationSet:
    """Select the instances of the cluster, as its workloads may have others under the same settings."""
    instances = tuple(i for i in evidence.instances if i.name in names)
    if not evidence.rungs:
        return replace(evidence, instances=instances)
    evaluator = load_evaluator(find_task(config.task))
    return EvaluationSet(instances, rungs_of(evaluator, [i for i in instances if i.split == "train"]))
