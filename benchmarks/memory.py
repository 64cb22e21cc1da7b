"""Bytes of an object by mechanism and plan, and a trace of 100 million requests run within 4 GiB.

An object's bytes are what a process of its own grows by over a run, divided by the objects, beside the sum of what the
layouts of the mechanism and the plan say. The large trace is written to a temporary directory (2.4 GB), read from there
by the way that `vulcan eval` goes, and the largest resident sets of the two processes are noted; a quick run has 5
million requests, for which the same bytes per request and an object hold.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.harness import BenchmarkResult, BenchmarkTable, Goal, NotMeasurable, run_suite
from benchmarks.memory_objects import combinations, computed_bytes, measured_bytes

RECORD = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
_BLOCK = 1 << 20
_SCATTER = np.uint64(0x9E3779B97F4A7C15)
_A_SECOND = 10_000


def write_large_trace(path: Path, requests: int, objects: int, *, alpha: float = 0.9, seed: int = 1) -> None:
    """Requests of a Zipf-like popularity over `objects` ids, log-uniform sizes from 256 bytes to 64 KiB by the id.

    The rank is drawn by inverting the continuous distribution of density x^-alpha from 1 to `objects` + 1. The next
    access is written as unknown: readers compute it.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    with path.open("wb") as file:
        for start in range(0, requests, _BLOCK):
            count = min(_BLOCK, requests - start)
            ids = _ranks(random.random(count), objects, alpha).astype(np.uint64) * _SCATTER
            records = np.empty(count, RECORD)
            records["time"] = np.arange(start, start + count) // _A_SECOND
            records["id"] = ids
            records["size"] = np.exp2(8 + (ids >> np.uint64(40)).astype(np.float64) / 2**21)
            records["next"] = -1
            records.tofile(file)


def _ranks(uniform: npt.NDArray[np.float64], objects: int, alpha: float) -> npt.NDArray[np.float64]:
    power = 1 - alpha
    return np.floor((1 + uniform * ((objects + 1) ** power - 1)) ** (1 / power))


REQUESTS, OBJECTS = 100_000_000, 20_000_000
QUICK_REQUESTS, QUICK_OBJECTS = 5_000_000, 1_000_000
LIMIT_GIB = 4.0
RUNS = (("sample", "no statistics"), ("heap", "five statistics"))
FIXED_BYTES = 400 << 20
"""Of a process that has run nothing yet: Python, numpy, LLVM and the compiled kernels."""

BYTES_PER_REQUEST, BYTES_PER_OBJECT = 13.0, 150.0
"""Bounds of a quick run beside the fixed bytes: columns of 4 and 8 bytes per request, and what is kept of an object."""


def measure(quick: bool) -> BenchmarkResult:
    if not Path("/proc/self/clear_refs").exists():
        raise NotMeasurable(
            "the largest resident set of a run is read from /proc, which this system has not; use Linux"
        )
    objects = 200_000 if quick else 2_000_000
    rows, points, differences = [], [], []
    for mechanism, plan in combinations(quick):
        computed, measured = (of(mechanism, plan, objects) for of in (computed_bytes, measured_bytes))
        differences.append(abs(measured / computed - 1))
        points.append({"mechanism": mechanism, "plan": plan, "computed": computed, "measured": measured})
        rows.append((mechanism, plan, f"{computed:.1f}", f"{measured:.1f}"))
    runs = _streamed(quick)
    cells = [
        (
            f"{mechanism}, {plan}",
            f"{run['requests']:,}",
            *(f"{run['peak_bytes'][of] / 2**30:.2f}" for of in ("search", "child", "together")),
            *(f"{run['seconds'][step]:.0f}" for step in ("decode and open", "child ready", "simulate")),
        )
        for (mechanism, plan), run in runs
    ]
    goals = [Goal("difference of measured and computed bytes of an object", max(differences), 0.05, at_least=False)]
    if quick:
        bound = FIXED_BYTES + QUICK_REQUESTS * BYTES_PER_REQUEST + QUICK_OBJECTS * BYTES_PER_OBJECT
        most = max(run["peak_bytes"]["child"] for _, run in runs) / bound
        goals.append(Goal("largest resident set of 5 million requests, times its bound", most, 1.0, at_least=False))
    else:
        most = max(max(run["peak_bytes"].values()) for _, run in runs) / 2**30
        goals.append(Goal("GiB for 100 million requests", most, LIMIT_GIB, at_least=False))
    tables = (
        BenchmarkTable(
            "Bytes of an object that a trace has", ("mechanism", "plan", "computed", "measured"), tuple(rows)
        ),
        BenchmarkTable(
            "A trace streamed from disk: largest resident sets in GiB, and seconds",
            ("run", "requests", "search", "scoring child", "both together", "decode", "start of the child", "simulate"),
            tuple(cells),
        ),
    )
    return BenchmarkResult(tables, tuple(goals), {"objects": points, "streamed": [run for _, run in runs]})


def _streamed(quick: bool) -> list[tuple[tuple[str, str], dict[str, Any]]]:
    requests, objects = (QUICK_REQUESTS, QUICK_OBJECTS) if quick else (REQUESTS, OBJECTS)
    found = []
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "large.oracleGeneral"
        write_large_trace(file, requests, objects)
        for mechanism, plan in RUNS[:1] if quick else RUNS:
            print(f"{requests:,} requests, {mechanism}, {plan}", file=sys.stderr)
            found.append(((mechanism, plan), watched_run(file, mechanism, plan, Path(directory) / "cache")))
    return found


def watched_run(file: Path, mechanism: str, plan: str, cache: Path) -> dict[str, Any]:
    """Return the output of `benchmarks.memory_run`. Decoded traces go to `cache`, kernels to the usual directory."""
    from vulcan.paths import keep_compiled_kernels_in_cache

    keep_compiled_kernels_in_cache()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory_run", str(file), mechanism, plan],
        cwd=Path(__file__).resolve().parents[1],
        env={**os.environ, "VULCAN_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


if __name__ == "__main__":
    run_suite(__doc__ or "", measure)
