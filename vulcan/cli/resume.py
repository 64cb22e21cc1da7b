"""`vulcan resume`"""

from __future__ import annotations

from typing import Annotated

import typer

from vulcan.cli.options import RUNS, AsJson, RunsDirectory


def resume(
    run: Annotated[str, typer.Argument(help="A run's directory, or its name in --runs-dir.")],
    executor: Annotated[str, typer.Option(help="`ray` or `local`.")] = "ray",
    workers: Annotated[int, typer.Option(help="Candidates scored at a time; 0: one a processor.")] = 0,
    ray_address: Annotated[
        str | None, typer.Option(help="Join this Ray cluster; default: RAY_ADDRESS, or a local one.")
    ] = None,
    runs_dir: RunsDirectory = RUNS,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    as_json: AsJson = False,
) -> None:
    """Go on with a search that was stopped; it ends as it would have without the stop."""
    from vulcan.cli.searching import search_in
    from vulcan.errors import UserError
    from vulcan.registry import find_task
    from vulcan.search.config import SearchConfig
    from vulcan.search.session import Machines, check_config
    from vulcan.store import RunRecord
    from vulcan.store.runs import find_run, open_store

    place = find_run(run, runs_dir)
    store = open_store(place)
    record = RunRecord.of(store.events())
    if not record.config:
        raise UserError(f"{place} stopped before its search was written down; start it again")
    config = SearchConfig.from_json(record.config)
    task = find_task(config.task)
    instances = check_config(task, config)
    if record.instances and record.instances != instances:
        raise UserError(f"{place} cannot be resumed: its traces or its task have changed since it was started")
    machines = Machines(executor, workers, ray_address)
    search_in(place, task, config, store, instances, machines, as_json=as_json, quiet=quiet)
