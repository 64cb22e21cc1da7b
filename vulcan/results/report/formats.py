"""Formats of a report: HTML and JSON."""

from __future__ import annotations

import json
from pathlib import Path

from vulcan.errors import UserError, did_you_mean
from vulcan.results.report.data import Report, report_document

FORMS = ("html", "json")
_SUFFIXES = {".html": "html", ".htm": "html", ".json": "json"}


def form_of(output: Path | None, form: str | None = None) -> str:
    """Return the format asked for, else the one of the file's suffix, else HTML. Raises UserError."""
    if form is not None:
        if form not in FORMS:
            raise UserError(f"no form of report {form!r}{did_you_mean(form, FORMS)} (known: {', '.join(FORMS)})")
        return form
    if output is None:
        return "html"
    if output.suffix.lower() not in _SUFFIXES:
        raise UserError(f"{output}: its ending is neither .html nor .json: name the format")
    return _SUFFIXES[output.suffix.lower()]


def report_text(report: Report, form: str, seconds: float, explain: bool = False) -> str:
    """Render the report in a format; each property of the winner gets `seconds` to be proved.

    With `explain`, the winner's findings are computed for the page, on the training instances and in the sandbox.
    Raises UserError.
    """
    if explain and form != "html":
        raise UserError("--explain draws findings: it needs an HTML page (-o report.html)")
    if explain and report.winner is None:
        raise UserError("--explain: the run has no winner yet; finish it with `vulcan resume`")
    document = report_document(report, seconds)
    if form == "html":
        from vulcan.results.report.html_page import html_page

        explanation = None
        if explain and report.winner is not None:
            from vulcan.results.explanation import EXPLAIN_SECONDS, explain_candidate

            explanation = explain_candidate(report.record, report.winner.candidate, EXPLAIN_SECONDS)
        return html_page(report, document, explanation)
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
