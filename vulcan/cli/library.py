"""The commands `vulcan library build`, `show`, `select` and `export`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vulcan.cli import completion
from vulcan.cli.options import (
    RUNS,
    TASK_OPTIONS,
    AsJson,
    ProgressForm,
    Quiet,
    RunsDirectory,
    TaskName,
    takes_options,
    task_settings,
)
from vulcan.cli.output import number, print_json, print_table, say, tell
from vulcan.cli.task_options import TakesTaskOptions
from vulcan.searches.options import EXECUTION_OPTIONS, OPTIONS
from vulcan.terminal_text import count

if TYPE_CHECKING:
    from vulcan.documents.policy import FollowingDocument, SelectDocument
    from vulcan.portfolio.build import BuildConfig
    from vulcan.portfolio.model import Library
    from vulcan.portfolio.selector import Choice
    from vulcan.searches.session import RunDisplay

app = typer.Typer(
    help="Policy libraries: a policy for each kind of workload, and a selector.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
_SEARCHED = ("model", "api_base", "strategy", "budget_dollars", "tune", "simplify", "seed", "split", "limit")
_EXECUTED = ("executor", "workers")
_OPTIONS = (*(OPTIONS[name] for name in _SEARCHED), *(EXECUTION_OPTIONS[name] for name in _EXECUTED))
_NONE: list[str] = []
_Place = Annotated[Path, typer.Argument(metavar="LIBRARY", help="Library directory.")]


@app.command("build", cls=TakesTaskOptions, context_settings=TASK_OPTIONS)
@takes_options(_OPTIONS, after="budget_candidates")
def build(
    context: typer.Context,
    task: TaskName,
    output: Annotated[Path, typer.Option("--output", "-o", help="Library directory.")],
    traces: Annotated[
        list[str], typer.Option(help="Training workloads: a directory, a file, or a generator spec. Repeatable.")
    ],
    objective: Annotated[list[str], typer.Option(help="Objective. Default: the task's first. Repeatable.")] = _NONE,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with options of the build, such as `policy`, and of the searches.")
    ] = None,
    budget_candidates: Annotated[
        int, typer.Option(help="Proposals per search; 0 skips the searches and uses only --policy and --run.")
    ] = 200,
    policy: Annotated[
        list[str],
        typer.Option(
            help="Existing policy to consider as a member: FILE, or FILE@key=value,... with settings of the task, and "
            "task=NAME for a policy of another task. Repeatable."
        ),
    ] = _NONE,
    run: Annotated[
        list[str],
        typer.Option(
            help="Run whose best policies are considered as members. Repeatable.", autocompletion=completion.runs
        ),
    ] = _NONE,
    clusters: Annotated[str, typer.Option(help="Number of clusters, or `auto`, to choose it by silhouette.")] = "auto",
    method: Annotated[
        str, typer.Option(help="Selection method: trials, neighbours, or `auto`, whichever validates best.")
    ] = "auto",
    prefix: Annotated[
        int, typer.Option(help="Number of events to choose by; of a training workload at most a fifth of all.")
    ] = 100_000,
    margin: Annotated[
        float, typer.Option(help="Minimum score lead over all other members on at least one instance.")
    ] = 0.002,
    members: Annotated[int, typer.Option(help="Maximum number of members.")] = 8,
    keep: Annotated[
        list[str], typer.Option(help="Name of a candidate that becomes a member whatever it gains. Repeatable.")
    ] = _NONE,
    per_search: Annotated[int, typer.Option(help="Maximum members from any one search or run.")] = 3,
    runs_dir: RunsDirectory = RUNS,
    progress: ProgressForm = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
    **options: Any,
) -> None:
    """Build a library: fingerprint and cluster workloads, search for each cluster, and keep what adds value.

    Run the same command again to resume an interrupted build. The task's own options are given here too.

    \b
    Examples:
      vulcan library build --task cache_eviction --traces traces/ --cache-size 1% --cache-size 10% -o mylibrary
      vulcan library build --task cache_eviction --traces traces/ -o mylibrary --budget-candidates 0 \\
          --policy best.py --policy scan.py@sample_size=64 --run runs/cache_eviction-20260101-120000-ab12
    """
    from vulcan.cli.launch import progress_form
    from vulcan.portfolio.build import build_library
    from vulcan.progress.display import open_display
    from vulcan.searches.session import ExecutionConfig

    form = progress_form(progress, quiet=quiet, as_json=as_json)
    wanted = _build_config(context, config, runs_dir)
    machines = ExecutionConfig(**{name: options[name] for name in _EXECUTED})

    @contextmanager
    def displays(_name: str) -> Iterator[RunDisplay]:
        with open_display(form) as display:
            yield display

    try:
        library = build_library(wanted, output, machines, displays, (lambda _: None) if form == "none" else tell)
    except KeyboardInterrupt:
        tell("interrupted; nothing is lost: the same command resumes it")
        raise
    if form == "json":
        from vulcan.portfolio.library_file import to_json

        open_display(form).finished(to_json(library))
        return
    if as_json:
        _print_document(library)
        return
    _show(library, wanted.objectives[0])
    say(
        f"\nThe library is in {output}. `vulcan library select WORKLOAD --library {output}` chooses from it, "
        f"`vulcan library export {output} -o following.py` makes a module that follows the best of its members."
    )


_PLANNED: dict[str, tuple[type, ...]] = {
    "objective": (list,), "policy": (list,), "run": (list,), "clusters": (int, str), "method": (str,), "prefix": (int,),
    "margin": (float, int), "members": (int,), "per_search": (int,), "keep": (list,),
}  # fmt: skip
"""Options of a build, with their types in a file, allowed there in addition to those of the searches."""


def _check_planned(name: str, value: object, where: str) -> None:
    """Raise UserError where an option of a build in a file has another type."""
    from vulcan.errors import UserError

    named = {list: "a list of strings", int: "a whole number", str: "a string"}
    wanted = "a number" if float in _PLANNED[name] else " or ".join(named[kind] for kind in _PLANNED[name])
    fits = isinstance(value, _PLANNED[name]) and not isinstance(value, bool)
    if not fits or (isinstance(value, list) and not all(isinstance(each, str) for each in value)):
        raise UserError(f"{where}: {name} is {value!r}: it must be {wanted}")


def _build_config(context: typer.Context, file: Path | None, runs: Path) -> BuildConfig:
    """Make the build configuration from the command line. Raises UserError."""
    from vulcan.cli.launch import is_given
    from vulcan.cli.output import read_policy
    from vulcan.errors import UserError, did_you_mean
    from vulcan.portfolio.build import BuildConfig
    from vulcan.portfolio.candidates import PolicySpec
    from vulcan.portfolio.features import find_workloads
    from vulcan.portfolio.model import METHODS
    from vulcan.registry import find_task
    from vulcan.searches.config import make_config, read_config, sort_options
    from vulcan.store.runs import find_run

    task = find_task(context.params["task"])
    plain = read_config(file) if file is not None else {}
    plain.pop("task", None)
    planned = {name: plain.pop(name) for name in _PLANNED if name in plain and name != "objective"}
    if isinstance(plain.get("objective"), list):
        planned["objective"] = plain.pop("objective")
    for name, value in planned.items():
        _check_planned(name, value, str(file))
    p = context.params | {name: value for name, value in planned.items() if not is_given(context, name)}
    options, settings = sort_options(task, plain, str(file))
    options = {"budget_candidates": 200, **options}
    options |= {name: p[name] for name in OPTIONS if name in p and name != "objective" and is_given(context, name)}
    settings |= task_settings(task, context)
    objectives = tuple(dict.fromkeys(p["objective"])) or (str(options.pop("objective", task.objectives[0].name)),)
    for name in objectives:
        known = [objective.name for objective in task.objectives]
        if name not in known:
            raise UserError(
                f"task {task.name!r} has no objective {name!r}{did_you_mean(name, known)} (known: {', '.join(known)})"
            )
    searching = options["budget_candidates"] != 0
    if not searching:
        options["budget_candidates"] = None
    if p["clusters"] != "auto" and not str(p["clusters"]).isdecimal():
        raise UserError(f"clusters is {p['clusters']!r}: a whole number or `auto` is needed")
    if p["method"] not in ("auto", *METHODS):
        raise UserError(
            f"no method {p['method']!r}{did_you_mean(p['method'], METHODS)} (known: auto, {', '.join(METHODS)})"
        )
    return BuildConfig(
        search=make_config(p["task"], {**options, "objective": objectives[0]}, settings),
        workloads=find_workloads(p["traces"]),
        objectives=objectives,
        searching=searching,
        policies=tuple((text, read_policy(PolicySpec(text).path())) for text in p["policy"]),
        runs=tuple(str(find_run(name, runs)) for name in p["run"]),
        clusters=None if p["clusters"] == "auto" else int(p["clusters"]),
        method=None if p["method"] == "auto" else p["method"],
        first=p["prefix"],
        margin=p["margin"],
        max_members=p["members"],
        per_search=p["per_search"],
        keep=tuple(p["keep"]),
    )


@app.command("show")
def show(
    library: _Place,
    objective: Annotated[str | None, typer.Option(help="Objective whose scores to show. Default: the first.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show a library: its clusters, its members with the reason for each, and the score matrix.

    \b
    Examples:
      vulcan library show mylibrary
    """
    from vulcan.portfolio.library_file import read_library
    from vulcan.portfolio.selector import find_objective_of

    found = read_library(library)
    chosen = find_objective_of(found, objective)
    if as_json:
        _print_document(found)
    else:
        _show(found, chosen)


