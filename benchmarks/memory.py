"""Bytes of an object by mechanism and plan, and a trace of 100 million requests run within 4 GiB.

An object's bytes are what a process of its own grows by over a run, divided by the objects, beside the sum of what the
layouts of the mechanism and the plan say: each object is asked for twice, and all stay in the cache but where the plan
asks of those that left, where half do. The large trace is written to a temporary directory (2.4 GB), read from there by
the way that `vulcan eval` goes, and the largest resident sets of the search's process and the scoring child are noted
(the child's has the pages of the trace that it reads, though they are the page cache's); a quick run has 5 million
requests, for which the same bytes per request and an object hold.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from benchmarks.engine_workloads import under
from benchmarks.harness import BenchmarkResult, BenchmarkTable, Goal, NotMeasurable, run_suite
from vulcan.anvil import Policy, check
from vulcan.evaluator import load_evaluator
from vulcan.paths import keep_compiled_kernels_in_cache
from vulcan.registry import find_task
from vulcan.scoring import JailedEvaluator, Job, Setup
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan_cache.simulate import simulate

ADMIT = "\ndef admit(now, obj, cache, victim, ghost):\n    return {}\n"
PRIORITY = "def priority(now, obj, cache, ghost):\n    return {}\n"
FIVE = (
    "obj.count.ewma(0.3) + obj.last_access.recent(2) + obj.size.avg() + cache.size.percentile(0.5)"
    " + cache.last_access.window_avg(64)"
)
RANKED = {
    "no statistics": "obj.count / obj.size",
    "one statistic": "obj.count.ewma(0.3)",
    "five statistics": FIVE,
    "population": "obj.size - cache.size.percentile(0.5)",
    "window of 64": "obj.size.window_avg(64)",
    "ghost": "obj.count + ghost.count(obj.id)",
}
PLANS: dict[str, dict[str, str]] = {
    "heap": {name: PRIORITY.format(value) for name, value in RANKED.items()},
    "sample": {name: PRIORITY.format(value) for name, value in RANKED.items()},
    "heap, admission": {
        name: PRIORITY.format(RANKED[name]) + ADMIT.format("1 + ghost.count(obj.id)")
        for name in ("no statistics", "one statistic", "five statistics")
    },
}
HALF_LEAVES = ("ghost",)

RECORD = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])
_BLOCK = 1 << 20
_SCATTER = np.uint64(0x9E3779B97F4A7C15)
_A_SECOND = 10_000

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
    rows, differences = [], []
    for mechanism, plan in combinations(quick):
        computed, measured = (of(mechanism, plan, objects) for of in (computed_bytes, measured_bytes))
        differences.append(abs(measured / computed - 1))
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
    return BenchmarkResult(tables, tuple(goals))


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


def measured_bytes(mechanism: str, plan: str, objects: int) -> float:
    """Of an object, in a process whose allocator maps arrays on their own.

    By default glibc keeps what was freed before the run, 4 bytes an object, and a run that takes that does not grow.
    """
    mapped = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
    grown: int = _in_its_own_process(f"growth({objects}, {mechanism!r}, {plan!r})", **mapped)
    return grown / objects


def watched_run(file: Path, mechanism: str, plan: str, cache: Path) -> dict[str, Any]:
    """Return what `watched` does. Decoded traces go to `cache`, kernels to the usual directory."""
    keep_compiled_kernels_in_cache()
    found: dict[str, Any] = _in_its_own_process(
        f"watched({str(file)!r}, {mechanism!r}, {plan!r})", VULCAN_CACHE_DIR=str(cache)
    )
    return found


def _in_its_own_process(call: str, **environment: str) -> Any:
    """Return what a call of a function of this module returns."""
    done = subprocess.run(
        [sys.executable, "-c", f"import json; from benchmarks import memory; print(json.dumps(memory.{call}))"],
        cwd=Path(__file__).resolve().parents[1],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


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
    return np.asarray(np.floor((1 + uniform * ((objects + 1) ** power - 1)) ** (1 / power)))


def policy_for(mechanism: str, plan: str) -> Policy:
    task = find_task("cache_eviction")
    if mechanism == "queues":
        return check(task.seed_policies()[plan], task)
    return check(f'MECHANISM = "{mechanism.partition(",")[0]}"\n{PLANS[mechanism][plan]}', task)


def combinations(quick: bool) -> list[tuple[str, str]]:
    pairs = [(mechanism, plan) for mechanism, plans in PLANS.items() for plan in plans]
    pairs += [("queues", "clock"), ("queues", "s3_fifo")]
    wanted = ("no statistics", "five statistics", "s3_fifo")
    return [pair for pair in pairs if pair[1] in wanted] if quick else pairs


OBJECT_BYTES = {
    "heap": 64 + 4 + 16,  # a record, which is a cache line, a place and a node
    "sample": 64 + 4,
    "queues": 64 + 8,  # two links
}
"""Of each object that a trace has, beside the policy's statistics."""

