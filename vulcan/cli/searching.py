"""What `vulcan search` and `vulcan resume` share: run it, show it, say what to type next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vulcan.cli.output import say, tell
from vulcan.cli.progress import Progress
from vulcan.cli.repeated import Repeated
from vulcan.cli.summary import print_run
from vulcan.errors import UserError
from vulcan.models import ModelRefused
from vulcan.scoring import WorkerLost
from vulcan.searches.config import SearchConfig
from vulcan.searches.costs import Costs
from vulcan.searches.opening import Evidence
from vulcan.searches.session import Machines, open_study, run_search, stop_is_told
from vulcan.store import RunRecord, Store
from vulcan.store.runs import CONTROL, alone_in, create_store, open_store
from vulcan.task import Task


def search_in(
    run: Path,
    task: Task,
    config: SearchConfig,
    store: Store,
    evidence: Evidence,
    machines: Machines,
    *,
    as_json: bool,
    quiet: bool,
    repeated: Repeated | None = None,
) -> None:
    """Search in a run's directory to the end. Raises UserError; an interruption leaves the run to be resumed."""
    with _stops_explained(run, store), alone_in(run), Progress(quiet or as_json) as progress:
        if not quiet and not as_json:
            answered = f"the replies of {repeated.run}" if repeated else f"model {', '.join(config.model)}"
            tell(f"run {run}: task {task.name}, {len(evidence.instances)} instances, {answered}")
        run_search(
            task, config, store, evidence, machines, progress,
            control=lambda: control_store(run),
            recording=repeated.recording if repeated else None,
            control_recording=repeated.control if repeated else None,
        )  # fmt: skip
        record, costs = RunRecord.of(store.events()), Costs.of(store.calls())
    print_run(run, record, costs, as_json=as_json)
    if as_json:
        return
    named = shlex.quote(str(run))
    say(f"\nThe run is in {run}. Look at the winner with `vulcan show {named}`, "
        f"take it with `vulcan export {named} --format python -o best.py`.")  # fmt: skip


def open_for_asking(
    run: Path,
    task: Task,
    config: SearchConfig,
    store: Store,
    evidence: Evidence,
    machines: Machines,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Open a run for somebody else to answer its prompts: measure the baselines and the task's own policies."""
    with _stops_explained(run, store), alone_in(run), Progress(quiet or as_json) as progress:
        if not quiet and not as_json:
            tell(f"run {run}: task {task.name}, {len(evidence.instances)} instances")
        with stop_is_told(store), open_study(task, config, store, evidence, machines, progress) as study:
            study.begin()
        record, costs = RunRecord.of(store.events()), Costs.of(store.calls())
    if as_json:
        print_run(run, record, costs, as_json=True)
        return
    named = shlex.quote(str(run))
    say(f"The run is in {run}. `vulcan ask {named}` prints the next prompt, "
        f"`vulcan tell {named} --proposal ID --file reply.md` takes the reply to it.")  # fmt: skip


def control_store(run: Path) -> Store:
    """The store of the search that a run is compared with, made where there is none."""
    return open_store(run, CONTROL) if (run / CONTROL).is_file() else create_store(run, CONTROL)


@contextmanager
def _stops_explained(run: Path, store: Store) -> Iterator[None]:
    """Says how to go on where a search stops; closes its store."""
    named = shlex.quote(str(run))
    try:
        yield
    except KeyboardInterrupt:
        tell(f"interrupted; nothing is lost: go on with `vulcan resume {named}`")
        raise
    except ModelRefused as error:
        raise UserError(f"{error}; then go on with `vulcan resume {named}`") from error
    except WorkerLost as error:
        raise UserError(
            f"scoring failed by no fault of a candidate: {error}; go on with `vulcan resume {named}`"
        ) from error
    finally:
        store.close()
