"""`vulcan report`"""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from vulcan.cli.options import RUNS, RunName, RunsDirectory
from vulcan.cli.output import tell, write_text
from vulcan.terminal_text import printable


class Form(StrEnum):
    """What a report is written as."""

    html = "html"
    md = "md"
    json = "json"


def report(
    run: RunName,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Output file. Default: report.html; standard output for md and json."),
    ] = None,
    format: Annotated[
        Form | None, typer.Option("--format", "-f", help="Output format. Default: by the file name, else html.")
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(min=0.0, help="Timeout in seconds to prove each property of the winner; 0 leaves them `unknown`."),
    ] = 5.0,
    runs_dir: RunsDirectory = RUNS,
) -> None:
    """Write a full report of a run: a self-contained HTML page, Markdown, or JSON.

    \b
    Examples:
      vulcan report cache_eviction-20260101-120000-ab12 -o report.html
      vulcan report cache_eviction-20260101-120000-ab12 --format md > report.md
    """
    from vulcan.results.report.data import Report
    from vulcan.results.report.formats import form_of, report_text
    from vulcan.store.runs import find_run

    form = form_of(output, format)
    place = find_run(run, runs_dir)
    text = report_text(Report.of(place), form, seconds)
    if output is None and form != "html":
        sys.stdout.write(text if form == "json" else printable(text))
        return
    output = output or Path("report.html")
    write_text(output, text)
    tell(f"wrote {output}: {place.name}")
