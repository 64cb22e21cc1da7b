"""`vulcan search`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vulcan.cli.options import RUNS, TASK_OPTIONS, AsJson, RunsDirectory, TaskName, task_settings

CONTEXT = TASK_OPTIONS


def search(
    context: typer.Context,
    task: TaskName,
    model: Annotated[
        str,
        typer.Option(
            envvar="VULCAN_MODEL",
            help="A model as litellm names it, or `offline/evolve`: a generator, no language model, that needs no key.",
        ),
    ] = "offline/evolve",
    api_base: Annotated[
        str | None,
        typer.Option(
            envvar="VULCAN_API_BASE",
            help="An OpenAI-compatible server that has the model, such as http://localhost:8000/v1.",
        ),
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="Of the model; default: the server's.")] = None,
    objective: Annotated[str | None, typer.Option(help="What is good; default: the task's first objective.")] = None,
    strategy: Annotated[str, typer.Option(help="How the search goes on: policysmith.")] = "policysmith",
    rounds: Annotated[int, typer.Option(help="Rounds of the strategy.")] = 20,
    samples: Annotated[int, typer.Option(help="Candidates a round.")] = 25,
    parents: Annotated[int, typer.Option(help="Best candidates that a round is shown.")] = 2,
    repairs: Annotated[int, typer.Option(help="Further replies that a rejected program may get in its chat.")] = 2,
    budget_candidates: Annotated[
        int | None, typer.Option(help="Stop after so many candidates; default: rounds x samples.")
    ] = None,
    seed: Annotated[int, typer.Option(help="One seed and the same replies give the same run.")] = 1,
    split: Annotated[
        str,
        typer.Option(
            help="`task`: hold out evidence as the task declares; `none`: search on all of it, as the papers do."
        ),
    ] = "task",
    finalists: Annotated[int, typer.Option(help="Candidates that are measured on the split validation.")] = 10,
    limit: Annotated[float, typer.Option(help="Seconds that one candidate may take on all its instances.")] = 120.0,
    executor: Annotated[str, typer.Option(help="`ray` or `local`.")] = "ray",
    workers: Annotated[int, typer.Option(help="Candidates scored at a time; 0: one a processor.")] = 0,
    ray_address: Annotated[
        str | None, typer.Option(help="Join this Ray cluster; default: RAY_ADDRESS, or a local one.")
    ] = None,
    runs_dir: RunsDirectory = RUNS,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
    as_json: AsJson = False,
) -> None:
    """Search for a policy.

    Options of the task's own, such as --trace and --cache-size of cache_eviction, are given here too:
    `vulcan task show TASK` lists them.

    \b
    Examples:
      vulcan search --task cache_eviction
      vulcan search --task cache_eviction --trace my.csv --cache-size 10% --budget-candidates 200
      vulcan search --task cache_eviction --model openai/gpt-4o-mini
      vulcan search --task cache_eviction --model qwen --api-base http://localhost:8000/v1
    """
    from vulcan.cli.searching import search_in
    from vulcan.registry import find_task, task_reference
    from vulcan.search.config import SearchConfig, complete_settings
    from vulcan.search.session import Machines, check_config
    from vulcan.store.runs import create_store, new_run

    declared = find_task(task)
    config = SearchConfig(
        task=task_reference(task),
        settings=complete_settings(declared, task_settings(declared, context.args)),
        objective=objective or declared.objectives[0].name,
        model=model,
        api_base=api_base,
        temperature=temperature,
        strategy=strategy,
        rounds=rounds,
        samples=samples,
        parents=parents,
        repairs=repairs,
        budget_candidates=budget_candidates,
        seed=seed,
        split=split,
        finalists=finalists,
        limit=limit,
    )
    machines = Machines(executor, workers, ray_address)
    instances = check_config(declared, config)
    run = new_run(Path(runs_dir), declared.name)
    search_in(run, declared, config, create_store(run), instances, machines, as_json=as_json, quiet=quiet)
