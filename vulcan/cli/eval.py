"""The command `vulcan eval`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from vulcan.cli import completion
from vulcan.cli.options import TASK_OPTIONS, AllowUnsandboxed, AsJson, TaskName, task_settings
from vulcan.cli.output import number, print_json, print_table, read_policy, say, tell
from vulcan.errors import UserError
from vulcan.searches.options import check_choice

if TYPE_CHECKING:
    from vulcan.documents.policy import EvalDocument, EvalRow, PolicyMean
    from vulcan.evaluator import Instance
    from vulcan.store.events import InstanceMetrics
    from vulcan.task import Task

CONTEXT = TASK_OPTIONS
_PARTS = ("whole", "train", "validation", "test")
_WORDS = frozenset({"policy", "kind", "instance"})


def evaluate(
    context: typer.Context,
    policy: Annotated[
        list[str],
        typer.Argument(
            metavar="POLICY...",
            help="Policy files, or modules written by `vulcan export`; several stand side by side.",
            autocompletion=completion.choices_of_task,
        ),
    ],
    task: TaskName,
    part: Annotated[
        str,
        typer.Option(
            metavar="|".join(_PARTS),
            help="Data to evaluate on: the `whole`, or one split: train, validation or test.",
            autocompletion=completion.among(_PARTS),
        ),
    ] = "whole",
    objective: Annotated[
        str | None,
        typer.Option(help="Objective. Default: the task's first.", autocompletion=completion.objectives),
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
    plot: Annotated[
        Path | None, typer.Option(help="Write the task's scatter plots, one point per policy, to this HTML file.")
    ] = None,
    allow_unsandboxed: AllowUnsandboxed = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate policies in the sandbox and compare them with every baseline. Exit code 1 if one is rejected or fails.

    \b
    Examples:
      vulcan eval best.py --task cache_eviction --trace my.csv --cache-size 10%
      vulcan eval mine.py other.py --task cache_eviction --trace my.csv
      vulcan eval best.py --task cache_eviction --trace my.csv --guard lru
      vulcan eval best.py --task congestion_control --link a.down --link b.down --plot picture.html
    """
    from vulcan.anvil import Rejected
    from vulcan.evaluator import guarded_by, load_evaluator, notes_on
    from vulcan.python_policy.check import check_policy
    from vulcan.registry import find_task, task_reference
    from vulcan.scoring import Job, LocalExecutor, Setup
    from vulcan.searches.config import SearchConfig, complete_settings
    from vulcan.searches.evidence import baseline_events, find_instances, find_objective
    from vulcan.searches.scorer import Scorer

    check_choice("part", part, _PARTS)
    if not policy:
        raise UserError("name the policies before the task's options: vulcan eval mine.py --task NAME ...")
    sources = {name: read_policy(path) for name, path in _named([Path(path) for path in policy]).items()}
    declared = find_task(task)
    if plot is not None:
        _check_plot(plot, declared)
    settings = task_settings(declared, context)
    config = SearchConfig(
        task=task_reference(task),
        settings=complete_settings(declared, settings),
        objective=objective or declared.objectives[0].name,
        split="none" if part == "whole" else "task",
        limit=limit,
    )
    chosen = find_objective(declared, config.objective)
    for name, source in sources.items():
        try:
            check_policy(source, declared)
        except Rejected as rejected:
            first, *others = rejected.violations
            more = f" (and {len(others)} more: see `vulcan check`)" if others else ""
            tell(f"{_of(name, sources)}rejected: {first}{more}")
            raise typer.Exit(1) from None
    evaluator = load_evaluator(declared)
    wanted = "train" if part == "whole" else part
    instances = tuple(i for i in find_instances(declared, config, evaluator) if i.split == wanted)
    if not instances:
        raise UserError(f"there is no instance in the part {part!r}")
    for instance in instances:
        if (reason := evaluator.why_indifferent(instance)) is not None:
            tell(f"{instance.name}: every policy measures the same: {reason}")
    under_guard = guarded_by(evaluator, instances, guard) if guard is not None else ()
    scorer = Scorer(chosen, instances)
    baselines = list(baseline_events(chosen, evaluator, instances, lambda _: None))
    for event in baselines:
        scorer.add_baseline(event)
    setup = Setup(task=config.task, instances=(*instances, *under_guard), allow_unsandboxed=allow_unsandboxed)
    measured: list[tuple[str, str, InstanceMetrics]] = []
    with LocalExecutor(setup, 1) as executor:
        jobs = [(name, source, instances) for name, source in sources.items()]
        jobs += [(f"{name}, guarded by {guard}", source, under_guard) for name, source in sources.items() if guard]
        for number, (name, source, measured_on) in enumerate(jobs):
            outcome = executor.submit(Job(number, source, measured_on, limit)).result()
            if outcome.status != "scored":
                tell(f"{_of(name, sources)}{outcome.status}: {outcome.message}")
                raise typer.Exit(1)
            on_each = dict(outcome.metrics)
            metrics = tuple((i.name, on_each[on.name]) for i, on in zip(instances, measured_on, strict=True))
            measured.append((name, "candidate", metrics))
    measured += [(b.policy, b.kind, b.metrics) for b in baselines]
    rows = [
        _row(name, kind, instance, dict(metrics)[instance.name], scorer)
        for instance in instances
        for name, kind, metrics in measured
    ]
    means = [
        _mean(name, kind, [r for r in rows if (r["policy"], r["kind"]) == (name, kind)]) for name, kind, _ in measured
    ]
    if plot is not None:
        _plot(plot, declared, instances, measured, f"{declared.name}: {', '.join(sources)} and the known policies")
    if as_json:
        document: EvalDocument = {
            "task": declared.name,
            "part": part,
            "objective": chosen.name,
            "notes": list(notes_on(evaluator, instances)),
            "rows": rows,
            "means": means,
        }
        print_json(document)
        return
    pictured = [metric for picture in declared.pictures for metric in (picture.y, picture.x)]
    columns = list(
        dict.fromkeys(
            [*(o.metric for o in declared.objectives if o.unfit(config.settings) is None), *pictured, *chosen.beside]
        )
    )
    for instance in instances:
        mine = [r for r in rows if r["instance"] == instance.name]
        say(f"\n{instance.name}, {'all of it' if part == 'whole' else f'the part {part!r}'}")
        _print(mine, columns, chosen.name)
    if len(instances) > 1:
        say(f"\nmean of {len(instances)} instances")
        _print(means, columns, chosen.name)
    if plot is not None:
        tell(f"{plot} written")


