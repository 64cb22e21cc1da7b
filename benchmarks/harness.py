"""Benchmark harness: arguments, interleaved timing, goals, tables, output, and a description of the machine.

Times are processor seconds of this process, all its threads taken together: another process on the same core makes them
longer only by what it does to the caches. Compared are runs of one process, in turn, by the median of the ratios within
each turn, for a machine drifts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

DATA = Path(os.environ.get("VULCAN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
"""Directory of real traces: VULCAN_DATA, or `shared/data` next to the checkout."""

LEFT_OUT = 3
"""The exit code of a suite that cannot run here."""

_PACKAGES = ("numpy", "numba", "llvmlite", "ray", "libcachesim")


class NotMeasurable(Exception):
    """Raised where a benchmark cannot run; the message says what is missing and how to get it."""


@dataclass(frozen=True, slots=True)
class Goal:
    """`measured` should be at least (or at most) `target`.

    A quick run is short, and the machine may be busy: it fails only where a goal is missed by more than `margin`, a
    share of what is wanted. One that is not `in_quick` needs the long run: a quick one shows it, and does not assert
    it. `documented` says in a few words why a goal is known not to be reached; it is shown as such and not asserted.
    """

    name: str
    measured: float
    target: float
    at_least: bool = True
    in_quick: bool = True
    documented: str = ""
    margin: float = 0.0

    @property
    def met(self) -> bool:
        return self._reaches(self.target)

    def is_asserted(self, quick: bool) -> bool:
        """Check whether missing it makes a run fail."""
        return not self.documented and (self.in_quick or not quick)

    def fails(self, quick: bool) -> bool:
        slack = self.margin if quick else 0.0
        least = self.target * (1 - slack if self.at_least else 1 + slack)
        return self.is_asserted(quick) and not self._reaches(least)

    def _reaches(self, wanted: float) -> bool:
        return self.measured >= wanted if self.at_least else self.measured <= wanted

    def line(self, quick: bool = False) -> str:
        """Return the goal and what became of it, in one line."""
        sign = ">=" if self.at_least else "<="
        figures = f"{self.name}: {format_figure(self.measured)} (goal {sign} {format_figure(self.target)})"
        if self.met:
            return f"met    {figures}"
        if self.documented:
            return f"missed (documented) {figures}: {self.documented}"
        if not self.is_asserted(quick):
            return f"missed (not asserted by a quick run) {figures}"
        if not self.fails(quick):
            return f"missed (within the {self.margin:.0%} that a quick run may be off) {figures}"
        return f"MISSED {figures}"

    def to_json(self, quick: bool) -> dict[str, Any]:
        return {
            "name": self.name,
            "measured": self.measured,
            "target": self.target,
            "at_least": self.at_least,
            "met": self.met,
            "fails": self.fails(quick),
            "line": self.line(quick),
        }


def format_figure(figure: float) -> str:
    """Return a figure with three digits or so, as people read it."""
    return f"{figure:,.0f}" if abs(figure) >= 1000 else f"{figure:.3g}"


@dataclass(frozen=True, slots=True)
class BenchmarkTable:
    """Rows of cells that are ready to be shown; `note` stands below."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        if wrong := [row for row in self.rows if len(row) != len(self.columns)]:
            raise ValueError(f"table {self.title!r}: a row of {len(wrong[0])} cells for {len(self.columns)} columns")

    def lines(self) -> Iterator[str]:
        """Yield the lines of a Markdown table, aligned for a terminal too."""
        grid = [[cell.replace("|", "\\|") for cell in row] for row in (self.columns, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
        yield from (f"**{self.title}**", "")
        for number, row in enumerate(grid):
            first, *others = (
                cell.rjust(w) if n else cell.ljust(w) for n, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
            yield f"| {' | '.join((first, *others))} |"
            if number == 0:
                yield "|---" * len(widths) + "|"
        if self.note:
            yield from ("", self.note)

    def to_json(self) -> dict[str, Any]:
        return {"title": self.title, "columns": self.columns, "rows": self.rows, "note": self.note}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> BenchmarkTable:
        rows = tuple(tuple(row) for row in document["rows"])
        return cls(document["title"], tuple(document["columns"]), rows, document["note"])


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """Result of a benchmark; `left_out` says what was not measured, and why."""

    tables: tuple[BenchmarkTable, ...] = ()
    goals: tuple[Goal, ...] = ()
    left_out: tuple[str, ...] = ()

    def to_json(self, quick: bool) -> dict[str, Any]:
        return {
            "tables": [table.to_json() for table in self.tables],
            "goals": [goal.to_json(quick) for goal in self.goals],
            "left_out": list(self.left_out),
        }

    def lines(self, quick: bool) -> Iterator[str]:
        """All of it in lines, for a terminal."""
        for table in self.tables:
            yield from (*table.lines(), "")
        yield from (f"left out: {what}" for what in self.left_out)
        yield from (goal.line(quick) for goal in self.goals)


def interleaved(
    contestants: Mapping[str, Callable[[], Any]],
    repetitions: int,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, list[float]]:
    """Seconds of each contestant, run in turn `repetitions` times after one turn that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for repetition in range(repetitions + 1):
        for name, run in contestants.items():
            began = clock()
            run()
            if repetition:
                seconds[name].append(clock() - began)
    return seconds


def medians(contestants: Mapping[str, Callable[[], Any]], repetitions: int) -> dict[str, float]:
    """Median seconds of each contestant, as `interleaved` runs them."""
    return {name: statistics.median(took) for name, took in interleaved(contestants, repetitions).items()}


def ratio(slower: Sequence[float], faster: Sequence[float]) -> float:
    """Return how many times the second is as fast as the first: the median over turns, for the machine drifts."""
    return statistics.median(a / b for a, b in zip(slower, faster, strict=True))


def machine() -> dict[str, Any]:
    """Describe the machine: processor, caches, kernel, versions, and load."""
    return {
        "cpu": next(
            (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
            platform.processor(),
        ),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "caches": dict(_caches()),
        "system": platform.platform(),
        "load": list(os.getloadavg()),
        "python": platform.python_version(),
        **{name: _version(name) for name in _PACKAGES},
    }


def machine_line(found: Mapping[str, Any]) -> str:
    """Return the machine in a sentence."""
    caches = ", ".join(f"{name} {size}" for name, size in found["caches"].items()) or "caches unknown"
    packages = ", ".join(f"{name} {found[name]}" for name in _PACKAGES if found[name])
    return (
        f"{found['cpu']}, {found['cores']} cores, {caches}; {found['system']}; Python {found['python']}, {packages}; "
        f"load {found['load'][0]:.1f}"
    )


def _caches() -> Iterator[tuple[str, str]]:
    for place in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (next(iter(_lines(place / name)), "") for name in ("level", "type", "size"))
        if kind != "Instruction" and size:
            yield f"L{level}", size


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _lines(path: str | Path) -> list[str]:
    place = Path(path)
    return place.read_text().splitlines() if place.is_file() else []


def argument_parser(description: str) -> argparse.ArgumentParser:
    """Return a parser of the options that every suite has."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions and smaller inputs")
    parser.add_argument("--check", action="store_true", help="exit 1 where a goal is missed")
    return parser


def run_suite(description: str, measure: Callable[[bool], BenchmarkResult]) -> None:
    """The main function of a suite: measure, print, and exit as `--check` asks."""
    options = argument_parser(description).parse_args()
    try:
        finish(options, measure(options.quick))
    except NotMeasurable as reason:
        print(f"left out: {reason}", file=sys.stderr)
        sys.exit(LEFT_OUT)


def finish(options: argparse.Namespace, result: BenchmarkResult) -> None:
    """Print the result, and exit as `--check` asks."""
    if options.json:
        print(json.dumps({**result.to_json(options.quick), "machine": machine()}, indent=2))
    else:
        print("\n".join(result.lines(options.quick)))
    if options.check and any(goal.fails(options.quick) for goal in result.goals):
        sys.exit(1)
