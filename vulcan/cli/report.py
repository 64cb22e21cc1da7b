"""`vulcan report`"""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from vulcan.cli.files import write_text
from vulcan.cli.options import RUNS, RunsDirectory
from vulcan.cli.output import print_json, tell


class Form(StrEnum):
    """What a report is written as."""

    html = "html"
    md = "md"
    json = "json"


def report(
    run: Annotated[str, typer.Argument(help="A run's directory, or its name in --runs-dir.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write; default: report.html; standard output for md, json."),
    ] = None,
    format: Annotated[
        Form | None, typer.Option("--format", "-f", help="What to write; default: by the file's name, else html.")
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.0, help="Time for the proof of each property of the winner; 0 leaves them unknown.")
    ] = 5.0,
    runs_dir: RunsDirectory = RUNS,
) -> None:
    """Write all that is known of a run: a page that opens without a network, Markdown, or JSON.

    \b
    Examples:
      vulcan report 20261120-101500-ab -o report.html
      vulcan report 20261120-101500-ab --format md > report.md
    """
    from vulcan.report.document import Report, report_document
    from vulcan.store.runs import find_run

    form = format or _by_name(output)
    place = find_run(run, runs_dir)
    read = Report.of(place)
    document = report_document(read, seconds)
    if form is Form.html:
        from vulcan.report.html_page import html_page

        output = output or Path("report.html")
        write_text(output, html_page(read, document))
    elif form is Form.md:
        from vulcan.report.markdown import markdown

        text = markdown(read, document)
        if output is None:
            sys.stdout.write(text)
        else:
            write_text(output, text)
    elif output is None:
        print_json(document)
    else:
        import json

        write_text(output, json.dumps(document, indent=2, allow_nan=False) + "\n")
    if output is not None:
        tell(f"wrote {output}: {place.name}")


def _by_name(output: Path | None) -> Form:
    """The form that a file's name asks for. Raises UserError where it asks for none of them."""
    from vulcan.errors import UserError

    if output is None:
        return Form.html
    forms = {".html": Form.html, ".htm": Form.html, ".md": Form.md, ".json": Form.json}
    if output.suffix.lower() not in forms:
        raise UserError(f"{output}: say with --format what it is to be: html, md or json")
    return forms[output.suffix.lower()]