@app.command("select", cls=TakesTaskOptions, context_settings=TASK_OPTIONS)
def select(
    context: typer.Context,
    trace: Annotated[str, typer.Argument(metavar="WORKLOAD", help="Workload: a file, or a generator spec.")],
    library: Annotated[
        Path | None,
        typer.Option("--library", "-l", help="Library directory. Default: the library bundled with the task."),
    ] = None,
    task: Annotated[
        str | None, typer.Option("--task", "-t", help="Task whose bundled library to use if --library is not given.")
    ] = None,
    objective: Annotated[str | None, typer.Option(help="Objective. Default: the library's first.")] = None,
    as_json: AsJson = False,
) -> None:
    """Choose a policy for a workload by its first events; if the library knows nothing like it, the safe fallback.

    The expected score is the one on similar workloads of the library, not a measurement. Up to the distance `known up
    to` a workload counts as known; the confidence of --json is 1 there, whatever the score, and falls beyond.

    The task's own options, such as --cache-size of cache_eviction, are given here too. Default: the library's.

    \b
    Examples:
      vulcan library select my.csv --cache-size 10%
      vulcan library select my.csv --library mylibrary --json
    """
    from vulcan.errors import UserError
    from vulcan.portfolio.library_file import read_library
    from vulcan.portfolio.selector import (
        choice_document,
        find_objective_of,
        only_shipped_library,
        select_for,
        shipped_library,
    )
    from vulcan.registry import find_task, recorded_task

    if library is not None and task is not None:
        raise UserError("--library names the library already: leave out --task")
    directory = library or (shipped_library(find_task(task)) if task is not None else only_shipped_library())
    found = read_library(directory)
    chosen = find_objective_of(found, objective)
    settings = task_settings(recorded_task(found.task), context)
    choices = select_for(found, trace, settings, chosen)
    if as_json:
        document: SelectDocument = {
            "library": str(directory),
            "workload": trace,
            "objective": chosen,
            "prefix": found.first,
            "choices": [choice_document(found, directory, choice) for choice in choices],
        }
        print_json(document)
        return
    print_table(
        ("instance", "choice", "expected score", "most like", "distance", "known up to"),
        [
            (
                c.instance,
                _named(c),
                number(dict(c.expected)[c.name]),
                c.nearest,
                number(c.distance, 2),
                number(found.rule.reach, 2),
            )
            for c in choices
        ],
    )
    for choice in choices:
        if not choice.trusted:
            say(f"{choice.instance} is unlike everything that the library knows: the fallback is chosen")
    for name in dict.fromkeys(c.name for c in choices if c.kind == "member"):
        member = found.member(name)
        options = "".join(f" --{key.replace('_', '-')} {value}" for key, value in member.settings.items())
        say(f"{name}: {directory / member.file}, for `--task {member.task}{options}`")
    for choice in choices:
        say(f"to follow several in {choice.instance}: {' '.join(f'--follow {name}' for name in choice.to_follow)}")