def _named(paths: Sequence[Path]) -> dict[str, Path]:
    """Return each policy's file by its name without the ending, or by its path where two have the same name."""
    stems = [path.stem for path in paths]
    named = {path.stem if stems.count(path.stem) == 1 else str(path): path for path in paths}
    if len(named) < len(paths):
        raise UserError("a policy is named twice")
    return named


def _of(name: str, sources: Mapping[str, str]) -> str:
    return f"{name}: " if len(sources) > 1 else ""


def _print(rows: Sequence[Mapping[str, Any]], columns: list[str], objective: str) -> None:
    ordered = sorted(rows, key=lambda r: -float(r["score"]))
    print_table(
        ("policy", "kind", *columns, f"score ({objective})"),
        [(r["policy"], r["kind"], *(number(r[c]) for c in columns), number(r["score"])) for r in ordered],
        [r["kind"] == "candidate" for r in ordered],
        optional=["kind", *columns],
    )


def _mean(name: str, kind: str, rows: list[EvalRow]) -> PolicyMean:
    """Return the mean of the scores, and of each metric that all instances have."""
    from statistics import fmean

    plain: list[Mapping[str, Any]] = [*rows]
    shared = [key for key in plain[0] if key not in _WORDS and all(key in row for row in plain)]
    means = {key: fmean(float(row[key]) for row in plain) for key in shared}
    return cast("PolicyMean", {"policy": name, "kind": kind, **means})


def _check_plot(plot: Path, task: Task) -> None:
    """Check the arguments of the plot before anything is measured."""
    if not task.pictures:
        raise UserError(f"task {task.name!r} declares no picture to plot")
    if not plot.parent.is_dir():
        raise UserError(f"--plot {plot}: there is no directory {plot.parent}")


def _plot(
    plot: Path, task: Task, instances: tuple[Instance, ...], measured: list[tuple[str, str, Any]], title: str
) -> None:
    from vulcan.results.scatter_plot import PolicyMetrics, write_pictures

    names = [instance.name for instance in instances]
    policies = [PolicyMetrics(name, kind, [dict(metrics)[i] for i in names]) for name, kind, metrics in measured]
    write_pictures(plot, task.pictures, names, policies, title)


def _row(name: str, kind: str, instance: Instance, metrics: dict[str, float], scorer: Any) -> EvalRow:
    score = scorer.on_instance(instance.split, instance.name, metrics)
    row = {"policy": name, "kind": kind, "instance": instance.name, **metrics, "score": score}
    return cast("EvalRow", row)
