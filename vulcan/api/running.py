"""A search in its directory, from its beginning or from where it stopped."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from vulcan.api.repeated import Repeated
from vulcan.api.wanted import Wanted
from vulcan.displays.choice import ShownDisplay, open_display
from vulcan.displays.opened import Opened
from vulcan.errors import UserError
from vulcan.models import ModelRefused
from vulcan.report.run import run_document
from vulcan.scoring import WorkerLost
from vulcan.searches.config import SearchConfig
from vulcan.searches.costs import Costs
from vulcan.searches.lineup import ASK
from vulcan.searches.opening import Evidence
from vulcan.searches.session import Machines, check_config, open_study, run_search, stop_is_told, written_down
from vulcan.store import RunRecord, Store
from vulcan.store.runs import CONTROL, alone_in, create_store, new_run, open_store
from vulcan.task import Task


@dataclass(frozen=True)
class Running:
    """A run that is open, and all that is needed to search in it."""

    place: Path
    task: Task
    config: SearchConfig
    store: Store
    evidence: Evidence
    machines: Machines
    repeated: Repeated | None = None

    @classmethod
    def begun(cls, wanted: Wanted, runs: Path, evidence: Evidence | None = None) -> Running:
        """A new run in the directory `runs`. What is wrong with it raises UserError before anything is written."""
        if evidence is None:
            evidence = check_config(wanted.task, wanted.search, models=wanted.repeated is None)
        place = new_run(runs, wanted.task.name)
        store = create_store(place)
        if wanted.repeated is not None:
            wanted.repeated.mark(place)
        return cls(place, wanted.task, wanted.search, store, evidence, wanted.machines, wanted.repeated)

    @classmethod
    def stopped(cls, place: Path, machines: Machines) -> Running:
        """A run to go on with. Raises UserError where that cannot be."""
        repeated = Repeated.marked(place)
        with ExitStack() as on_failure:
            store = on_failure.enter_context(closing(open_store(place)))
            task, config, evidence = written_down(place, store, models=repeated is None)
            if config.model == (ASK,) and repeated is None:
                named = shlex.quote(str(place))
                raise UserError(f"{place} waits for replies: `vulcan ask {named}` prints the next prompt")
            on_failure.pop_all()
        return cls(place, task, config, store, evidence, machines, repeated)

    @property
    def asks(self) -> bool:
        """Whether somebody else answers its prompts."""
        return self.config.model == (ASK,) and self.repeated is None

    def search(self, display: ShownDisplay) -> tuple[RunRecord, Costs]:
        """Search to the end; what it came to. The store is closed, whatever happens.

        Of a run whose prompts somebody else answers, measure the baselines and the task's own policies.
        Raises UserError; an interruption leaves the run to be resumed.
        """
        with closing(self.store), display, _stops_explained(self.place), alone_in(self.place):
            repeats = self.repeated.run if self.repeated else None
            models = () if self.asks else self.config.model
            display.opened(Opened(self.place, self.task.name, len(self.evidence.instances), models, repeats))
            if self.asks:
                self._open_for_asking(display)
            else:
                run_search(
                    self.task, self.config, self.store, self.evidence, self.machines, display,
                    control=self._control,
                    recording=self.repeated.recording if self.repeated else None,
                    control_recording=self.repeated.control if self.repeated else None,
                )  # fmt: skip
            record, costs = RunRecord.of(self.store.events()), Costs.of(self.store.calls())
            display.ended(run_document(self.place, record, costs))
        return record, costs

    def _open_for_asking(self, display: ShownDisplay) -> None:
        with (
            stop_is_told(self.store),
            open_study(self.task, self.config, self.store, self.evidence, self.machines, display) as study,
        ):
            study.begin()

    def _control(self) -> Store:
        """The store of the search that this one is compared with, made where there is none."""
        there = (self.place / CONTROL).is_file()
        return open_store(self.place, CONTROL) if there else create_store(self.place, CONTROL)


def go_on(running: Running, progress: str) -> Path:
    """Search to the end, for a program; the run's directory. Raises UserError or KeyboardInterrupt."""
    try:
        running.search(open_display(progress))
    except KeyboardInterrupt as interruption:
        interruption.add_note(f"nothing is lost: go on with vulcan.load({str(running.place)!r}).resume()")
        raise
    return running.place


@contextmanager
def _stops_explained(run: Path) -> Iterator[None]:
    """Says how to go on where a search stops."""
    named = shlex.quote(str(run))
    try:
        yield
    except ModelRefused as error:
        raise UserError(f"{error}; then go on with `vulcan resume {named}`") from error
    except WorkerLost as error:
        raise UserError(
            f"scoring failed by no fault of a candidate: {error}; go on with `vulcan resume {named}`"
        ) from error
