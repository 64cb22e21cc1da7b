"""A search from its beginning, or from where it was stopped, to its end."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from vulcan.errors import UserError, nearest
from vulcan.evaluator import Instance, load_evaluator
from vulcan.models import Proposer, open_proposer
from vulcan.models.settings import CallSettings
from vulcan.scoring import Executor, LocalExecutor, Setup, WorkerLost
from vulcan.search.config import SearchConfig
from vulcan.search.opening import find_instances, find_objective, make_scorer, open_run
from vulcan.search.prompts import Prompts
from vulcan.search.strategy import make_strategy
from vulcan.search.study import Study
from vulcan.store import RunRecord, Store
from vulcan.store.events import Event, Stopped
from vulcan.task import Task

log = logging.getLogger(__name__)

OFFLINE = "offline/evolve"
EXECUTORS = ("ray", "local")


@dataclass(frozen=True, slots=True)
class Machines:
    """Where candidates are scored: `ray` (a local one, or the cluster at `ray_address`) or `local` children."""

    executor: str = "ray"
    workers: int = 0
    ray_address: str | None = None

    def __post_init__(self) -> None:
        if self.executor not in EXECUTORS:
            raise UserError(
                f"no executor {self.executor!r}{nearest(self.executor, EXECUTORS)} (known: {', '.join(EXECUTORS)})"
            )
        if self.workers < 0:
            raise UserError(f"workers is {self.workers}: at least 1 is needed, or 0 for one a processor")

    @property
    def count(self) -> int:
        return self.workers or _processors()


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Display(Protocol):
    """Shows a search to whoever started it."""

    def preparing(self, what: str) -> None:
        """Something is made ready that takes a while."""

    def begin(self, study: Study) -> None:
        """The search proper begins, or goes on."""

    def __call__(self, event: Event) -> None:
        """Something happened."""


def check_config(task: Task, config: SearchConfig) -> tuple[Instance, ...]:
    """All that can be wrong with a search before anything is written; what it will measure on. Raises UserError."""
    make_strategy(config)
    Prompts(task, find_objective(task, config.objective), config.settings).propose(1, ())
    open_model(task, config).close()
    return find_instances(task, config, load_evaluator(task))


def open_model(task: Task, config: SearchConfig) -> Proposer:
    """What answers the search's prompts. Makes no call. Raises UserError."""
    if config.model == OFFLINE:
        from vulcan.models.offline import OfflineEvolve

        return OfflineEvolve(task)
    if config.model.startswith("offline/"):
        raise UserError(f"no offline generator {config.model!r}: there is {OFFLINE}")
    return open_proposer(config.model, api_base=config.api_base, settings=CallSettings(temperature=config.temperature))


def run_search(
    task: Task,
    config: SearchConfig,
    store: Store,
    instances: Sequence[Instance],
    machines: Machines,
    display: Display,
) -> Study:
    """Open the run or go on with it, search, and choose the winner.

    Raises UserError, ModelRefused or WorkerLost after the store has been told; the run can then be resumed.
    """

    def prepare() -> None:
        open_run(task, config, store, instances, display.preparing)

    with _stop_is_told(store), executor_for(config, instances, machines, prepare) as executor:
        record = RunRecord.of(store.events())
        scorer = make_scorer(find_objective(task, config.objective), record)
        study = Study(task, config, store, scorer, executor, (display,))
        proposer = open_model(task, config)
        display.begin(study)
        try:
            study.run(proposer)
        finally:
            proposer.close()
        return study


@contextmanager
def _stop_is_told(store: Store) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        store.append(Stopped("interrupted"))
        raise
    except (UserError, WorkerLost) as error:
        store.append(Stopped("error", str(error)))
        raise


@contextmanager
def executor_for(
    config: SearchConfig,
    instances: Sequence[Instance],
    machines: Machines,
    meanwhile: Callable[[], None] = lambda: None,
) -> Iterator[Executor]:
    """Somewhere to score. Ray comes up while `meanwhile` runs; where it does not, one line says so."""
    setup = Setup(task=config.task, instances=tuple(instances))
    if machines.executor == "local":
        meanwhile()
        with LocalExecutor(setup, machines.count) as executor:
            yield executor
        return
    from vulcan.scoring.ray_executor import RayExecutor
    from vulcan.scoring.ray_runtime import RayRuntime, RayUnavailable

    with RayRuntime(machines.count, machines.ray_address) as runtime:
        meanwhile()
        chosen: Executor
        try:
            chosen = RayExecutor(setup, machines.count, runtime)
        except RayUnavailable as error:
            if runtime.joined:
                raise UserError(f"{error}; leave out --ray-address, or use --executor local") from error
            log.warning("%s; going on with --executor local", error)
            chosen = LocalExecutor(setup, machines.count)
        with chosen as executor:
            yield executor
