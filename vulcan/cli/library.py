"""The commands `vulcan library build`, `show` and `export`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer

from vulcan.cli.options import (
    RUNS,
    TASK_OPTIONS,
    AsJson,
    Quiet,
    RunsDirectory,
    TakesTaskOptions,
    TaskName,
    task_settings,
)
from vulcan.cli.output import number, print_json, print_table, say, tell
from vulcan.searches.options import Option
from vulcan.terminal_text import count

if TYPE_CHECKING:
    from vulcan.documents.policy import FollowingDocument
    from vulcan.portfolio.build import BuildConfig
    from vulcan.portfolio.model import Library

app = typer.Typer(
    help="Policy libraries: policies for many kinds of workload, and what follows the best of them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
_NONE: list[str] = []
_Place = Annotated[Path, typer.Argument(metavar="LIBRARY", help="Library directory.")]


@app.command("build", cls=TakesTaskOptions, context_settings=TASK_OPTIONS)
def build(
    context: typer.Context,
    task: TaskName,
    output: Annotated[Path, typer.Option("--output", "-o", help="Library directory.")],
    traces: Annotated[
        list[str], typer.Option(help="Training workloads: a directory, a file, or a generator spec. Repeatable.")
    ],
    objective: Annotated[list[str], typer.Option(help="Objective. Default: the task's first. Repeatable.")] = _NONE,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with options of the build, such as `policy`, and of the task.")
    ] = None,
    policy: Annotated[
        list[str],
        typer.Option(
            help="Candidate besides the task's own policies: FILE, or FILE@key=value,... with settings of the task, "
            "and task=NAME for a policy of another task. Repeatable."
        ),
    ] = _NONE,
    run: Annotated[
        list[str],
        typer.Option(help="Run whose best policies are candidates. Repeatable."),
    ] = _NONE,
    members: Annotated[int, typer.Option(help="Maximum number of members.")] = 20,
    keep: Annotated[list[str], typer.Option(help="Candidate that becomes a member in any case. Repeatable.")] = _NONE,
    per_run: Annotated[int, typer.Option(help="Maximum candidates from any one run.")] = 3,
    limit: Annotated[float, typer.Option(help="Seconds for all instances of a candidate.")] = 600.0,
    workers: Annotated[int, typer.Option(help="Local worker processes.")] = 1,
    runs_dir: RunsDirectory = RUNS,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Build a library: measure policies on workloads, and take those that add the most to each other.

    Run the same command again to resume an interrupted build. The task's own options are given here too.

    \b
    Examples:
      vulcan library build --task cache_eviction --traces traces/ --cache-size 1% --cache-size 10% -o mylibrary
      vulcan library build --task cache_eviction --traces traces/ -o mylibrary --policy scan.py@sample_size=64 \\
          --run runs/cache_eviction-20260101-120000-ab12
    """
    from vulcan.portfolio.build import build_library

    wanted = _build_config(context, config, runs_dir)
    try:
        library = build_library(wanted, output, (lambda _: None) if quiet or as_json else tell)
    except KeyboardInterrupt:
        tell("interrupted; nothing is lost: the same command resumes it")
        raise
    if as_json:
        _print_document(library)
        return
    _show(library, wanted.objectives[0])
    say(
        f"\nThe library is in {output}. `vulcan library export {output} -o following.py` makes a module that follows "
        "the best of its members."
    )


_PLANNED: Mapping[str, Option] = {
    **{name: Option("", name=name, repeatable=True) for name in ("objective", "policy", "run", "keep")},
    **{name: Option("", name=name, kind=int) for name in ("members", "per_run")},
    "limit": Option("", name="limit", kind=float),
}
"""Options of a build that a file may have in addition to those of the task."""


