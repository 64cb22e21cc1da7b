"""Every benchmark of speed: `python -m benchmarks [--quick] [--check] [--only NAME] [--table]`.

Each suite runs in a process of its own, one after the other, and compares within it, in turn. A quick run takes a few
minutes. `--check` exits with 1 and a line for each goal that is missed; a goal that is known not to be reached is shown
with the reason, and so is what a quick run does not assert. `--table` writes the figures into docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.harness import LEFT_OUT, BenchmarkTable, format_figure, machine, machine_line

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
TABLED = "cache_engine"
"""The suite whose first table is on the page."""

SUITES = {
    "cache_engine": "requests per second of the cache engine",
    "turnaround": "from a reply to a score, by stage",
    "throughput": "candidates per hour of a search",
    "memory": "bytes per object and per request",
    "link_engine": "packets per second of the link simulator",
    "prefix_engine": "blocks and server-minutes per second of the simulators of model servers",
    "spot": "runs per second of the spot simulator",
    "tiering": "page accesses a second of the tiering simulator",
}
"""Modules of this folder, and what they measure."""

HEADLINES = (
    (
        "Cache engine",
        "heap with a GDSF policy, times libCacheSim's LRU",
        "GDSF policy, times the speed of libCacheSim's LRU",
    ),
    ("", "heap with a GDSF policy, times libCacheSim's GDSF", "GDSF policy, times the speed of libCacheSim's GDSF"),
    ("", "heap, times the same policy in CPython", "GDSF policy, times the speed of CPython"),
    ("", "sample, five statistics, times the speed with none", "speed kept with five statistics, `sample`"),
    ("", "milliseconds to check and compile a candidate, median", "milliseconds to check and compile"),
    ("Scoring", "candidates per core-hour, heap, in full", "candidates per core-hour, no racing"),
    ("", "candidates per core-hour, heap, with halving", "candidates per core-hour, with halving"),
    ("Whole searches", "candidates per core-hour, a search, in full", "candidates per core-hour, no racing"),
    ("", "candidates per core-hour, a search, with sampling and racing", "candidates per core-hour, racing"),
    ("Memory", "GiB for 100 million requests", "GiB to simulate a trace of 100 million requests"),
    ("Link simulator", "times ns-3, the median of the cells", "times the speed of ns-3, median"),
    (
        "Prefix cache simulator",
        "slowest, blocks per second of the prefix cache engine",
        "blocks per second, the slowest policy and workload",
    ),
    ("Model server simulator", "minutes of model servers per second", "minutes of servers per second"),
    ("Spot simulator", "runs per second of a policy", "runs per second"),
    ("Tiering simulator", "slowest policy, million page accesses a second", "million page accesses per second"),
)
"""The suite, the goal's name, and what the page calls it."""

LIMIT = 3600.0
"""Seconds of wall clock for one suite, on a machine that is very busy: what hangs comes to an end."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer repetitions and smaller inputs")
    parser.add_argument("--check", action="store_true", help="exit 1 where a goal is missed")
    parser.add_argument(
        "--only", nargs="+", choices=SUITES, default=list(SUITES), help="suites to run; the rest is not"
    )
    parser.add_argument("--table", action="store_true", help=f"write the tables into {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()
    document: dict[str, Any] = {"quick": options.quick, "machine": machine(), "suites": {}}
    print(machine_line(document["machine"]), flush=True)
    for suite in options.only:
        print(f"\n== {suite}: {SUITES[suite]}", flush=True)
        found = run(suite, options.quick)
        document["suites"][suite] = found
        print("\n".join(_lines(found)), flush=True)
    if options.table:
        PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), document), encoding="utf-8")
    return _verdict(document["suites"], options.check)


def run(suite: str, quick: bool) -> dict[str, Any]:
    """Run the suite and return its result; `left_out` or `error` if it has none."""
    command = [sys.executable, "-m", f"benchmarks.{suite}", "--json", *(("--quick",) if quick else ())]
    try:
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"was not done after {LIMIT:g} s"}
    last = (ended.stderr.strip().splitlines() or [""])[-1]
    if ended.returncode == LEFT_OUT:
        return {"left_out": [last.removeprefix("left out: ")], "goals": []}
    if ended.returncode:
        return {"error": f"ended with exit code {ended.returncode}: {last}"}
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def _lines(found: Mapping[str, Any]) -> list[str]:
    if "error" in found:
        return [f"FAILED {found['error']}"]
    lines = []
    for table in found.get("tables", ()):
        lines += [*BenchmarkTable.from_json(table).lines(), ""]
    lines += [f"left out: {what}" for what in found.get("left_out", ())]
    return [*lines, *(goal["line"] for goal in found["goals"])]


def _verdict(suites: Mapping[str, Mapping[str, Any]], check: bool) -> int:
    """Return the exit code, and what it is for: one line each."""
    errors = [f"{name}: {found['error']}" for name, found in suites.items() if "error" in found]
    goals = [(name, goal) for name, found in suites.items() for goal in found.get("goals", ())]
    missed = [f"{name}: {goal['line']}" for name, goal in goals if goal["fails"]]
    shown = [f"{name}: {goal['line']}" for name, goal in goals if not goal["met"] and not goal["fails"]]
    print(f"\n{len(goals)} goals, {sum(goal['met'] for _, goal in goals)} met, {len(missed)} missed, "
          f"{len(shown)} short of what is wanted and not asserted, {len(errors)} suites failed")  # fmt: skip
    for line in (*shown, *missed, *errors):
        print(line)
    return 1 if errors or (check and missed) else 0


def with_tables(page: str, document: Mapping[str, Any]) -> str:
    """Return the page with the figures of the suites that were run; the rest of it as it was."""
    goals = {goal["name"]: goal for suite in document["suites"].values() for goal in suite.get("goals", ())}
    for suite, name, label in HEADLINES:
        if name in goals:
            pattern = rf"^\| {re.escape(suite)} \| {re.escape(label)} \|.*$"
            page = re.sub(pattern, _row(suite, label, goals[name]), page, flags=re.MULTILINE)
    tables = document["suites"].get(TABLED, {}).get("tables", ())
    if tables:
        first, by_others = map(BenchmarkTable.from_json, tables[:2])
        more = tuple(row[:2] for row in by_others.rows[1:])  # the same policy
        lines = [line for line in replace(first, rows=first.rows + more).lines() if line.startswith("|")]
        between = re.compile(rf"(<!-- begin {TABLED} -->\n).*?(<!-- end {TABLED} -->)", re.DOTALL)
        page = between.sub(lambda match: match[1] + "\n".join(lines) + "\n" + match[2], page)
    return page


def _row(suite: str, label: str, goal: Mapping[str, Any]) -> str:
    sign = "" if goal["at_least"] else "at most "
    state = "" if goal["met"] else "**missed**"
    return (
        f"| {suite} | {label} | {format_figure(goal['measured'])} | {sign}{format_figure(goal['target'])} | {state} |"
    )


if __name__ == "__main__":
    sys.exit(main())
