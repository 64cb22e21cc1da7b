"""The tables of docs/performance.md, which the runner writes between a suite's markers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.harness import BenchmarkTable, format_figure, machine_line

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"


def with_tables(page: str, document: Mapping[str, Any]) -> str:
    """The page with the tables of every suite that has markers in it and was run; the rest of it as it was."""
    for name, found in document["suites"].items():
        if "error" in found or not found.get("goals"):
            continue
        lines = [*_tables(found), *_goals(found["goals"]), f"<sub>{_how(document)}</sub>"]
        between = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        text = "\n".join(lines) + "\n"
        page = between.sub(lambda match, text=text: match[1] + text + match[2], page)  # type: ignore[misc]
    return page


def _tables(found: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for table in found.get("tables", ()):
        lines += [*BenchmarkTable.from_json(table).markdown(), ""]
    if found.get("text"):
        lines += ["```", *(line.rstrip() for line in found["text"]), "```", ""]
    return lines


def _goals(goals: list[Mapping[str, Any]]) -> list[str]:
    lines = ["| goal | wanted | measured | |", "|---|---|---|---|"]
    for goal in goals:
        state = "" if goal["met"] else f"**missed**: {goal['documented']}" if goal["documented"] else "**missed**"
        sign = "" if goal["at_least"] else "at most "
        lines.append(
            f"| {goal['name']} | {sign}{format_figure(goal['wanted'])} | {format_figure(goal['measured'])} | {state} |"
        )
    return [*lines, ""]


def _how(document: Mapping[str, Any]) -> str:
    form = "a quick run" if document["quick"] else "the long run"
    return f"Written by `python -m benchmarks --table`, {form}, on {machine_line(document['machine'])}."
