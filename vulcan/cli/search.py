"""`vulcan search`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vulcan.cli import completion
from vulcan.cli.options import (
    RUNS,
    TASK_OPTIONS,
    AllowUnsandboxed,
    AsJson,
    Executor,
    ProgressForm,
    Quiet,
    RunsDirectory,
)
from vulcan.searches.options import MEANINGS

CONTEXT = TASK_OPTIONS
_MODELS = ["offline/evolve"]


def search(
    context: typer.Context,
    task: Annotated[
        str | None,
        typer.Option(
            "--task", "-t", help="A task's name, or the directory of one of your own.", autocompletion=completion.tasks
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="A TOML file with any options, those of the task too; those given here win.")
    ] = None,
    model: Annotated[
        list[str], typer.Option(envvar="VULCAN_MODEL", help=MEANINGS["model"], autocompletion=completion.models)
    ] = _MODELS,
    api_base: Annotated[str | None, typer.Option(envvar="VULCAN_API_BASE", help=MEANINGS["api_base"])] = None,
    temperature: Annotated[str | None, typer.Option(help=MEANINGS["temperature"])] = None,
    max_tokens: Annotated[int | None, typer.Option(help=MEANINGS["max_tokens"])] = None,
    objective: Annotated[
        str | None, typer.Option(help=MEANINGS["objective"], autocompletion=completion.objectives)
    ] = None,
    strategy: Annotated[str, typer.Option(help=MEANINGS["strategy"], autocompletion=completion.strategies)] = "evolve",
    rounds: Annotated[int, typer.Option(help=MEANINGS["rounds"])] = 20,
    samples: Annotated[int, typer.Option(help=MEANINGS["samples"])] = 25,
    parents: Annotated[int, typer.Option(help=MEANINGS["parents"])] = 2,
    islands: Annotated[int, typer.Option(help=MEANINGS["islands"])] = 4,
    migrate_every: Annotated[int, typer.Option(help=MEANINGS["migrate_every"])] = 30,
    advice_every: Annotated[int, typer.Option(help=MEANINGS["advice_every"])] = 40,
    diff: Annotated[str, typer.Option(help=MEANINGS["diff"], autocompletion=completion.diffs)] = "auto",
    in_flight: Annotated[int, typer.Option(help=MEANINGS["in_flight"])] = 8,
    repairs: Annotated[int, typer.Option(help=MEANINGS["repairs"])] = 2,
    budget_candidates: Annotated[int | None, typer.Option(help=MEANINGS["budget_candidates"])] = None,
    budget_dollars: Annotated[float | None, typer.Option(help=MEANINGS["budget_dollars"])] = None,
    budget_tokens: Annotated[int | None, typer.Option(help=MEANINGS["budget_tokens"])] = None,
    budget_minutes: Annotated[float | None, typer.Option(help=MEANINGS["budget_minutes"])] = None,
    racing: Annotated[bool, typer.Option(help=MEANINGS["racing"])] = True,
    tune: Annotated[int, typer.Option(help=MEANINGS["tune"])] = 40,
    simplify: Annotated[int, typer.Option(help=MEANINGS["simplify"])] = 80,
    control: Annotated[bool, typer.Option(help=MEANINGS["control"])] = False,
    seed: Annotated[int, typer.Option(help=MEANINGS["seed"])] = 1,
    split: Annotated[str, typer.Option(help=MEANINGS["split"], autocompletion=completion.splits)] = "task",
    finalists: Annotated[int, typer.Option(help=MEANINGS["finalists"])] = 10,
    limit: Annotated[float, typer.Option(help=MEANINGS["limit"])] = 120.0,
    executor: Executor = "ray",
    workers: Annotated[int, typer.Option(help="Candidates scored at a time; 0: one a processor.")] = 0,
    ray_address: Annotated[
        str | None, typer.Option(help="Join this Ray cluster; default: RAY_ADDRESS, or a local one.")
    ] = None,
    allow_unsandboxed: AllowUnsandboxed = False,
    replay: Annotated[
        str | None,
        typer.Option(
            help="Repeat this run, with the replies that it recorded and no network.", autocompletion=completion.runs
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the cost to expect and the first prompt.")] = False,
    runs_dir: RunsDirectory = RUNS,
    progress: ProgressForm = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Search for a policy.

    Options of the task's own, such as --trace and --cache-size of cache_eviction, are given here too:
    `vulcan task show TASK` lists them.

    \b
    Examples:
      vulcan search --task cache_eviction
      vulcan search --task cache_eviction --trace my.csv --cache-size 10% --budget-candidates 200
      vulcan search --task cache_eviction --model openai/gpt-4o-mini --budget-dollars 2
      vulcan search --task cache_eviction --model qwen --api-base http://localhost:8000/v1
      vulcan search --task cache_eviction --model ask
      vulcan search --config search.toml
      vulcan search --task cache_eviction --budget-minutes 10 --progress json
      vulcan search --replay runs/cache_eviction-20260101-120000-ab12
    """
    from vulcan.api.launch import RunSession
    from vulcan.cli.launch import configured, progress_form, search_in
    from vulcan.searches.session import check_config

    form = progress_form(progress, quiet=quiet, as_json=as_json)
    wanted = configured(context, config, replay, runs_dir)
    evidence = check_config(wanted.task, wanted.search, models=wanted.repeated is None and not dry_run)
    if dry_run:
        from vulcan.cli.dry_run import show_dry_run

        show_dry_run(wanted.task, wanted.search, evidence, form, as_json=as_json)
        return
    search_in(RunSession.begun(wanted, runs_dir, evidence), form, as_json=as_json)