def _named(choice: Choice) -> str:
    return choice.name if choice.kind == "member" else f"{choice.name} (the fallback)"


@app.command("export")
def export(
    library: _Place,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file.")],
    objective: Annotated[str | None, typer.Option(help="Objective. Default: the library's first.")] = None,
    follow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MEMBER",
            help="Member to follow, the first to begin with. Repeatable. Default: the six with the best mean.",
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
    from vulcan.portfolio.selector import find_objective_of

    found = read_library(library)
    chosen = find_objective_of(found, objective)
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
    matrix, fallback = library.matrix[objective], library.fallbacks[objective]
    tried = ", ".join(f"{each.clusters}: {each.silhouette:.3f}" for each in library.clustering.tried)
    say(f"task {library.task}, objective {objective}, fingerprints of the first {library.first:,} events")
    say(
        f"{library.clustering.clusters} clusters{f' (silhouettes of {tried})' if tried else ''}, "
        f"{count(len(library.instances), 'instance')}, {count(len(library.members), 'member')}"
    )
    best = {**matrix.members, fallback.baseline: matrix.baselines[fallback.baseline]}
    strongest = {n: max(matrix.baselines, key=lambda b: matrix.baselines[b][n]) for n in range(len(library.instances))}
    rows = [
        (
            str(trained.cluster),
            trained.name,
            *(number(values[n]) for values in best.values()),
            number(matrix.baselines[strongest[n]][n]),
            strongest[n],
        )
        for n, trained in sorted(enumerate(library.instances), key=lambda pair: (pair[1].cluster, pair[0]))
    ]
    print_table(("cluster", "instance", *best, "best baseline", "which"), rows)
    print_table(
        ("member", "task", "settings", "proposed by", "origin", "searched on", "best on"),
        [
            (
                m.name,
                m.task,
                ", ".join(f"{k}={v}" for k, v in m.settings.items()),
                m.provenance.proposer,
                m.provenance.origin,
                ", ".join(m.provenance.workloads),
                str(len(m.earned)),
            )
            for m in library.members
        ],
    )
    say(f"fallback: {fallback.baseline}; where baselines cannot run: {fallback.policy}")
    for each in library.rule.left_out:
        if each.objective == objective:
            marked = " (used)" if each.method == library.rule.method else ""
            beside = f"fallback {each.fallback:.4f}, best member {each.single:.4f}, best each time {each.best:.4f}"
            say(f"each workload left out in turn, {each.method}{marked}: {each.score:.4f}; {beside}")
