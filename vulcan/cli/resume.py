"""`vulcan resume`"""

from __future__ import annotations

from typing import Annotated

import typer

from vulcan.cli.options import RUNS, AllowUnsandboxed, AsJson, RunsDirectory


def resume(
    run: Annotated[str, typer.Argument(help="A run's directory, or its name in --runs-dir.")],
    executor: Annotated[str, typer.Option(help="`ray` or `local`.")] = "ray",
    workers: Annotated[int, typer.Option(help="Candidates scored at a time; 0: one a processor.")] = 0,
    ray_address: Annotated[
        str | None, typer.Option(help="Join this Ray cluster; default: RAY_ADDRESS, or a local one.")
    ] = None,
    allow_unsandboxed: AllowUnsandboxed = False,
    runs_dir: RunsDirectory = RUNS,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    as_json: AsJson = False,
) -> None:
    """Go on with a search that was stopped; it ends as it would have without the stop."""
    from vulcan.cli.repeated import Repeated
    from vulcan.cli.searching import search_in
    from vulcan.errors import UserError
    from vulcan.searches.lineup import ASK
    from vulcan.searches.session import Machines, written_down
    from vulcan.store.runs import find_run, open_store

    place = find_run(run, runs_dir)
    machines = Machines(executor, workers, ray_address, allow_unsandboxed)
    repeated = Repeated.marked(place)
    store = open_store(place)
    task, config, evidence = written_down(place, store, models=repeated is None)
    if config.model == (ASK,) and repeated is None:
        raise UserError(f"{place} waits for replies: `vulcan ask {place}` prints the next prompt")
    search_in(place, task, config, store, evidence, machines, as_json=as_json, quiet=quiet, repeated=repeated)
