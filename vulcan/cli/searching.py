"""What `vulcan search` and `vulcan resume` share: run it, show it, say what to type next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from vulcan.cli.output import print_json, say, tell
from vulcan.cli.progress import Progress
from vulcan.cli.summary import document, print_summary
from vulcan.errors import UserError
from vulcan.evaluator import Instance
from vulcan.models import ModelRefused
from vulcan.scoring import WorkerLost
from vulcan.search.config import SearchConfig
from vulcan.search.costs import Costs
from vulcan.search.session import Machines, run_search
from vulcan.store import RunRecord, Store
from vulcan.store.runs import alone_in
from vulcan.task import Task


def search_in(
    run: Path,
    task: Task,
    config: SearchConfig,
    store: Store,
    instances: Sequence[Instance],
    machines: Machines,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Search in a run's directory to the end. Raises UserError; an interruption leaves the run to be resumed."""
    named = shlex.quote(str(run))
    try:
        with alone_in(run), Progress(quiet or as_json) as progress:
            if not quiet and not as_json:
                tell(f"run {run}: task {task.name}, {len(instances)} instances, model {config.model}")
            run_search(task, config, store, instances, machines, progress)
        record, costs = RunRecord.of(store.events()), Costs.of(store.calls())
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
    if as_json:
        print_json(document(run, record, costs))
        return
    print_summary(run, record, costs)
    say(f"\nThe run is in {run}. Look at the winner with `vulcan show {named}`, "
        f"take it with `vulcan export {named} --format python -o best.py`.")  # fmt: skip
