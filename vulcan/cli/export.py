"""`vulcan export`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from vulcan.cli.files import read_policy, write_text
from vulcan.cli.options import RUNS, TASK_OPTIONS, AsJson, RunsDirectory, task_settings
from vulcan.cli.output import print_json, tell
from vulcan.errors import UserError

CONTEXT = TASK_OPTIONS


def export(
    context: typer.Context,
    run: Annotated[
        str, typer.Argument(help="A run's directory, or its name in --runs-dir; with --task a policy's file.")
    ],
    format: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            help="What to write: python (a module), c (a header in doubles), c-fixed (a header in 64-bit integers), "
            "bpf (a program for the kernel of Linux, where the task has a use for one).",
        ),
    ] = "python",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The file to write, or the directory where the format has several; default: named after the task.",
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option("--task", "-t", help="Export a policy's file: the task that it is of. Its options may follow."),
    ] = None,
    candidate: Annotated[int | None, typer.Option(help="Which candidate; default: the winner.")] = None,
    runs_dir: RunsDirectory = RUNS,
    as_json: AsJson = False,
) -> None:
    """Write a run's winner, or a policy's file, so that it runs without Vulcan.

    \b
    Examples:
      vulcan export 20261120-101500-ab --format c -o policy.h
      vulcan export best.py --task congestion_control --format bpf -o best
    """
    told: dict[str, Any]
    if task is not None:
        if candidate is not None:
            raise UserError("--candidate is of a run: it is not expected with --task")
        files = _of_file(Path(run), task, format, context)
        told, what = {"policy": run, "format": format}, f"the policy {run}"
    else:
        if context.args:
            raise UserError(f"{context.args[0]} is not expected here; options of a task are, with --task")
        from vulcan.export.of_run import export_candidate
        from vulcan.store.runs import find_run

        place = find_run(run, runs_dir)
        exported = export_candidate(place, format, candidate)
        files = exported.files
        told = {"run": str(place), "candidate": exported.candidate, "format": format}
        what = f"candidate {exported.candidate} of {place.name}"
    written = _places(files, output, format)
    for path, text in zip(written, files.values(), strict=True):
        write_text(path, text)
    if as_json:
        print_json({**told, "files": [str(path) for path in written]})
        return
    tell(f"wrote {', '.join(map(str, written))}: {what}")


def _of_file(path: Path, name: str, format: str, context: typer.Context) -> dict[str, str]:
    """The text of each file. Raises UserError, or Exit where the policy is rejected."""
    from vulcan.anvil import Rejected
    from vulcan.export import Provenance, find_exporter
    from vulcan.export.exporter import export_policy
    from vulcan.program.interface import check_policy
    from vulcan.registry import find_task

    find_exporter(format)
    declared = find_task(name)
    settings = task_settings(declared, context)
    try:
        policy = check_policy(read_policy(path), declared)
    except Rejected as rejected:
        first, *others = rejected.violations
        more = f" (and {len(others)} more: see `vulcan check`)" if others else ""
        tell(f"rejected: {first}{more}")
        raise typer.Exit(1) from None
    origin = Provenance(declared.name, path.name, candidate="", proposer="", date="", settings=settings)
    return export_policy(policy, format, origin)


def _places(files: dict[str, str], output: Path | None, format: str) -> list[Path]:
    """Where each file goes. Several go into a directory, by default one named after the main file and the format."""
    if len(files) == 1:
        return [output or Path(next(iter(files)))]
    directory = output or Path(f"{next(iter(files)).partition('.')[0]}_{format}")
    return [directory / name for name in files]
