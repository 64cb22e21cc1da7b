"""`vulcan resume`"""

from __future__ import annotations

from typing import Any

from vulcan.cli.options import RUNS, AsJson, ProgressForm, Quiet, RunName, RunsDirectory, takes_options
from vulcan.searches.options import EXECUTION_OPTIONS


@takes_options(EXECUTION_OPTIONS.values(), after="run")
def resume(
    run: RunName,
    runs_dir: RunsDirectory = RUNS,
    progress: ProgressForm = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
    **execution: Any,
) -> None:
    """Resume an interrupted search; the result is the same as without the interruption.

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
    search_in(RunSession.stopped(find_run(run, runs_dir), ExecutionConfig(**execution)), form, as_json=as_json)
