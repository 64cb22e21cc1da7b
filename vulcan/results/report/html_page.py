"""The HTML report: one self-contained page that opens without a network.

The rows of the store are inside, compressed; the page's script unpacks them.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from vulcan import svg
from vulcan.evaluator import SplitName
from vulcan.results.candidate import findings_about
from vulcan.results.drawing import draw
from vulcan.results.findings_html import STYLE, by_instance
from vulcan.results.report.data import Report, difference
from vulcan.results.run import Standing, comparison_of, distinct_standings
from vulcan.results.run import standings as standings_of
from vulcan.searches.evidence import SPLITS

_MAX_EXACT = 2.0**53
_MIN_ALIGNED, _MAX_ALIGNED = 5e-5, 1e5

_SECTIONS = {
    "result": "Result",
    "progress": "Progress",
    "notebook": "Notebook",
    "instances": "Instances",
    "winner": "Program",
    "why": "Findings",
    "lineage": "Lineage",
    "tradeoff": "Complexity",
    "behaviour": "Behaviour",
    "failures": "Failures",
    "cost": "Cost",
    "setup": "Set-up",
    "every": "Every candidate",
}
_COLUMNS = ("candidate", "verdict", "score", "origin", "operator", "parents", "size", "operations", "proposal", "turn")
MEANINGS = {
    "scored": "measured on every training instance",
    "stopped": "shown by cheaper scores not to be among the best",
    "duplicate": "equal to an earlier program",
    "same-decisions": "of the same decisions and measurements as an earlier one",
    "rejected": "not in the language, or refuted in a required property",
    "timeout": "over the time limit",
    "memory": "over the memory limit",
    "crashed": "the cause of its process's death",
    "failed": "an error while it was scored",
    "no-reply": "never given: the model did not reply",
}


def html_page(report: Report, document: Mapping[str, Any]) -> str:
    """Render the page, with figures, data and scripts inlined; text written by a model is escaped."""
    findings = _findings(report)
    environment = page_templates(PLACE, figure=figure_text, aligned=aligned, json=_json, diff_kind=diff_kind)
    splits = [split for split in SPLITS if document[split] is not None]
    lines, equal = standings(report, splits)
    return environment.get_template("report.html.j2").render(
        doc=document,
        title=f"{document['task']}: a search for a policy",
        sections=[
            (id, name)
            for id, name in _SECTIONS.items()
            if {"why": findings, "notebook": document["notebook"]}.get(id, True)
        ],
        splits=splits,
        standings=lines,
        equal=equal,
        winner_rows=report.rows.of_policy(report.winner.candidate if report.winner else None, splits),
        verdict_meanings=MEANINGS,
        columns=_COLUMNS,
        chart=lambda name, caption: _chart(report, name, caption),
        findings=findings,
        style=Markup(page_text("report.css") + svg.STYLE + STYLE),
        script=Markup(page_text("report.js")),
        data=_packed(report, document),
    )


def standings(report: Report, splits: Sequence[SplitName]) -> tuple[list[tuple[Standing, dict[SplitName, Any]]], str]:
    """Return the policies of a run with the rows that their scores are in, and a sentence on equal ones."""
    record, rows = report.record, report.rows
    compared = comparison_of(record, report.scorer)
    winner = None if report.winner is None else report.winner.candidate
    lines, equal = distinct_standings(standings_of(record, compared, winner), splits)
    return [(line, rows.of_policy(line.candidate or line.policy, splits)) for line in lines], equal


def figure_text(value: float | int) -> str:
    """Format a number: floats to five significant digits, integers with thousands separators."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _MAX_EXACT:
        value = int(value)  # a count that an evaluator reports as a float
    return f"{value:,}" if isinstance(value, int) else f"{value:.5g}"


def aligned(value: float | int) -> str:
    """Format a number for a column: floats with four decimals, so that their points align."""
    if isinstance(value, int) or not _MIN_ALIGNED <= abs(value) < _MAX_ALIGNED:
        return figure_text(value) if value else f"{value:.4f}" if isinstance(value, float) else "0"
    return f"{value:.4f}"


def diff_kind(line: str) -> str:
    """Return the CSS class of a line of a unified diff."""
    if line.startswith(("+++", "---", "@@")):
        return "place"
    return {"+": "added", "-": "removed"}.get(line[:1], "kept")


PLACE = Path(__file__).parent / "page"


def page_templates(place: Path, **filters: Callable[[Any], object]) -> jinja2.Environment:
    """Return the templates of pages in a directory, with these filters; they escape all text."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(place), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters.update(filters)
    return environment


def page_text(name: str) -> str:
    """Return a file of the page."""
    return (PLACE / name).read_text(encoding="utf-8")


def inlined(style: str) -> Markup:
    """Return the head of a page without scripts: it loads nothing, and has the style of pages and this one."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:"
    sheet = page_text("report.css") + style
    return Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{sheet}</style>')


def findings_page(title: str, sections: str) -> str:
    """Render findings, which are drawn as HTML, as a page that loads nothing and runs no script."""
    template = page_templates(PLACE).get_template("findings.html.j2")
    return template.render(title=title, content=Markup(sections), head=inlined(svg.STYLE + STYLE))


def _findings(report: Report) -> Markup:
    """Return the findings about the workload and the winner that the run recorded, drawn."""
    record = report.record
    about = findings_about(record, report.winner.candidate) if report.winner else ()
    return Markup(by_instance(record.workload.located if record.workload else (), about, "The workload", "The winner"))


def _chart(report: Report, name: str, caption: str) -> Markup:
    """Return a figure; a candidate in it leads to its row."""
    if (drawn := draw(name, report.record, link=lambda n: f"#row-{report.rows.scores[n, 'train']}")) is None:
        return Markup('<p class="note">There is nothing to draw yet.</p>')
    return Markup("<figure>{}<figcaption>{}</figcaption></figure>").format(Markup(drawn.svg()), caption)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _packed(report: Report, document: Mapping[str, Any]) -> str:
    """Return the data for the page's script: JSON, compressed by gzip, as base64."""
    record = report.record
    by_proposal = {(call.proposal, call.turn): call.model for call in report.calls}
    candidates = [
        {
            **line,
            "rules": list((judged := record.candidates[line["candidate"]]).rules),
            "model": by_proposal.get((judged.proposal, judged.turn)),
        }
        for line in document["all_candidates"]
    ]
    calls = [
        {"proposal": call.proposal, "turn": call.turn, "model": call.model, "reply": call.reply}
        for call in report.calls
    ]
    data = {
        "rows": [row.document() for row in report.rows.all],
        "calls": calls,
        "candidates": candidates,
        "columns": _COLUMNS,
        "differences": {number: text for number in record.candidates if (text := difference(record, number))},
    }
    return base64.b64encode(gzip.compress(json.dumps(data, allow_nan=False).encode(), 9, mtime=0)).decode()
