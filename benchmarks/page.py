"""The tables of the performance pages.

The runner writes the full tables between the markers of each suite in docs/performance/details.md, and the headline
figures of these into docs/performance.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.harness import BenchmarkTable, format_figure, machine_line

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "performance" / "details.md"
SUMMARY_PAGE = DOCS / "performance.md"

HEADLINES = (
    (
        "Cache engine",
        "heap with a GDSF policy, times libCacheSim's LRU",
        "GDSF policy, times the speed of libCacheSim's LRU",
    ),
    ("", "heap with a GDSF policy, times libCacheSim's GDSF", "GDSF policy, times the speed of libCacheSim's GDSF"),
    ("", "heap, times the same policy in CPython", "GDSF policy, times the speed of CPython"),
    (
        "",
        "sample, five statistics, times the speed with none",
        "speed kept with five statistics, `sample`",
    ),
    ("", "milliseconds to check and compile a candidate, median", "milliseconds to check and compile"),
    ("Scoring", "candidates per core-hour, heap, in full", "candidates per core-hour, no racing"),
    ("", "candidates per core-hour, heap, with halving", "candidates per core-hour, with halving"),
    ("Whole searches", "candidates per core-hour, a search, heap, in full", "candidates per core-hour, no racing"),
    (
        "",
        "candidates per core-hour, a search, heap, with sampling and racing",
        "candidates per core-hour, racing",
    ),
    (
        "Ray",
        "share of a call's time that is not its jobs', 50 ms and more",
        "overhead, jobs of 50 ms or more",
    ),
    ("Memory", "GiB for 100 million requests", "GiB to simulate a trace of 100 million requests"),
    ("Link simulator", "times ns-3, the median of the cells", "times the speed of ns-3, median"),
    (
        "Prefix cache simulator",
        "slowest, blocks per second of the prefix cache engine",
        "blocks per second, the slowest policy and workload",
    ),
    ("Spot simulator", "runs per second of a policy", "runs per second"),
    (
        "Tiering simulator",
        "slowest policy, million page accesses a second",
        "million page accesses per second",
    ),
)
"""The suite, the goal's name in the full tables, and what the summary calls it."""


def with_tables(page: str, document: Mapping[str, Any]) -> str:
    """Return the page with the tables of every suite that has markers in it and was run; the rest of it as it was."""
    for name, found in document["suites"].items():
        if "error" in found or not found.get("goals"):
            continue
        lines = [*_tables(found), *_goals(found["goals"]), f"<sub>{_how(document)}</sub>"]
        between = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        text = "\n".join(lines) + "\n"
        page = between.sub(lambda match, text=text: match[1] + text + match[2], page)  # type: ignore[misc]
    return page


def with_headlines(summary: str, details: str) -> str:
    """Return the summary page with the headline figures of the full tables."""
    lines = ["| suite | figure | measured | goal | |", "|---|---|---|---|---|"]
    for suite, goal, label in HEADLINES:
        row = re.search(rf"^\| {re.escape(goal)} \| (.*?) \| (.*?) \| (.*?)\|$", details, re.MULTILINE)
        if row is None:
            raise ValueError(f"{PAGE}: no goal {goal!r}")
        wanted, measured, state = row.groups()
        lines.append(f"| {suite} | {label} | {measured} | {wanted} | {'**missed**' if 'missed' in state else ''} |")
    between = re.compile(r"(<!-- begin headlines -->\n).*?(<!-- end headlines -->)", re.DOTALL)
    return between.sub(lambda match: match[1] + "\n".join(lines) + "\n" + match[2], summary)


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
            f"| {goal['name']} | {sign}{format_figure(goal['target'])} | {format_figure(goal['measured'])} | {state} |"
        )
    return [*lines, ""]


def _how(document: Mapping[str, Any]) -> str:
    form = "a quick run" if document["quick"] else "the long run"
    return f"Written by `python -m benchmarks --table`, {form}, on {machine_line(document['machine'])}."
