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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.engine_peers import NATIVE, SUITED_TABLE, Peer
from benchmarks.engine_workloads import BY_STATISTICS, LRU, PLAIN, Workload, first, under, workload, zipf
from benchmarks.harness import (
    DATA,
    BenchmarkResult,
    BenchmarkTable,
    Goal,
    NotMeasurable,
    interleaved,
    ratio,
    run_suite,
)
from benchmarks.plain_python import run_plain
from vulcan.anvil import check
from vulcan.generator import OfflineEvolve
from vulcan.models.base import Request
from vulcan.models.reply_parser import extract_source
from vulcan.registry import find_task
from vulcan_cache import layout, queue_layout
from vulcan_cache.simulate import simulate
from vulcan_traces import Trace, load_trace

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
MECHANISMS = ("heap", "sample")
SUITED = "libCacheSim LRU, suited table"
PLUG_IN, PYTHON = "libCacheSim plug-in", "CPython"
MARGIN = 0.25
"""Tolerance of a quick run: its trace is short, and other work on the machine pollutes the caches."""

WHY_NOT_SAMPLE = "a second cache line of each of sixteen objects, where memory decides"
STATISTICS_MARGIN = 0.35
"""The same for statistics, whose cost is memory: that is what other work takes most of."""

TOO_FAR = 0.02
"""Miss ratios of one policy may be so far apart: libCacheSim counts and ages in its own way."""


def measure(quick: bool) -> BenchmarkResult:
    whole = zipf(*((1_000_000, 200_000) if quick else (5_000_000, 500_000)))
    with TemporaryDirectory() as name:
        found = measure_workload(workload("Zipf, 10%", whole, 0.1), 2 if quick else 7, Path(name))
        short = first(whole, 150_000 if quick else 1_000_000)
        one_policy = workload(f"Zipf, {short.requests:,} requests", short, 0.1)
        beside = measure_python(one_policy, 1 if quick else 3, Path(name))
    compile_ms = compile_milliseconds(20 if quick else CANDIDATES)
    goal = Goal("milliseconds to check and compile a candidate, median", statistics.median(compile_ms), COMPILE_GOAL,
                at_least=False, margin=0.5)  # fmt: skip
    grid, left_out = ([], []) if quick else on_real_traces()
    if native("LRU") not in found.seconds:
        left_out.insert(0, "libCacheSim, which is not installed: pip install libcachesim")
    tables = [speed_table([found]), python_table(beside)]
    tables += [speed_table(rows, f"Million requests per second: {title}") for title, rows in grid]
    return BenchmarkResult(tuple(tables), (*goals_of(found), *python_goals(beside), goal), tuple(left_out))


def on_real_traces() -> tuple[list[tuple[str, list[Measured]]], list[str]]:
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
            rows = [
                measure_workload(workload(label, trace, share), 2, Path(directory)) for label, share in SHARES.items()
            ]
            found.append((f"{name}, {trace.requests:,} requests, {trace.object_count:,} objects", rows))
    return found, left_out


@dataclass(frozen=True)
class Measured:
    """Seconds and miss ratio of each contestant on one workload."""

    workload: Workload
    seconds: Mapping[str, Sequence[float]]
    miss_ratios: Mapping[str, float]

    def rate(self, name: str) -> float:
        """Million requests per second: the median."""
        return self.workload.trace.requests / statistics.median(self.seconds[name]) / 1e6

    def times(self, name: str, other: str) -> float:
        """Return how many times as fast as the other."""
        return ratio(self.seconds[other], self.seconds[name])


def engine_name(mechanism: str, what: str = "no statistics") -> str:
    return f"{mechanism}, {what}"


def native(name: str) -> str:
    return f"libCacheSim {name}"


def _runs(on: Workload) -> dict[str, Callable[[], float]]:
    def run(source: str, mechanism: str) -> Callable[[], float]:
        trace, policy = on.trace, check(under(mechanism, source), TASK)
        return lambda: (
            simulate(policy, trace.objects, trace.sizes, on.capacity, object_count=trace.object_count).miss_ratio
        )

    sources = {**BY_STATISTICS, "LRU": LRU}
    return {engine_name(how, name): run(source, how) for how in MECHANISMS for name, source in sources.items()}


