"""The command `vulcan export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vulcan.cli.options import RUNS, TASK_OPTIONS, AsJson, RunsDirectory, task_settings
from vulcan.cli.output import print_json, print_table, read_policy, tell
from vulcan.errors import UserError
from vulcan.files import write_files

if TYPE_CHECKING:
    from vulcan.documents.run import ExportDocument, ExportFormat, ExportListDocument, ExportSubject
    from vulcan.results.recommended import ExportCandidate

CONTEXT = TASK_OPTIONS


def export(
    context: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(
            help="Run directory, or its name in --runs-dir; with --task, a policy file.",
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            help="Output format: python (a module, the default), c (a header using doubles), c-fixed (a header using "
            "64-bit integers), bpf (a program for the Linux kernel), or another format of "
            "the task; see --list.",
        ),
    ] = None,
    show: Annotated[
        bool,
        typer.Option("--list", help="List the formats available for the policy, or for --task, and write nothing."),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Output file, or directory if there are several. Default: named after the task.",
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            "--task",
            "-t",
            help="Export a policy file for this task; the task's options may follow.",
        ),
    ] = None,
    guard: Annotated[
        str | None,
        typer.Option(
            metavar="SAFE",
            help="Guard the policy by this safe one, which takes over where the policy falls behind it: for --format "
            "python, c and the Python formats of the task.",
        ),
    ] = None,
    candidate: Annotated[
        int | None, typer.Option(help="Candidate number. Default: what the verdict recommends.")
    ] = None,
    runs_dir: RunsDirectory = RUNS,
    as_json: AsJson = False,
) -> None:
    """Export what a run's verdict recommends, or a policy file, as code that runs without Vulcan.

    Where that is a known policy, it is taken from the task's own policies; use --candidate for what the search found.

    `vulcan eval`, `vulcan check` and `vulcan verify` accept the exported files.

    \b
    Examples:
      vulcan export cache_eviction-20260101-120000-ab12 -o best.py
      vulcan export cache_eviction-20260101-120000-ab12 --format c -o policy.h
      vulcan export best.py --task congestion_control --format bpf -o best
      vulcan export cache_eviction-20260101-120000-ab12 --guard lru -o guarded.py
      vulcan export --list --task cache_eviction
    """
    if show and (format or guard) is not None:
        raise UserError("--list writes nothing: give it without --format and --guard")
    if task is not None and run is not None and format is not None:
        from vulcan.export.formats import find_exporter
        from vulcan.registry import find_task

        find_exporter(format, find_task(task))  # before the policy, which may have errors of its own
    found, document = _found(context, run, task, candidate, runs_dir, listed=show)
    if show:
        _list(found, document, as_json)
    else:
        _write(found, document, format or "python", output, as_json, guard)


def _found(
    context: typer.Context,
    run: str | None,
    task: str | None,
    candidate: int | None,
    runs_dir: Path,
    *,
    listed: bool,
) -> tuple[ExportCandidate, ExportSubject]:
    if task is not None:
        return _of_task(context, run, task, candidate, listed=listed)
    if run is None:
        raise UserError("name a run, or a policy's file with --task" + (", or a --task" if listed else ""))
    if context.args:
        raise UserError(f"{context.args[0]} is not expected here; options of a task are, with --task")
    from vulcan.results.recommended import find_recommended
    from vulcan.store.runs import find_run

    path = find_run(run, runs_dir)
    found = find_recommended(path, candidate)
    return found, {"run": str(path), "candidate": found.number, "verdict": found.verdict}


def _of_task(
    context: typer.Context, file: str | None, name: str, candidate: int | None, *, listed: bool
) -> tuple[ExportCandidate, ExportSubject]:
    """Return a policy's file, or for --list those of the task. Raises UserError, or Exit if rejected."""
    from vulcan.anvil import Rejected
    from vulcan.export import Provenance
    from vulcan.python_policy.check import check_policy
    from vulcan.registry import find_task
    from vulcan.results.recommended import ExportCandidate

    if candidate is not None:
        raise UserError("--candidate is of a run: it is not expected with --task")
    declared = find_task(name)
    if file is None:
        if not listed:
            raise UserError("with --task a policy's file is needed: vulcan export FILE --task NAME")
        document: ExportSubject = {"task": declared.name}
        settings, shown = {}, f"policies of {declared.name}"
        for_a_format = sorted(declared.directory.glob("policies/*/*.py"))
        sources = [*declared.seed_policies().values(), *(each.read_text("utf-8") for each in for_a_format)]
        if not sources:
            raise UserError(f"task {declared.name!r} has no policy to try the formats on: name a file")
    else:
        settings = task_settings(declared, context)
        document = {"policy": file}
        sources, shown = [read_policy(Path(file), declared.name)], f"the policy {file}"
    try:
        policy, *others = (check_policy(source, declared) for source in sources)
    except Rejected as rejected:
        tell(f"rejected: {rejected.summary}")
        raise typer.Exit(1) from None
    origin = Provenance(declared.name, Path(file or "").name, candidate="", proposer="", date="", settings=settings)
    return ExportCandidate(shown, policy, origin, others=tuple(others)), document


def _list(found: ExportCandidate, document: ExportSubject, as_json: bool) -> None:
    from vulcan.export.formats import every_format

    attempts = every_format(found.policy, found.provenance, found.others)
    if as_json:
        rows: list[ExportFormat] = [
            {"format": made.format, "summary": made.exporter.summary, "refused": made.refusal or None}
            for made in attempts
        ]
        listed: ExportListDocument = {**document, "formats": rows}
        print_json(listed)
        return
    tell(f"formats of {found.name}:")
    print_table(("format", "what it is", "refused, for"), [(m.format, m.exporter.summary, m.refusal) for m in attempts])


def _write(
    found: ExportCandidate, document: ExportSubject, format: str, output: Path | None, as_json: bool, guard: str | None
) -> None:
    from vulcan.anvil import Policy
    from vulcan.export.pack_formats import pack_formats
    from vulcan.portfolio.export import export_guarded

    for caution in found.cautions:
        tell(f"warning: {caution}")
    files = found.files(format) if guard is None else export_guarded(found.policy, format, found.provenance, guard)
    replaces = output is not None and output.is_file()
    written = write_files(files, output, format)
    if found.verdict is not None:
        tell(found.verdict)
    if as_json:
        done: ExportDocument = {**document, "format": format, "files": [str(path) for path in written]}
        print_json(done)
        return
    tell(f"{'replaced' if replaces else 'wrote'} {', '.join(map(str, written))}: {found.name}")
    declared = pack_formats(found.policy.task)
    if format in declared and isinstance(found.policy, Policy):
        for given in declared[format].asked_for(found.policy):
            tell(f"{format} needs {given}")
