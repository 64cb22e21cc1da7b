"""Time of each engine as a multiple of a fixed kernel in the same process, to detect regressions.

The kernel is a least-recently-used cache by a linked list, compiled here and never to be changed. All work on little
enough to stay in the second-level cache, for a few milliseconds, and the least time of many turns counts: other work on
the machine can only lengthen a run, and seldom lengthens all of them. Where its arrays and code come to lie is a
process's luck, so an engine is too slow only if it is in each of several new ones. `recorded_ratios.json` has the
ratios of a known good state, by processor; `--record` writes those of this one.

    python -m benchmarks.engine_ratios [--record]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from benchmarks.engine_workloads import BY_STATISTICS, Workload, first, under, workload, zipf
from benchmarks.harness import machine, machine_line
from benchmarks.reference_kernel import least_recently_used
from vulcan.anvil import Policy, check
from vulcan.evaluator import load_evaluator
from vulcan.registry import find_task
from vulcan.robustness import shipped
from vulcan.searches.config import complete_settings
from vulcan.task import Json, Split
from vulcan_cache.simulate import simulate
from vulcan_traces.memory import MEMORY_WORKLOADS

RECORDED = Path(__file__).with_name("recorded_ratios.json")

MAX_LOST = 0.15
"""An engine of the cache may take so much longer than recorded, as a share."""

MORE_ROOM = 2.0
"""As many times that for the other simulators and for policies with state, whose code or arrays are larger than the
first cache: beside another busy process their ratios came out up to 16 % higher."""

MAX_LOST_ELSEWHERE = 0.60
"""The same on a processor that nothing is recorded of: its ratios are others."""

PROCESSES = 3
"""An engine has lost if it has in so many processes: one came out 43 % longer in one, and level in the next."""

ROUNDS, TURNS = 6, 30
"""A round is this many turns. A ratio that is too high gets another round, up to this many."""

REQUESTS, OBJECTS = 50_000, 3_000

OTHERS = {
    f"{task}, {policy}": (task, policy, times)
    for task, policy, times in (
        ("congestion_control", "cubic_like", 2),
        ("active_queue_management", "ramp", 1),
        ("load_balancing", "shortest_reported_queue", 1),
        ("memory_tiering", "lfu", 1),
        ("spot_single", "uniform_progress", 10),
        ("spot_multi", "greedy_round_robin", 10),
    )
}
"""Tasks of the other simulators, one of their policies, and how often it runs, so that it takes some milliseconds."""

ONE = {"memory_tiering": MEMORY_WORKLOADS["small-pages"]["train"][0]}
"""Of tasks whose instances take long to make all, the first of them."""


WITH_STATE = {f"queues, {name}": name for name in ("arc", "w_tinylfu")}
"""Policies of queues with state, by engine."""

ROOMY = {*OTHERS, *WITH_STATE}
"""Engines that get more room."""


@dataclass(frozen=True)
class Recorded:
    """A ratio to compare with, and how much longer an engine may take, as a share."""

    ratio: float
    allowed: float


@dataclass(frozen=True)
class Lost:
    """An engine that takes longer than it may, as multiples of the reference."""

    engine: str
    measured: float
    recorded: float
    allowed: float

    def line(self) -> str:
        return (
            f"{self.engine}: {self.measured:.2f} times the reference kernel, and {self.recorded:.2f} are recorded: "
            f"{self.measured / self.recorded - 1:.0%} longer, {self.allowed:.0%} are allowed"
        )


Engines = Mapping[str, Callable[[], object]]


def on_what() -> Workload:
    """Return the requests that the cache's engines and the reference run on."""
    return workload("Zipf", first(zipf(REQUESTS, OBJECTS), REQUESTS), 0.1)


def reference(on: Workload) -> Callable[[], object]:
    """Return the fixed kernel."""
    objects = on.trace.objects
    room = on.trace.object_count // 10
    return lambda: least_recently_used(objects, on.trace.object_count, room, 4)


