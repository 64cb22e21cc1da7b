"""The tables of docs/performance.md: the headline figures, and the first table of the cache engine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.harness import BenchmarkTable, format_figure

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
TABLED = "cache_engine"
"""The suite whose first table is on the page."""

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
"""The suite, the goal's name, and what the page calls it."""


def with_tables(page: str, document: Mapping[str, Any]) -> str:
    """Return the page with the figures of the suites that were run; the rest of it as it was."""
    goals = {goal["name"]: goal for suite in document["suites"].values() for goal in suite.get("goals", ())}
    for suite, name, label in HEADLINES:
        if name in goals:
            row = _row(suite, label, goals[name])
            page = re.sub(
                rf"^\| {re.escape(suite)} \| {re.escape(label)} \|.*$", lambda _, row=row: row, page, flags=re.M
            )  # type: ignore[misc]
    tables = document["suites"].get(TABLED, {}).get("tables", ())
    if tables:
        lines = [line for line in BenchmarkTable.from_json(tables[0]).markdown() if line.startswith("|")]
        between = re.compile(rf"(<!-- begin {TABLED} -->\n).*?(<!-- end {TABLED} -->)", re.DOTALL)
        page = between.sub(lambda match: match[1] + "\n".join(lines) + "\n" + match[2], page)
    return page


def _row(suite: str, label: str, goal: Mapping[str, Any]) -> str:
    sign = "" if goal["at_least"] else "at most "
    state = "" if goal["met"] else "**missed**"
    return (
        f"| {suite} | {label} | {format_figure(goal['measured'])} | {sign}{format_figure(goal['target'])} | {state} |"
    )
