"""Requests per second of the engine, alongside libCacheSim and alongside CPython with the same policy."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.engine_peers import NATIVE, SUITED_TABLE, Peer
from benchmarks.engine_workloads import BY_STATISTICS, LRU, PLAIN, Workload, first, under, workload, zipf
from benchmarks.harness import BenchmarkResult, BenchmarkTable, Goal, NotMeasurable, interleaved, ratio
from benchmarks.plain_python import run_plain
from vulcan.anvil import Rejected, check
from vulcan.task import Task
from vulcan_cache.simulate import simulate

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


def _runs(task: Task, on: Workload) -> dict[str, Callable[[], float]]:
    def run(source: str, mechanism: str) -> Callable[[], float]:
        trace, policy = on.trace, check(under(mechanism, source), task)
        return lambda: (
            simulate(policy, trace.objects, trace.sizes, on.capacity, object_count=trace.object_count).miss_ratio
        )

    sources = {**BY_STATISTICS, "LRU": LRU}
    return {engine_name(how, name): run(source, how) for how in MECHANISMS for name, source in sources.items()}


def measure_workload(task: Task, on: Workload, repetitions: int, directory: Path) -> Measured:
    """Return the engine alongside libCacheSim's own code. Without the latter where it is not installed."""
    contestants = _runs(task, on)
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


def measure_python(task: Task, on: Workload, repetitions: int, directory: Path) -> Measured:
    """Return one policy in the engine, in CPython, and behind the hooks of libCacheSim's plug-in."""
    contestants = {engine_name("heap"): _runs(task, on)[engine_name("heap")]}
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


def speed_table(found: Sequence[Measured]) -> BenchmarkTable:
    """Million requests per second of each contestant on each workload."""
    names = list(found[0].seconds)
    rows = tuple((name, *(f"{one.rate(name):.1f}" for one in found)) for name in names)
    return BenchmarkTable("Million requests per second", ("engine", *(one.workload.name for one in found)), rows)


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


def to_json(found: Measured) -> dict[str, object]:
    """Return the figures behind the tables."""
    return {
        "workload": found.workload.name,
        "requests": found.workload.trace.requests,
        "objects": found.workload.trace.object_count,
        "capacity": found.workload.capacity,
        "seconds": {name: list(times) for name, times in found.seconds.items()},
        "miss_ratios": dict(found.miss_ratios),
    }


def measure(task: Task, quick: bool) -> BenchmarkResult:
    """Return the engine on generated requests, a cache of 10 % of the footprint.

    Raises NotMeasurable for a task of other policies.
    """
    try:
        check(PLAIN, task)
    except Rejected:
        raise NotMeasurable(f"{task.name}: the engine is measured with policies of cache_eviction") from None
    whole = zipf(*((1_000_000, 200_000) if quick else (5_000_000, 500_000)))
    with TemporaryDirectory() as name:
        directory = Path(name)
        found = measure_workload(task, workload("Zipf, 10%", whole, 0.1), 2 if quick else 7, directory)
        short = first(whole, 150_000 if quick else 1_000_000)
        beside = measure_python(
            task, workload(f"Zipf, {short.requests:,} requests", short, 0.1), 1 if quick else 3, directory
        )
    left_out = (
        () if native("LRU") in found.seconds else ("libCacheSim, which is not installed: pip install libcachesim",)
    )
    return BenchmarkResult(
        (speed_table([found]), python_table(beside)),
        (*goals_of(found), *python_goals(beside)),
        {"engine": [to_json(found)], "python": to_json(beside)},
        left_out,
    )