def _build_config(context: typer.Context, file: Path | None, runs: Path) -> BuildConfig:
    """Make the build configuration from the command line. Raises UserError."""
    from vulcan.cli.launch import is_given
    from vulcan.cli.output import read_policy
    from vulcan.errors import UserError
    from vulcan.portfolio.build import BuildConfig
    from vulcan.portfolio.candidates import policy_spec
    from vulcan.portfolio.workloads import find_workloads
    from vulcan.registry import find_task
    from vulcan.searches.config import complete_settings, read_config, sort_options
    from vulcan.searches.evidence import find_objective
    from vulcan.store.runs import find_run

    task = find_task(context.params["task"])
    plain = read_config(file) if file is not None else {}
    plain.pop("task", None)
    planned = {name: option.parse(plain.pop(name), str(file)) for name, option in _PLANNED.items() if name in plain}
    searched, settings = sort_options(task, plain, str(file))
    if searched:
        raise UserError(f"{file}: {next(iter(searched))} is an option of searches: give their runs by `run`")
    p = context.params | {name: value for name, value in planned.items() if not is_given(context, name)}
    objectives = tuple(dict.fromkeys(p["objective"])) or (task.objectives[0].name,)
    for name in objectives:
        find_objective(task, name)
    return BuildConfig(
        task=p["task"],
        settings=complete_settings(task, settings | task_settings(task, context)),
        workloads=find_workloads(p["traces"]),
        objectives=objectives,
        policies=tuple((text, read_policy(policy_spec(text)[0], task.name)) for text in p["policy"]),
        runs=tuple(str(find_run(name, runs)) for name in p["run"]),
        keep=tuple(p["keep"]),
        max_members=p["members"],
        per_run=p["per_run"],
        limit=p["limit"],
        workers=p["workers"],
    )


@app.command("show")
def show(
    library: _Place,
    objective: Annotated[str | None, typer.Option(help="Objective whose scores to show. Default: the first.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show a library: its members, and the matrix of scores.

    \b
    Examples:
      vulcan library show mylibrary
    """
    from vulcan.portfolio.library_file import read_library

    found = read_library(library)
    chosen = found.find_objective(objective)
    if as_json:
        _print_document(found)
    else:
        _show(found, chosen)


@app.command("export")
def export(
    library: _Place,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file.")],
    objective: Annotated[str | None, typer.Option(help="Objective. Default: the library's first.")] = None,
    follow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MEMBER",
            help="Member to follow, the first to begin with. Repeatable. Default: the six best together in training.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Export a Python module that runs without Vulcan: it follows several members, all at once, and does as the one
    that has been best so far.

    \b
    Examples:
      vulcan library export mylibrary -o following.py
      vulcan library export mylibrary --follow broad --follow lirs_2 -o following.py
    """
    from vulcan.files import write_output
    from vulcan.portfolio.export import following_module
    from vulcan.portfolio.library_file import read_library

    found = read_library(library)
    chosen = found.find_objective(objective)
    module = following_module(found, chosen, follow or ())
    write_output(output, module.text)
    if as_json:
        document: FollowingDocument = {
            "library": str(library),
            "objective": chosen,
            "members": list(module.members),
            "skipped": list(module.left_out),
            "files": [str(output)],
        }
        print_json(document)
        return
    left_out = f"; left out, as they are of other tasks: {', '.join(module.left_out)}" if module.left_out else ""
    tell(f"wrote {output}: it follows {', '.join(module.members)}{left_out}")


def _print_document(library: Library) -> None:
    from vulcan.portfolio.library_file import to_json

    print_json(to_json(library))


def _show(library: Library, objective: str) -> None:
    """Print a library in readable form."""
    matrix = library.matrix[objective]
    say(
        f"task {library.task}, objective {objective}, {count(len(library.instances), 'instance')}, "
        f"{count(len(library.members), 'member')}"
    )
    strongest = {n: max(matrix.baselines, key=lambda b: matrix.baselines[b][n]) for n in range(len(library.instances))}
    rows = [
        (
            trained.name,
            *(number(matrix.members[m.name][n]) for m in library.members),
            number(matrix.baselines[strongest[n]][n]),
            strongest[n],
        )
        for n, trained in enumerate(library.instances)
    ]
    print_table(("instance", *(m.name for m in library.members), "best baseline", "which"), rows)
    best = [max(matrix.members[m.name][n] for m in library.members) for n in range(len(library.instances))]
    print_table(
        ("member", "task", "settings", "proposed by", "origin", "searched on", "mean score", "best on"),
        [
            (
                m.name,
                m.task,
                ", ".join(f"{k}={v}" for k, v in m.settings.items()),
                m.provenance.proposer,
                m.provenance.origin,
                ", ".join(m.provenance.workloads),
                number(fmean(matrix.members[m.name])),
                str(sum(score == top for score, top in zip(matrix.members[m.name], best, strict=True))),
            )
            for m in library.members
        ],
    )
