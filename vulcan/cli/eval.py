"""The command `vulcan eval`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from vulcan.cli.options import TASK_OPTIONS, AllowUnsandboxed, AsJson, Part, TaskName, task_settings
from vulcan.cli.output import number, print_json, print_table, read_policy, say, tell
from vulcan.errors import UserError

CONTEXT = TASK_OPTIONS


def evaluate(
    context: typer.Context,
    policy: Annotated[
        list[str],
        typer.Argument(
            metavar="POLICY...",
            help="Policy files, or modules written by `vulcan export`; several stand side by side.",
        ),
    ],
    task: TaskName,
    part: Part = "whole",
    objective: Annotated[
        str | None,
        typer.Option(help="Objective. Default: the task's first."),
    ] = None,
    guard: Annotated[
        str | None,
        typer.Option(
            metavar="SAFE",
            help="Measure each policy guarded by this safe one too, as `vulcan export --guard` writes it.",
        ),
    ] = None,
    limit: Annotated[
        float, typer.Option(help="Timeout in seconds of each policy, for all instances together.")
    ] = 600.0,
    allow_unsandboxed: AllowUnsandboxed = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate policies in the sandbox and compare them with every baseline. Exit code 1 if one is rejected or fails.

    \b
    Examples:
      vulcan eval best.py --task cache_eviction --trace my.csv --cache-size 10%
      vulcan eval mine.py other.py --task cache_eviction --trace my.csv
      vulcan eval best.py --task cache_eviction --trace my.csv --guard lru
    """
    from vulcan.registry import find_task
    from vulcan.results.policy_evaluation import PolicyFailed, evaluate_policies

    if not policy:
        raise UserError("name the policies before the task's options: vulcan eval mine.py --task NAME ...")
    named, declared = _named([Path(path) for path in policy]), find_task(task)
    sources = {name: read_policy(path, declared.name, guard) for name, path in named.items()}
    settings = task_settings(declared, context)
    try:
        found = evaluate_policies(
            sources, task, settings,
            part=part, objective=objective, guard=guard, limit=limit, allow_unsandboxed=allow_unsandboxed,
        )  # fmt: skip
    except PolicyFailed as error:
        tell(str(error))
        raise typer.Exit(1) from None
    for line in found.indifferent:
        tell(line)
    if as_json:
        print_json(found.document())
        return
    fitting = [each.metric for each in declared.objectives if each.unfit(found.settings) is None]
    columns = list(dict.fromkeys([*fitting, *reversed(declared.axes or ()), *found.objective.beside]))
    rows = found.rows()
    for instance in found.instances:
        say(f"\n{instance.name}, {'all of it' if part == 'whole' else f'the part {part!r}'}")
        _print([r for r in rows if r["instance"] == instance.name], columns, found.objective.name)
    if len(found.instances) > 1:
        say(f"\nmean of {len(found.instances)} instances")
        _print(found.means(), columns, found.objective.name)


def _named(paths: Sequence[Path]) -> dict[str, Path]:
    """Return each policy's file by its name without the ending, or by its path where two have the same name."""
    stems = [path.stem for path in paths]
    named = {path.stem if stems.count(path.stem) == 1 else str(path): path for path in paths}
    if len(named) < len(paths):
        raise UserError("a policy is named twice")
    return named


def _print(rows: Sequence[Mapping[str, Any]], columns: list[str], objective: str) -> None:
    from vulcan.results.run import NO_BOUND, distinct

    best = max((r["score"] for r in rows if r["kind"] == "baseline"), default=float("-inf"))
    kinds = [NO_BOUND if r["kind"] == "oracle" and r["score"] < best else r["kind"] for r in rows]
    ordered = sorted(zip(kinds, rows, strict=True), key=lambda row: -float(row[1]["score"]))
    cells = [(r["policy"], kind, *(number(r[c]) for c in columns), number(r["score"])) for kind, r in ordered]
    shown, equal = distinct(cells, tuple)
    print_table(
        ("policy", "kind", *columns, f"score ({objective})"),
        shown,
        [row[1] == "candidate" for row in shown],
        optional=["kind", *columns],
    )
    if equal:
        say(equal)
