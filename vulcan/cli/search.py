"""The commands `vulcan search` and `vulcan resume`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from vulcan.cli.options import (
    RUNS,
    TASK_OPTIONS,
    AsJson,
    ProgressForm,
    Quiet,
    RunName,
    RunsDirectory,
    takes_options,
)
from vulcan.searches.options import EXECUTION_OPTIONS, OPTIONS, RESUME_OPTIONS

CONTEXT = TASK_OPTIONS


@takes_options((*OPTIONS.values(), *EXECUTION_OPTIONS.values()), after="config")
def search(
    context: typer.Context,
    task: Annotated[
        str | None,
        typer.Option("--task", "-t", help="Task name, or the directory of your own task."),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="TOML file with options, the task's included; options given here take precedence."),
    ] = None,
    replay: Annotated[
        str | None,
        typer.Option(help="Replay this run from its recorded replies, without network access."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the expected cost and the first prompt, then exit.")
    ] = False,
    runs_dir: RunsDirectory = RUNS,
    progress: ProgressForm = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Search for a policy.

    The task's own options, such as --trace and --cache-size of cache_eviction, are given here too;
    `vulcan search --task TASK --help` lists them.

    \b
    Examples:
      vulcan search --task cache_eviction
      vulcan search --task cache_eviction --trace my.csv --cache-size 10% --budget-candidates 200
      vulcan search --task cache_eviction --model openai/gpt-4o-mini --budget-dollars 2
      vulcan search --task cache_eviction --model qwen --api-base http://localhost:8000/v1
      vulcan search --task cache_eviction --model ask
      vulcan search --config search.toml
      vulcan search --task cache_eviction --budget-minutes 10 --progress json
      vulcan search --task cache_eviction --trace my.csv --start-from latest --start-from library
      vulcan search --replay runs/cache_eviction-20260101-120000-ab12
    """
    from vulcan.api.launch import RunSession
    from vulcan.cli.launch import configured, progress_form, search_in
    from vulcan.searches.session import check_config

    form = progress_form(progress, quiet=quiet, as_json=as_json)
    wanted = configured(context, config, replay, runs_dir)
    if dry_run:
        from vulcan.cli.launch import show_dry_run

        wanted = wanted.resolved(runs_dir)
        evidence = check_config(wanted.task, wanted.search, models=False)
        show_dry_run(wanted.task, wanted.search, evidence, form, as_json=as_json)
        return
    search_in(RunSession.start(wanted, runs_dir), form, as_json=as_json)


@takes_options((*RESUME_OPTIONS.values(), *EXECUTION_OPTIONS.values()), after="run")
def resume(
    run: RunName,
    runs_dir: RunsDirectory = RUNS,
    progress: ProgressForm = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Resume an interrupted search; the result is the same as without the interruption.

    Options of the search that are given here, such as another --model, apply to the proposals that were not asked yet,
    and are recorded in the run.

    \b
    Examples:
      vulcan resume cache_eviction-20260101-120000-ab12
      vulcan resume runs/cache_eviction-20260101-120000-ab12 --executor local --progress plain
      vulcan resume latest --model openai/gpt-4o-mini --budget-dollars 5
    """
    from vulcan.api.launch import RunSession
    from vulcan.cli.launch import progress_form, search_in
    from vulcan.searches.session import ExecutionConfig
    from vulcan.store.runs import find_run

    form = progress_form(progress, quiet=quiet, as_json=as_json)
    anew = {
        name: list(value) if isinstance(value, tuple) else value
        for name in RESUME_OPTIONS
        if (value := options.pop(name)) not in (None, (), [])
    }
    session = RunSession.reopen(find_run(run, runs_dir), ExecutionConfig(**options), anew)
    search_in(session, form, as_json=as_json)
