"""Formats of a report: Markdown (for a README, an issue or an appendix), HTML and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vulcan.errors import UserError, did_you_mean
from vulcan.results.report.data import Report, report_document
from vulcan.results.report.html_page import MEANINGS, aligned, standings
from vulcan.searches.evidence import SPLITS
from vulcan.terminal_text import count


def markdown(report: Report, document: Mapping[str, Any]) -> str:
    """Render the tables and the winner's program; numbers in brackets are rows of the store's table `events`."""
    return "\n".join(_lines(report, document)) + "\n"


def _lines(report: Report, document: Mapping[str, Any]) -> Iterator[str]:
    splits = [split for split in SPLITS if document[split] is not None]
    yield f"# {markdown_cell(document['task'])}: a search for a policy"
    yield ""
    made = document["run_version"]
    yield f"Run `{document['run']}`, {document['state']}, begun {made['began_at']}, with Vulcan {made['vulcan']}."
    yield f"Objective `{document['objective']}`, higher is better. In brackets: the row of the store's table `events`."
    yield ""
    yield "## Result"
    yield ""
    if document["recommendation"] is not None:
        yield f"**{markdown_cell(document['recommendation']['sentence'])}**"
        yield ""
    if document["headline"]:
        second = document["recommendation"] and document["recommendation"]["second"]
        found = f"What the search found, candidate {second}, which is not recommended: " if second else ""
        yield found + markdown_cell(document["headline"])
        yield ""
    lines, equal = standings(report, splits)
    yield from markdown_table(
        ("policy", "kind", *splits),
        [(line.policy, line.kind, *(_number(line.scores.get(s), rows[s]) for s in splits)) for line, rows in lines],
    )
    if equal:
        yield f"{markdown_cell(equal)}\n"
    for change in document["changes"]:
        yield f"Resumed with other settings {markdown_cell(change)}."
        yield ""
    if document["best"] is not None:
        yield f"Candidate {document['best']['candidate']} was chosen on {document['best']['chosen_on']}."
        yield ""
        for caution in document["cautions"]:
            yield f"**Warning:** {markdown_cell(caution)}."
            yield ""
        yield from markdown_table(
            ("split", "instances", "mean", "95% interval"),
            [
                (
                    split,
                    len(document[split]["instances"]),
                    _number(document[split]["score"]),
                    _interval(document[split]["interval"]),
                )
                for split in splits
            ],
        )
        yield from markdown_table(
            ("split", "gain over", "gain", "95% interval, paired", "of"),
            [
                (
                    gain["split"],
                    f"start: {gain['over']}" if gain["kind"] == "start" else gain["over"],
                    _number(gain["shrunk"]),
                    _interval(gain["interval"]),
                    count(gain["count"], gain["units"][:-1]) if gain["count"] else "-",
                )
                for gain in document["gains"]
            ],
        )
        yield from _winner(document)
    yield "## Candidates"
    yield ""
    yield from markdown_table(
        ("verdict", "how many", "meaning"),
        [(verdict, number, MEANINGS[verdict]) for verdict, number in document["candidates"].items() if number],
    )
    if document["failures"]["rules"]:
        yield from markdown_table(("rule that was broken", "times"), document["failures"]["rules"].items())
    if document["models"]:
        yield "## Models"
        yield ""
        columns = ("model", "calls", "tokens_in", "tokens_out", "dollars", "seconds")
        rows = [[_number(m[c]) if c != "model" else m[c] for c in columns] for m in document["models"]]
        yield from markdown_table(("model", "calls", "tokens in", "tokens out", "dollars", "seconds"), rows)
    yield "## Instances"
    yield ""
    yield from markdown_table(
        ("instance", "split", "winner", "best baseline", "", "best oracle", ""),
        [
            (
                row["instance"],
                row["split"],
                _number(row["winner"]),
                *_named(row["best_baseline"]),
                *_named(row["oracle"]),
            )
            for row in document["by_instance"]
        ],
    )


def _winner(document: Mapping[str, Any]) -> Iterator[str]:
    yield "## The winner's program"
    yield ""
    yield from _fenced(document["best"]["source"].rstrip("\n"), "python")
    told = document["winner"]
    for note in told["notes"]:
        yield from _fenced(note, "text")
    if told["properties"]:
        yield from markdown_table(
            ("property", "verdict", "claim", "counterexample or reason"),
            [(p["name"], p["verdict"], p["claim"], p["counterexample"] or p["reason"]) for p in told["properties"]],
        )


def _fenced(text: str, kind: str) -> Iterator[str]:
    """Yield a code block whose fence is longer than any inside it."""
    fence = "```"
    while fence in text:
        fence += "`"
    yield from (f"{fence}{kind}", text, fence, "")


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Yield the lines of a Markdown table, and an empty one."""
    yield "| " + " | ".join(columns) + " |"
    yield "|" + "---|" * len(columns)
    for row in rows:
        yield "| " + " | ".join(markdown_cell(value) for value in row) + " |"
    yield ""


def markdown_cell(value: Any) -> str:
    """Return a value as text with the characters escaped that Markdown gives a meaning."""
    text = " ".join(str(value).split())
    for character in "\\|<>`*_[":
        text = text.replace(character, f"\\{character}")
    return text


def _number(value: float | int | None, row: int | None = None) -> str:
    if value is None:
        return "-"
    return aligned(value) + ("" if row is None else f" ({row})")


def _interval(interval: Mapping[str, float] | None) -> str:
    return "-" if interval is None else f"{_number(interval['low'])} to {_number(interval['high'])}"


def _named(known: Mapping[str, Any] | None) -> tuple[str, str]:
    return ("-", "-") if known is None else (known["policy"], _number(known["score"]))


FORMS = ("html", "md", "json")
_SUFFIXES = {".html": "html", ".htm": "html", ".md": "md", ".json": "json"}


def form_of(output: Path | None, form: str | None = None) -> str:
    """Return the format asked for, else the one of the file's suffix, else HTML. Raises UserError."""
    if form is not None:
        if form not in FORMS:
            raise UserError(f"no form of report {form!r}{did_you_mean(form, FORMS)} (known: {', '.join(FORMS)})")
        return form
    if output is None:
        return "html"
    if output.suffix.lower() not in _SUFFIXES:
        raise UserError(f"{output}: its ending is none of .html, .md and .json: name the format")
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
    if form == "md":
        return markdown(report, document)
    return json.dumps(document, indent=2, allow_nan=False) + "\n"