def engines(on: Workload) -> Engines:
    """Return the engines to watch: each cache mechanism, also with statistics and state, and the other simulators."""
    task = find_task("cache_eviction")
    sources = {name: source for name, source in BY_STATISTICS.items() if name != "one statistic"}

    def cached(policy: Policy) -> Callable[[], object]:
        return lambda: simulate(
            policy, on.trace.objects, on.trace.sizes, on.capacity, object_count=on.trace.object_count
        )

    return {
        **{
            f"{how}, {name}": cached(check(under(how, source), task))
            for how in ("heap", "sample")
            for name, source in sources.items()
        },
        "queues, S3-FIFO": cached(shipped(task.name, "s3_fifo")),
        **{engine: cached(shipped(task.name, name)) for engine, name in WITH_STATE.items()},
        **{name: evaluated(*which) for name, which in OTHERS.items()},
    }


def evaluated(name: str, policy: str, times: int) -> Callable[[], object]:
    """Return a task's own policy, this many times on the first of its instances."""
    task = find_task(name)
    evaluator = load_evaluator(task)
    given: dict[str, Json] = {"trace": [ONE[name]]} if name in ONE else {}
    split = Split(by="none") if name in ONE else task.split
    instance = next(i for i in evaluator.instances(complete_settings(task, given), split) if i.split == "train")
    evaluator.prepare([instance])
    ready = shipped(name, policy)

    def run() -> None:
        for _ in range(times):
            evaluator.evaluate(ready, instance)

    return run


class Watch:
    """The least time of each engine and of the reference, over all turns so far."""

    def __init__(self, engines: Engines, reference: Callable[[], object]) -> None:
        self._runs = {**engines, "": reference}
        self._least = dict.fromkeys(self._runs, float("inf"))
        for run in self._runs.values():
            run()  # compiles, or loads what was

    def turn(self, turns: int) -> dict[str, float]:
        """Return the ratios after this many turns more."""
        for _ in range(turns):
            for name, run in self._runs.items():
                began = time.thread_time()
                run()
                self._least[name] = min(self._least[name], time.thread_time() - began)
        return {name: least / self._least[""] for name, least in self._least.items() if name}


def recorded(cpu: str) -> dict[str, Recorded]:
    """Return what to compare each engine with on this processor: where nothing is recorded of it, another's ratio."""
    known = {name: entry["ratios"] for name, entry in json.loads(RECORDED.read_text(encoding="utf-8")).items()}
    elsewhere = {engine: Recorded(ratio, MAX_LOST_ELSEWHERE) for own in known.values() for engine, ratio in own.items()}
    return elsewhere | {engine: Recorded(ratio, MAX_LOST) for engine, ratio in known.get(cpu, {}).items()}


def lost(watch: Watch, known: Mapping[str, Recorded], rounds: int = ROUNDS) -> list[Lost]:
    """Return the engines that take longer than they may after all rounds; none as soon as all are fast enough."""
    found: list[Lost] = []
    for _ in range(rounds):
        compared = [
            Lost(name, ratio, known[name].ratio, known[name].allowed * (MORE_ROOM if name in ROOMY else 1))
            for name, ratio in watch.turn(TURNS).items()
        ]
        found = [one for one in compared if one.measured > one.recorded * (1 + one.allowed)]
        if not found:
            break
    return found


def lost_here() -> list[Lost]:
    """Return the engines that take longer than they may in this process."""
    on = on_what()
    return lost(Watch(engines(on), reference(on)), recorded(machine()["cpu"]))


def lost_everywhere(measure: Callable[[], list[Lost]] = lost_here, processes: int = PROCESSES) -> list[Lost]:
    """Return the engines that take longer than they may in each of so many new processes; none as soon as none does."""
    found: dict[str, Lost] = {}
    for number in range(processes):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            slow = {one.engine: one for one in pool.submit(measure).result()}
        found = {name: one for name, one in slow.items() if not number or name in found}
        if not found:
            break
    return [*found.values()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help=f"write {RECORDED.name} for this processor")
    options = parser.parse_args()
    if options.record:
        on, host = on_what(), machine()
        watch = Watch(engines(on), reference(on))
        ratios = {name: round(ratio, 3) for name, ratio in watch.turn(ROUNDS * TURNS).items()}
        known = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
        known[host["cpu"]] = {"machine": machine_line(host), "ratios": ratios}
        RECORDED.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
        print(json.dumps(ratios, indent=2))
        return 0
    found = lost_everywhere()
    print("\n".join(one.line() for one in found) or "no engine takes longer than it may")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
