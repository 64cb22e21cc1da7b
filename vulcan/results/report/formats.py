"""A report as the text of a file: a page, Markdown, or JSON."""

from __future__ import annotations

import json
from pathlib import Path

from vulcan.errors import UserError, did_you_mean
from vulcan.results.report.data import Report, report_document

FORMS = ("html", "md", "json")
_SUFFIXES = {".html": "html", ".htm": "html", ".md": "md", ".json": "json"}


def form_of(output: Path | None, form: str | None = None) -> str:
    """What to write: what is asked for, else what the file's name says, else a page. Raises UserError."""
    if form is not None:
        if form not in FORMS:
            raise UserError(f"no form of report {form!r}{did_you_mean(form, FORMS)} (known: {', '.join(FORMS)})")
        return form
    if output is None:
        return "html"
    if output.suffix.lower() not in _SUFFIXES:
        raise UserError(f"{output}: say with --format what it is to be: html, md or json")
    return _SUFFIXES[output.suffix.lower()]


def report_text(report: Report, form: str, seconds: float) -> str:
    """The report in a form; each property of the winner gets `seconds` to be proved. Raises UserError."""
    document = report_document(report, seconds)
    if form == "html":
        from vulcan.results.report.html_page import html_page

        return html_page(report, document)
    if form == "md":
        from vulcan.results.report.markdown import markdown

        return markdown(report, document)
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
