"""Formats of a report: HTML and JSON."""

from __future__ import annotations

import json
from pathlib import Path

from vulcan.errors import UserError
from vulcan.results.report.data import Report, report_document
from vulcan.searches.options import check_choice

FORMS = ("html", "json")
_SUFFIXES = {".html": "html", ".htm": "html", ".json": "json"}


def form_of(output: Path | None, form: str | None = None) -> str:
    """Return the format asked for, else the one of the file's suffix, else HTML. Raises UserError."""
    if form is not None:
        check_choice("form of report", form, FORMS)
        return form
    if output is None:
        return "html"
    if output.suffix.lower() not in _SUFFIXES:
        raise UserError(f"{output}: its ending is neither .html nor .json: name the format")
    return _SUFFIXES[output.suffix.lower()]


def report_text(report: Report, form: str, seconds: float) -> str:
    """Render the report in a format; each property of the winner gets `seconds` to be proved. Raises UserError."""
    document = report_document(report, seconds)
    if form == "html":
        from vulcan.results.report.html_page import html_page

        return html_page(report, document)
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
