"""`vulcan resume`"""

from __future__ import annotations

from typing import Annotated

import typer

from vulcan.cli.options import RUNS, AllowUnsandboxed, AsJson, Executor, ProgressForm, Quiet, RunName, RunsDirectory


def resume(
    run: RunName,
    executor: Executor = "ray",
    workers: Annotated[int, typer.Option(help="Candidates scored at a time; 0: one a processor.")] = 0,
    ray_address: Annotated[
        str | None, typer.Option(help="Join this Ray cluster; default: RAY_ADDRESS, or a local one.")
    ] = None,
    allow_unsandboxed: AllowUnsandboxed = False,
    runs_dir: RunsDirectory = RUNS,
    progress: ProgressForm = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Go on with a search that was stopped; it ends as it would have without the stop.

    \b
    Examples:
      vulcan resume cache_eviction-20260101-120000-ab12
      vulcan resume runs/cache_eviction-20260101-120000-ab12 --executor local --progress plain
    """
    from vulcan.api.launch import RunSession
    from vulcan.cli.launch import progress_form, search_in
    from vulcan.searches.session import ExecutionConfig
    from vulcan.store.runs import find_run

    form = progress_form(progress, quiet=quiet, as_json=as_json)
    machines = ExecutionConfig(executor, workers, ray_address, allow_unsandboxed)
    search_in(RunSession.stopped(find_run(run, runs_dir), machines), form, as_json=as_json)
