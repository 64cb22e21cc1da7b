"""Requests a second of the cache engine beside libCacheSim's own C code, and the time to compile a candidate.

A policy with five statistics runs beside the same policy with none.

Zipf(1.0) requests over many objects of log-normal sizes, a cache of 10% of the footprint. All contestants run in one
process, in turn; figures are medians over turns. libCacheSim is measured as it comes; its LRU once more with a hash
table of a size that suits this trace (2**20 buckets instead of 2**24), which makes it about twice as fast.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import libcachesim
import numpy as np

from benchmarks.harness import Goal, arguments, finish, interleaved, ratio
from vulcan.anvil import check
from vulcan.models import Request
from vulcan.models.offline import OfflineEvolve
from vulcan.registry import find_task
from vulcan_cache import simulate
from vulcan_cache.layout import LAYOUT
from vulcan_traces import Trace, load_trace

CANDIDATES = 60

PLAIN = """
def priority(now, obj, cache, ghost):
    return cache.evicted_priority + obj.count / obj.size
"""
FIVE_STATISTICS = """
WEIGHT = 1e-40

def priority(now, obj, cache, ghost):
    seen = obj.count.ewma(0.3) + obj.last_access.recent(2) + obj.size.avg()
    seen = seen + cache.size.percentile(0.5) + cache.last_access.window_avg(64)
    return cache.evicted_priority + obj.count / obj.size + WEIGHT * seen
"""
"""Three statistics of the object, one of all objects and one of the cache. They weigh too little to change which object
leaves, so that the two policies differ in nothing but what the statistics cost."""


def main() -> None:
    options = arguments(__doc__ or "")
    requests, objects, repetitions = 5_000_000, 500_000, 3 if options.quick else 7
    trace = load_trace(
        f"zipf:requests={requests},objects={objects},alpha=1.0,seed=1,sizes=lognormal,size_median=4096,size_sigma=1.2"
    )
    capacity = trace.footprint // 10
    task = find_task("cache_eviction")
    policies = {name: check(source, task) for name, source in task.seed_policies().items()}
    policies |= {"none": check(PLAIN, task), "five": check(FIVE_STATISTICS, task)}
    columns = (np.asarray(trace.objects), np.asarray(trace.sizes))

    with tempfile.TemporaryDirectory() as directory:
        file = write_oracle_general(trace, Path(directory) / "trace.oracleGeneral")

        def engine(policy: str, mechanism: str) -> float:
            result = simulate(
                policies[policy], *columns, capacity, mechanism=mechanism, object_count=trace.object_count
            )
            return result.miss_ratio

        def peer(name: str, **settings: int) -> float:
            reader = libcachesim.TraceReader(str(file), libcachesim.TraceType.ORACLE_GENERAL_TRACE)
            cache = getattr(libcachesim, name)(capacity, **settings)
            return float(cache.process_trace(reader)[0])

        contestants = {
            "vulcan heap, gdsf": lambda: engine("gdsf", "heap"),
            "vulcan heap, lru": lambda: engine("lru", "heap"),
            "vulcan sample 16, gdsf": lambda: engine("gdsf", "sample"),
            "vulcan sample 16, lru": lambda: engine("lru", "sample"),
            "vulcan heap, no statistics": lambda: engine("none", "heap"),
            "vulcan heap, five statistics": lambda: engine("five", "heap"),
            "vulcan sample 16, no statistics": lambda: engine("none", "sample"),
            "vulcan sample 16, five statistics": lambda: engine("five", "sample"),
            "libcachesim LRU": lambda: peer("LRU"),
            "libcachesim LRU, tuned": lambda: peer("LRU", hashpower=20),
            "libcachesim GDSF": lambda: peer("GDSF"),
            "libcachesim S3FIFO": lambda: peer("S3FIFO"),
        }
        ratios = {name: run() for name, run in contestants.items()}
        for mechanism in ("heap", "sample 16"):
            with_none, with_five = (ratios[f"vulcan {mechanism}, {count} statistics"] for count in ("no", "five"))
            if with_none != with_five:
                raise SystemExit(f"{mechanism}: the two policies that are compared made different decisions")
        seconds = interleaved(contestants, repetitions)
    compile_ms = _compile_milliseconds()
    lru, gdsf = seconds["libcachesim LRU"], seconds["libcachesim GDSF"]
    goals = [
        Goal("heap with gdsf, times libcachesim's GDSF", ratio(gdsf, seconds["vulcan heap, gdsf"]), 10),
        Goal("heap with gdsf, times libcachesim's LRU", ratio(lru, seconds["vulcan heap, gdsf"]), 2),
        Goal("sample 16 with gdsf, times libcachesim's LRU", ratio(lru, seconds["vulcan sample 16, gdsf"]), 1),
        *(
            Goal(
                f"{mechanism}, five statistics, times the speed with none",
                ratio(seconds[f"vulcan {mechanism}, no statistics"], seconds[f"vulcan {mechanism}, five statistics"]),
                0.5,
            )
            for mechanism in ("heap", "sample 16")
        ),
        Goal("milliseconds to compile a candidate, median", statistics.median(compile_ms), 10, at_least=False),
    ]
    rows = {
        name: {"mreq_per_s": requests / statistics.median(times) / 1e6, "miss_ratio": ratios[name], "seconds": times}
        for name, times in seconds.items()
    }
    table = [
        f"{requests:,} requests, {trace.object_count:,} objects, cache {capacity:,} bytes (10% of the footprint)",
        "",
    ]
    table += [
        f"{name:34} {row['mreq_per_s']:8.1f} Mreq/s   miss ratio {row['miss_ratio']:.4f}" for name, row in rows.items()
    ]
    tuned = ratio(seconds["libcachesim LRU, tuned"], seconds["vulcan heap, gdsf"])
    table += ["", f"heap with gdsf, times libcachesim's LRU with a tuned hash table: {tuned:.2f}"]
    finish(options, {"requests": requests, "engines": rows, "compile_ms": compile_ms, "tuned_lru": tuned}, table, goals)


def _compile_milliseconds() -> list[float]:
    """Check and compile programs of the offline generator, after a few that do not count."""
    task = find_task("cache_eviction")
    generator = OfflineEvolve(task)
    sources = [
        generator.propose(Request(number, 0, (), (), seed=7)).text.split("```python\n")[1].split("```")[0]
        for number in range(CANDIDATES)
    ]
    times = []
    for number, source in enumerate([*sources[:5], *sources]):
        began = time.perf_counter()
        check(source, task).native(LAYOUT)
        if number >= 5:
            times.append((time.perf_counter() - began) * 1e3)
    return times


def write_oracle_general(trace: Trace, path: Path) -> Path:
    """The trace as a file that libCacheSim reads."""
    rows = np.zeros(trace.requests, np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")]))
    rows["time"] = np.arange(trace.requests) // 1000
    rows["id"] = trace.objects
    rows["size"] = trace.sizes
    rows["next"] = np.where(trace.next_access < 0, -1, trace.next_access + 1)
    rows.tofile(path)
    return path


if __name__ == "__main__":
    main()
