"""What the benchmarks of this checkout share: arguments, output, real data. The rest is in `vulcan.benchmark`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from vulcan.benchmark import BenchmarkResult, BenchmarkTable, Goal, NotMeasurable, interleaved, machine, ratio

__all__ = [
    "DATA",
    "BenchmarkResult",
    "BenchmarkTable",
    "Goal",
    "NotMeasurable",
    "arguments",
    "finish",
    "interleaved",
    "leave_out",
    "machine",
    "ratio",
    "run_suite",
]

DATA = Path(os.environ.get("VULCAN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
"""Where real traces lie: in VULCAN_DATA, or in `shared/data` beside the checkout."""

LEFT_OUT = 3
"""The exit code of a suite that cannot run here."""


def arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions and smaller inputs")
    parser.add_argument("--check", action="store_true", help="exit 1 where a goal is missed")
    return parser.parse_args()


def run_suite(description: str, measure: Callable[[bool], BenchmarkResult]) -> None:
    """The main function of a suite: measure, print, and exit as `--check` asks."""
    options = arguments(description)
    try:
        findings = measure(options.quick)
    except NotMeasurable as reason:
        leave_out(str(reason))
    document = findings.to_json(options.quick)
    _finish(options, document, list(findings.lines(options.quick)), findings.goals)


def leave_out(reason: str) -> NoReturn:
    """End a suite that cannot run here."""
    print(f"left out: {reason}", file=sys.stderr)
    sys.exit(LEFT_OUT)


def finish(options: argparse.Namespace, document: dict[str, Any], table: Sequence[str], goals: Sequence[Goal]) -> None:
    """Print the result, and exit as `--check` asks."""
    document = {**document, "text": list(table), "goals": [goal.to_json(options.quick) for goal in goals]}
    _finish(options, document, [*table, "", *(goal.line(options.quick) for goal in goals)], goals)


def _finish(options: argparse.Namespace, document: dict[str, Any], lines: Sequence[str], goals: Sequence[Goal]) -> None:
    if options.json:
        print(json.dumps({**document, "machine": machine()}, indent=2))
    else:
        print("\n".join(lines))
    if options.check and any(goal.fails(options.quick) for goal in goals):
        sys.exit(1)
