"""`vulcan export`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vulcan.cli.files import write_text
from vulcan.cli.options import RUNS, AsJson, RunsDirectory
from vulcan.cli.output import print_json, tell


def export(
    run: Annotated[str, typer.Argument(help="A run's directory, or its name in --runs-dir.")],
    format: Annotated[str, typer.Option("--format", "-f", help="What to write: python.")] = "python",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write; default: named after the task, here.")
    ] = None,
    candidate: Annotated[int | None, typer.Option(help="Which candidate; default: the winner.")] = None,
    runs_dir: RunsDirectory = RUNS,
    as_json: AsJson = False,
) -> None:
    """Write a run's winner as a module that runs without Vulcan."""
    from vulcan.export.of_run import export_candidate
    from vulcan.store.runs import find_run

    place = find_run(run, runs_dir)
    exported = export_candidate(place, format, candidate)
    main = output or Path(next(iter(exported.files)))
    written = [main if number == 0 else main.parent / name for number, name in enumerate(exported.files)]
    for path, text in zip(written, exported.files.values(), strict=True):
        write_text(path, text)
    if as_json:
        print_json(
            {"run": str(place), "candidate": exported.candidate, "format": format, "files": [str(p) for p in written]}
        )
        return
    tell(f"wrote {', '.join(map(str, written))}: candidate {exported.candidate} of {place.name}")
