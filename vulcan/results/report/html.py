"""A report as one page that opens without a network.

The library that draws the pictures of a page, to be put into it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from vulcan.evaluator import SplitName
from vulcan.results.report.data import Report, difference
from vulcan.results.report.figures import figures
from vulcan.searches.evidence import SPLITS


def plotly_script() -> str:
    """The text of plotly.js, for a `script` element.

    Its credits of map services are links to pages outside; they are spelled so that whoever searches a page for
    outside addresses finds none, and to JavaScript the spelling means the same.
    """
    from plotly.offline import get_plotlyjs

    text: str = get_plotlyjs()
    for scheme in ("http", "https"):
        for attribute in ("href", "src"):
            text = text.replace(f'{attribute}="{scheme}://', f'{attribute}="{scheme}:\\/\\/')
    return text


_SECTIONS = {
    "result": "Result",
    "progress": "Progress",
    "instances": "Instances",
    "winner": "Program",
    "lineage": "Lineage",
    "tradeoff": "Complexity",
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
    "same-decisions": "of the same decisions as an earlier one on a short probe",
    "rejected": "not in the language, or refuted in a required property",
    "timeout": "over the time limit",
    "memory": "over the memory limit",
    "crashed": "the cause of its process's death",
    "failed": "an error while it was scored",
    "no-reply": "never given: the model did not reply",
}
"""What became of a candidate, by verdict, for people."""


def html_page(report: Report, document: Mapping[str, Any]) -> str:
    """The page; its pictures, data and scripts are inside. Whatever a model wrote is shown as text."""
    drawn = figures(report, document)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PLACE), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters.update(figure=figure_text, json=_json, diff_kind=diff_kind)
    splits = [split for split in SPLITS if document[split] is not None]
    return environment.get_template("report.html.j2").render(
        doc=document,
        title=f"{document['task']}: a search for a policy",
        sections=_SECTIONS.items(),
        splits=splits,
        standings=standings(report, document, splits),
        winner_rows=_winner_rows(report, splits),
        candidate_rows=report.rows.judged,
        verdict_meanings=MEANINGS,
        columns=_COLUMNS,
        chart=lambda name, caption: _chart(name, caption, drawn),
        style=Markup(_text("report.css")),
        script=Markup(_text("report.js")),
        plotly=Markup(plotly_script()),
        data=_embedded(report, document, drawn),
    )


def standings(report: Report, document: Mapping[str, Any], splits: Sequence[SplitName]) -> list[dict[str, Any]]:
    """The winner, the control, every baseline and bound with their scores by split, the best on the last split first.

    Each has the rows that its scores were read from, by split.
    """
    lines = []
    if document["best"] is not None:
        scores = {split: document[split]["score"] for split in splits}
        name = f"candidate {document['best']['candidate']}"
        lines.append(_line(name, "candidate", scores, _winner_rows(report, splits)))
    if document["control"] is not None:
        scores = {split: document["control"]["scores"][split] for split in splits}
        lines.append(_line("best-of-n", "control", scores, dict.fromkeys(splits, report.rows.control)))
    for kind in ("baseline", "bound"):
        known = {policy: None for split in splits for policy in document[split][f"{kind}s"]}
        for policy in known:
            scores = {split: document[split][f"{kind}s"].get(policy) for split in splits}
            rows = {split: report.rows.baselines.get((policy, split)) for split in splits}
            lines.append(_line(policy, kind, scores, rows))
    return sorted(lines, key=lambda line: _order(line["scores"], splits))


def figure_text(value: float | int) -> str:
    """A number for people: five significant digits, whole numbers with their thousands apart."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.5g}"


def diff_kind(line: str) -> str:
    """The class of a line of a unified diff."""
    if line.startswith(("+++", "---", "@@")):
        return "place"
    return {"+": "added", "-": "removed"}.get(line[:1], "kept")


_PLACE = Path(__file__).parent / "page"


def _text(name: str) -> str:
    return (_PLACE / name).read_text(encoding="utf-8")


def _line(policy: str, kind: str, scores: Mapping[SplitName, Any], rows: Mapping[SplitName, Any]) -> dict[str, Any]:
    return {"policy": policy, "kind": kind, "scores": scores, "rows": rows}


def _order(scores: Mapping[SplitName, float | None], splits: Sequence[SplitName]) -> float:
    last = scores[splits[-1]] if splits else None
    return float("inf") if last is None else -last


def _winner_rows(report: Report, splits: Sequence[SplitName]) -> dict[SplitName, int | None]:
    if report.winner is None:
        return dict.fromkeys(splits)
    return {split: report.rows.of_candidate(report.winner.candidate, split) for split in splits}


def _chart(name: str, caption: str, drawn: Mapping[str, Any]) -> Markup:
    if name not in drawn:
        return Markup('<p class="note">There is nothing to draw yet.</p>')
    return Markup('<figure><div id="figure-{}"></div><figcaption>{}</figcaption></figure>').format(name, caption)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _embedded(report: Report, document: Mapping[str, Any], drawn: Mapping[str, Any]) -> Markup:
    """What the page's script works on. No text in it can end the element that it stands in."""
    record = report.record
    by_proposal = {(call.proposal, call.turn): call.model for call in report.told.calls}
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
        for call in report.told.calls
    ]
    data = {
        "rows": [row.document() for row in report.rows.all],
        "calls": calls,
        "candidates": candidates,
        "columns": _COLUMNS,
        "differences": {number: text for number in record.candidates if (text := difference(record, number))},
        "figures": {name: json.loads(figure.to_json()) for name, figure in drawn.items()},
    }
    return Markup(_harmless(json.dumps(data, allow_nan=False)))


def _harmless(text: str) -> str:
    """JSON in which no character means anything to HTML; it is the same JSON."""
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
