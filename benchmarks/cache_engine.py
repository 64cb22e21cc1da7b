"""Requests per second of the cache engine alongside libCacheSim, and alongside the same policy in CPython.

Zipf(1.0) requests over many objects of log-normal sizes, and the first two million requests of four real traces, with
caches of 0.1, 1 and 10 % of the footprint; the goals are of Zipf at 10 %. All contestants of a workload run in one
process, in turn; figures are of processor time, medians over turns. The policies with one and five statistics make the
same decisions as the one with none. libCacheSim is measured as it comes; its LRU once more with a hash table of a size
that suits these traces. `--quick` measures Zipf at 10 % alone, on fewer requests.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import engine_contest
from benchmarks.engine_peers import write_oracle_general
from benchmarks.engine_workloads import first, workload, zipf
from benchmarks.harness import DATA, BenchmarkResult, BenchmarkTable, Goal, run_suite
from vulcan.anvil import check
from vulcan.generator import OfflineEvolve
from vulcan.models import Request, extract_source
from vulcan.registry import find_task
from vulcan_cache.layout import LAYOUT
from vulcan_traces import Trace, load_trace

__all__ = ["measure", "write_oracle_general"]

TASK = find_task("cache_eviction")
CANDIDATES = 60
COMPILE_GOAL = 10.0
"""Milliseconds."""

REQUESTS = 2_000_000
SHARES = {"0.1%": 0.001, "1%": 0.01, "10%": 0.1}
REAL = {
    "w106": ("caffeine/cloud_physics/w106.trace.xz", "be-u32"),
    "P3": ("arc/P3.lis.zst", "arc"),
    "scarab": ("caffeine/scarab/scarab-recs.trace.xz", "be-i64"),
    "eu3 social": ("derived/tragen_eu3_social.oracleGeneral.bin.zst", None),
}


def measure(quick: bool) -> BenchmarkResult:
    findings = engine_contest.measure(TASK, quick)
    compile_ms = compile_milliseconds(20 if quick else CANDIDATES)
    goal = Goal("milliseconds to check and compile a candidate, median", statistics.median(compile_ms), COMPILE_GOAL,
                at_least=False, margin=0.5)  # fmt: skip
    grid, left_out = ([], []) if quick else on_real_traces()
    tables = [
        BenchmarkTable(f"{table.title}: {name}", table.columns, table.rows)
        for name, found in grid
        for table in [engine_contest.speed_table(found)]
    ]
    document = {
        **findings.document,
        "compile_ms": compile_ms,
        "real": [engine_contest.to_json(one) for _, found in grid for one in found],
    }
    return BenchmarkResult(
        (*findings.tables, *tables), (*findings.goals, goal), document, (*findings.left_out, *left_out)
    )


def on_real_traces() -> tuple[list[tuple[str, list[engine_contest.Measured]]], list[str]]:
    """Return each trace with every cache size, and what is not there."""
    found, left_out = [], []
    with TemporaryDirectory() as directory:
        traces: dict[str, Trace] = {"Zipf": first(zipf(5_000_000, 500_000), REQUESTS)}
        for name, (path, form) in REAL.items():
            if (DATA / "cache" / path).is_file():
                traces[name] = first(load_trace(DATA / "cache" / path, format=form), REQUESTS)
            else:
                left_out.append(f"{name}: no {path} in {DATA / 'cache'}; set VULCAN_DATA")
        for name, trace in traces.items():
            print(f"{name}: {trace.requests:,} requests, {trace.object_count:,} objects", file=sys.stderr)
            rows = []
            for label, share in SHARES.items():
                rows.append(engine_contest.measure_workload(TASK, workload(label, trace, share), 2, Path(directory)))
            found.append((f"{name}, {trace.requests:,} requests, {trace.object_count:,} objects", rows))
    return found, left_out


def compile_milliseconds(candidates: int) -> list[float]:
    """Check and compile programs of the offline generator, after a few that do not count."""
    generator = OfflineEvolve(TASK)
    sources = [
        extract_source(generator.propose(Request(number, 0, (), (), seed=7)), "priority")
        for number in range(candidates)
    ]
    times = []
    for number, source in enumerate([*sources[:5], *sources]):
        began = time.process_time()
        check(source, TASK).native(LAYOUT)
        if number >= 5:
            times.append((time.process_time() - began) * 1e3)
    return times


if __name__ == "__main__":
    run_suite(__doc__ or "", measure)
