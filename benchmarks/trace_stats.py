"""Requests per second of `vulcan traces stats`, and what sampling costs in precision.

Fingerprints are made of decoded traces in memory, all in one process, in turn; figures are medians over turns of the
processor time of this process, for the machine may have other work. The pass alone is measured alongside the whole, and
so is one plain pass of numpy, which counts the requests of each object and nothing else.

The traces are those of `shared/data` alongside the project, or of VULCAN_DATA, and a generated one.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Goal, arguments, finish
from vulcan_traces import Trace, load_trace
from vulcan_traces.fingerprint import Fingerprint, fingerprint
from vulcan_traces.fingerprint.kernels import one_pass

DATA = Path(os.environ.get("VULCAN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "cache"
GENERATED = "zipf:requests=5000000,objects=500000,alpha=1.0,seed=1,sizes=lognormal,size_median=4096,size_sigma=1.2"
REAL = {
    "arc P6": ("arc/P6.lis.zst", None),
    "arc P3": ("arc/P3.lis.zst", None),
    "cloudphysics w106": ("caffeine/cloud_physics/w106.trace.xz", "be-u32"),
    "cache2k orm-busy": ("caffeine/cache2k/orm-busy.trace.xz", "be-i32"),
    "scarab": ("caffeine/scarab/scarab-recs.trace.xz", "be-i64"),
    "tragen social, sized": ("derived/tragen_eu3_social.oracleGeneral.bin.zst", None),
    "tragen download, sized": ("derived/tragen_tc0_download.oracleGeneral.bin.zst", None),
    "arc OLTP": ("arc/OLTP.lis.zst", None),
    "mooncake": ("mooncake/conversation_trace.jsonl", None),
    "cloudphysics sample, sized": ("libcachesim/cloudPhysicsIO.oracleGeneral.bin", None),
}
MEASURED = ("stats", "pass", "numpy")

WANTED = 5.0
"""Million requests per second."""

LONG = 1_000_000
"""Requests from which on a trace is long enough for what a fingerprint costs in any case not to matter."""


def main() -> None:
    options = arguments(__doc__ or "")
    repetitions = 3 if options.quick else 7
    names = list(REAL)[-4:] if options.quick else list(REAL)
    traces = {name: load_trace(DATA / REAL[name][0], format=REAL[name][1]) for name in names if _is_there(name)}
    if not options.quick:
        traces["zipf, sized"] = load_trace(GENERATED)

    contestants: dict[tuple[str, str], Callable[[], Any]] = {}
    for name, trace in traces.items():
        contestants[name, "stats"] = lambda trace=trace: fingerprint(trace)
        contestants[name, "pass"] = lambda trace=trace: _pass(trace)
        contestants[name, "numpy"] = lambda trace=trace: np.bincount(trace.objects)
    seconds = _interleaved(contestants, repetitions)

    rows = {}
    for name, trace in traces.items():
        rows[name] = {
            "requests": trace.requests,
            "objects": trace.object_count,
            **{
                what: trace.requests / statistics.median(seconds[name, what]) / 1e6
                for what in ("stats", "pass", "numpy")
            },
            **_errors(trace),
        }
    table = [
        f"{'Mreq/s: medians':28}{'requests':>12}{'stats':>8}{'pass':>8}{'numpy':>8}   sampled   error: largest    mean"
    ]
    for name, row in rows.items():
        error = "exact" if row["rate"] == 1 else f"{row['rate']:7.1%}   {row['largest']:14.4f}  {row['mean']:.4f}"
        table.append(
            f"{name:28}{row['requests']:>12,}{row['stats']:>8.1f}{row['pass']:>8.1f}{row['numpy']:>8.1f}   {error}"
        )
    long = {name: row["stats"] for name, row in rows.items() if row["requests"] >= LONG}
    goals = [Goal(f"million requests per second, {name}", figure, WANTED) for name, figure in long.items()]
    finish(options, {"traces": rows}, table, goals)


def _is_there(name: str) -> bool:
    return (DATA / REAL[name][0]).is_file()


def _pass(trace: Trace) -> None:
    columns = (np.asarray(column) for column in (trace.objects, trace.sizes, trace.times, trace.keys))
    empty = np.empty(0, np.uint32)
    records, totals = np.zeros(trace.object_count, one_pass.RECORD), np.zeros(1, one_pass.TOTALS)
    windows, parts = np.zeros((4, one_pass.WINDOWS), np.int64), np.zeros((3, one_pass.PARTS))
    histograms = one_pass.empty_histograms()
    one_pass.observe(*columns, np.uint64(0), records, totals, histograms, windows, parts, empty, empty)


def _interleaved(contestants: dict[tuple[str, str], Callable[[], Any]], repetitions: int) -> dict[Any, list[float]]:
    """Processor seconds of each, run in turn, after one turn that does not count."""
    seconds: dict[Any, list[float]] = {key: [] for key in contestants}
    for repetition in range(repetitions + 1):
        for key, run in contestants.items():
            began = time.process_time()
            run()
            if repetition:
                seconds[key].append(time.process_time() - began)
    return seconds


def _errors(trace: Trace) -> dict[str, float]:
    """How far sampled miss ratios are from exact ones: the largest of all, and the mean of the worst curve."""
    sampled = fingerprint(trace)
    if sampled.sample_rate == 1:
        return {"rate": 1.0, "largest": 0.0, "mean": 0.0}
    exact: Fingerprint = fingerprint(trace, exact_requests=trace.requests)
    off = [
        np.abs(np.array(getattr(one, what)) - getattr(other, what))
        for one, other in zip(sampled.curves, exact.curves, strict=True)
        for what in ("miss_ratios", "byte_miss_ratios")
    ]
    largest, mean = max(float(each.max()) for each in off), max(float(each.mean()) for each in off)
    return {"rate": sampled.sample_rate, "largest": largest, "mean": mean}


if __name__ == "__main__":
    main()
