"""What every benchmark shares: interleaved timing, goals, a description of the machine, and the output."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Goal:
    """`measured` should be at least (or at most) `wanted`."""

    name: str
    measured: float
    wanted: float
    at_least: bool = True

    @property
    def met(self) -> bool:
        return self.measured >= self.wanted if self.at_least else self.measured <= self.wanted

    def line(self) -> str:
        sign = ">=" if self.at_least else "<="
        return f"{'met   ' if self.met else 'MISSED'} {self.name}: {self.measured:.2f} (goal {sign} {self.wanted:g})"


def arguments(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions and smaller inputs")
    parser.add_argument("--check", action="store_true", help="exit 1 where a goal is missed")
    return parser.parse_args()


def interleaved(contestants: Mapping[str, Callable[[], Any]], repetitions: int) -> dict[str, list[float]]:
    """Seconds of each contestant, run in turn `repetitions` times after one turn that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for repetition in range(repetitions + 1):
        for name, run in contestants.items():
            began = time.perf_counter()
            run()
            if repetition:
                seconds[name].append(time.perf_counter() - began)
    return seconds


def ratio(slower: Sequence[float], faster: Sequence[float]) -> float:
    """How many times the second is as fast as the first: the median over turns, for the machine drifts."""
    return statistics.median(a / b for a, b in zip(slower, faster, strict=True))


def machine() -> dict[str, Any]:
    packages = ("numba", "llvmlite", "numpy", "libcachesim")
    cpu = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor(),
    )
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def finish(options: argparse.Namespace, document: dict[str, Any], table: Sequence[str], goals: Sequence[Goal]) -> None:
    """Print the result, and exit as `--check` asks."""
    document = {
        **document,
        "machine": machine(),
        "goals": [{"name": g.name, "measured": g.measured, "wanted": g.wanted, "met": g.met} for g in goals],
    }
    if options.json:
        print(json.dumps(document, indent=2))
    else:
        print("\n".join((*table, "", *(goal.line() for goal in goals))))
    if options.check and not all(goal.met for goal in goals):
        sys.exit(1)