RESIDENT_BYTES = {"heap": 16, "sample": 4}
"""The part of them that only objects in the cache have: a node, or an entry of the list of residents."""


def computed_bytes(mechanism: str, plan: str, objects: int) -> float:
    """Of an object, as the layouts of the mechanism and the plan add up; the system's own block is shared by all."""
    policy = policy_for(mechanism, plan)
    system = policy.plan.bytes_of_system(policy.task.signature)
    unused = RESIDENT_BYTES[policy.mechanism] / 2 if plan in HALF_LEAVES else 0
    return OBJECT_BYTES[policy.mechanism] - unused + policy.plan.bytes_per_entity + system / objects


def growth(objects: int, mechanism: str, plan: str) -> int:
    """Bytes by which the largest resident set exceeds that before the run."""
    policy = policy_for(mechanism, plan)
    requests = np.concatenate((np.arange(objects), np.arange(objects))).astype(np.uint32)
    sizes = np.ones(len(requests), np.int64)
    capacity = objects // 2 if plan in HALF_LEAVES else objects
    simulate(policy, np.resize(requests[:1000], len(requests)), sizes, capacity)  # whatever is loaded or compiled late
    Path("/proc/self/clear_refs").write_text("5")  # the peak is that from here on
    before = resident("VmHWM")
    result = simulate(policy, requests, sizes, capacity, object_count=objects)
    assert result.requests == len(requests)
    return resident("VmHWM") - before


def resident(what: str, pid: int | str = "self") -> int:
    """VmRSS, or VmHWM for its peak, of a process, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{what}:"))


class Peak:
    """The largest sum of the proportional set sizes of this process and the child, looked at now and then."""

    def __init__(self) -> None:
        self.pids: list[int | str] = ["self"]
        self.largest = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            self.largest = max(self.largest, sum(_proportional(pid) for pid in self.pids))


def _proportional(pid: int | str) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def watched(file: str, mechanism: str, plan: str) -> dict[str, Any]:
    """Decode a trace file, open it and score a policy over it in the jailed child: seconds, and largest resident sets.

    `together` is the largest share of memory that both processes had at a time, pages they share counted once.
    """
    peak = Peak()
    task = find_task("cache_eviction")
    settings = complete_settings(task, {"trace": [file], "cache_size": ["10%"]})
    seconds: dict[str, float] = {}
    began = time.perf_counter()
    (instance,) = load_evaluator(task).instances(settings, Split(by="none"))
    seconds["decode and open"] = time.perf_counter() - began
    decoded = resident("VmHWM")
    began = time.perf_counter()
    child = JailedEvaluator(Setup("cache_eviction", (instance,)))
    child.start()
    peak.pids.append(cast(int, child.pid))
    seconds["child ready"] = time.perf_counter() - began
    outcome = child.run(Job(1, under(mechanism, PRIORITY.format(RANKED[plan])), (instance,), 3000.0))
    assert outcome.status == "scored", outcome
    seconds["simulate"] = outcome.seconds
    childs = resident("VmHWM", cast(int, child.pid))
    peak.end()
    child.close()
    return {
        "requests": instance.parameters["measure_to"],
        "seconds": seconds,
        "peak_bytes": {"search": decoded, "child": childs, "together": peak.largest},
    }


if __name__ == "__main__":
    run_suite(__doc__ or "", measure)