def measure_workload(on: Workload, repetitions: int, directory: Path) -> Measured:
    """Return the engine alongside libCacheSim's own code. Without the latter where it is not installed."""
    contestants = _runs(on)
    try:
        peer = Peer(on.trace, on.capacity, directory / "trace.oracleGeneral")
    except NotMeasurable:
        pass
    else:
        contestants |= {native(name): lambda name=name: peer.native(name) for name in NATIVE}  # type: ignore[misc]
        contestants[SUITED] = lambda: peer.native("LRU", hashpower=SUITED_TABLE)
    seconds, miss_ratios = _in_turn(contestants, repetitions)
    for mechanism in MECHANISMS:
        if len({miss_ratios[engine_name(mechanism, name)] for name in BY_STATISTICS}) > 1:
            raise AssertionError(f"{mechanism}: the policies that are compared made different decisions")
    return Measured(on, seconds, miss_ratios)


def _in_turn(
    contestants: Mapping[str, Callable[[], float]], repetitions: int
) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Seconds of each contestant, and its miss ratio."""
    miss_ratios: dict[str, float] = {}

    def kept(name: str, run: Callable[[], float]) -> Callable[[], None]:
        return lambda: miss_ratios.update({name: run()})

    return interleaved({name: kept(name, run) for name, run in contestants.items()}, repetitions), miss_ratios


def measure_python(on: Workload, repetitions: int, directory: Path) -> Measured:
    """Return one policy in the engine, in CPython, and behind the hooks of libCacheSim's plug-in."""
    contestants = {engine_name("heap"): _runs(on)[engine_name("heap")]}
    objects, sizes = on.trace.objects.tolist(), on.trace.sizes.tolist()
    contestants[PYTHON] = lambda: run_plain(PLAIN, objects, sizes, on.capacity)
    try:
        peer = Peer(on.trace, on.capacity, directory / "trace.oracleGeneral")
    except NotMeasurable:
        pass
    else:
        contestants[PLUG_IN] = lambda: peer.plug_in(PLAIN)
    seconds, miss_ratios = _in_turn(contestants, repetitions)
    if max(miss_ratios.values()) - min(miss_ratios.values()) > TOO_FAR:
        raise AssertionError(f"the same policy misses differently: {miss_ratios}")
    return Measured(on, seconds, miss_ratios)


def speed_table(found: Sequence[Measured], title: str = "Million requests per second") -> BenchmarkTable:
    """Million requests per second of each contestant on each workload."""
    names = list(found[0].seconds)
    rows = tuple((name, *(f"{one.rate(name):.1f}" for one in found)) for name in names)
    return BenchmarkTable(title, ("engine", *(one.workload.name for one in found)), rows)


def python_table(found: Measured) -> BenchmarkTable:
    """Return the same policy in the engine and in CPython."""
    fast = engine_name("heap")
    rows = tuple(
        (
            name,
            f"{found.rate(name):.3g}",
            f"{found.times(fast, name):.0f}",
            f"{found.miss_ratios[name]:.4f}",
        )
        for name in found.seconds
    )
    columns = ("one policy", "million requests per second", "times as long", "miss ratio")
    return BenchmarkTable(f"The same policy in CPython, on {found.workload.name}", columns, rows)


def goals_of(found: Measured) -> list[Goal]:
    """Return the goals that are measured against libCacheSim, where it is there, and those of statistics."""
    heap, sample = engine_name("heap"), engine_name("sample")
    goals = [
        Goal(
            f"{mechanism}, five statistics, times the speed with none",
            found.times(engine_name(mechanism, "five statistics"), engine_name(mechanism)),
            0.5,
            margin=STATISTICS_MARGIN,
            documented=documented,
        )
        for mechanism, documented in (("heap", ""), ("sample", WHY_NOT_SAMPLE))
    ]
    if native("LRU") in found.seconds:
        goals += [
            Goal("heap with a GDSF policy, times libCacheSim's LRU", found.times(heap, native("LRU")), 2.8,
                 margin=MARGIN),
            Goal("heap with a GDSF policy, times libCacheSim's GDSF", found.times(heap, native("GDSF")), 20,
                 margin=MARGIN),
            Goal("sample of 16, times libCacheSim's LRU", found.times(sample, native("LRU")), 2, margin=MARGIN),
        ]  # fmt: skip
    return goals


def python_goals(found: Measured) -> list[Goal]:
    """Return the goals against CPython."""
    heap = engine_name("heap")
    goals = [Goal("heap, times the same policy in CPython", found.times(heap, PYTHON), 50, margin=MARGIN)]
    if PLUG_IN in found.seconds:
        goals.append(
            Goal("heap, times the same policy in libCacheSim's plug-in", found.times(heap, PLUG_IN), 20, margin=MARGIN)
        )
    return goals


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
        policy = check(source, TASK)
        policy.native((queue_layout if policy.mechanism == "queues" else layout).LAYOUT)
        if number >= 5:
            times.append((time.process_time() - began) * 1e3)
    return times


if __name__ == "__main__":
    run_suite(__doc__ or "", measure)
