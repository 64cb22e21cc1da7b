"""Code shared by `vulcan search` and `vulcan resume`: options, the search itself, results and next steps."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import typer

from vulcan.api.launch import RunSession, SearchRequest, Sorted
from vulcan.cli.options import task_settings
from vulcan.cli.output import say, tell
from vulcan.cli.summary import print_run
from vulcan.errors import UserError
from vulcan.progress.display import check_form, open_display
from vulcan.searches.options import EXECUTION_OPTIONS, OPTIONS
from vulcan.store.runs import find_run
from vulcan.task import Task


def progress_form(progress: str | None, *, quiet: bool, as_json: bool) -> str:
    """Return the form of progress; default: none with --quiet or --json, else auto. Raises UserError."""
    if progress is None:
        return "none" if quiet or as_json else "auto"
    check_form(progress)
    if quiet and progress != "none":
        raise UserError(f"--quiet shows no progress: leave it out, or --progress {progress}")
    if as_json and progress == "json":
        raise UserError("--json and --progress json both write to standard output: leave one out (the last line of "
                        "--progress json has the document of --json)")  # fmt: skip
    return progress


def search_in(running: RunSession, form: str, *, as_json: bool) -> None:
    """Run a search to the end. Raises UserError; an interrupted run can be resumed."""
    named = shlex.quote(str(running.place))
    try:
        record, costs = running.search(open_display(form))
    except KeyboardInterrupt:
        tell(f"interrupted; nothing is lost: go on with `vulcan resume {named}`")
        raise
    if form == "json":
        return
    if as_json or not running.asks:
        print_run(running.place, record, costs, as_json=as_json)
    if as_json:
        return
    if running.asks:
        say(f"The run is in {running.place}. `vulcan ask {named}` prints the next prompt, "
            f"`vulcan tell {named} --proposal ID --file reply.md` takes the reply to it.")  # fmt: skip
        return
    say(f"\nThe run is in {running.place}. Look at the winner with `vulcan show {named}`, "
        f"take it with `vulcan export {named} --format python -o best.py`.")  # fmt: skip


_BESIDE_REPLAY = {"replay", "runs_dir", "quiet", "progress", "as_json", *EXECUTION_OPTIONS}


def configured(context: typer.Context, file: Path | None, replay: str | None, runs: Path) -> SearchRequest:
    """Return the search given by command-line options, which override those of a file. Raises UserError."""
    given = {name: value for name, value in context.params.items() if is_given(context, name)}
    machines = {name: given[name] for name in EXECUTION_OPTIONS if name in given}
    if replay is not None:
        typed = {name for name in given if _source(context, name) == "COMMANDLINE"}
        others = [f"--{name.replace('_', '-')}" for name in sorted(typed - _BESIDE_REPLAY)]
        if others or context.args:
            raise UserError(f"--replay repeats a run as it was: leave out {(others or context.args)[0]}")
        return SearchRequest.repetition(find_run(replay, runs), machines)

    def sorted_for(task: Task) -> Sorted:
        return {name: _plain(given[name]) for name in OPTIONS if name in given}, task_settings(task, context)

    return SearchRequest.of(given.get("task"), file, machines, sorted_for)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def is_given(context: typer.Context, name: str) -> bool:
    """Check whether an option was given on the command line or in the environment."""
    return _source(context, name) in ("COMMANDLINE", "ENVIRONMENT")


def _source(context: typer.Context, name: str) -> str:
    source = context.get_parameter_source(name)
    return source.name if source is not None else ""
