"""Bytes that a run takes for an object: measured in a process of its own, alongside what the layout adds up to.

`python -m benchmarks.memory_objects OBJECTS MECHANISM PLAN` prints the bytes that the process grew by at its peak.
Each object is asked for twice, and all stay in the cache but where the plan asks of those that left: there half do.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vulcan.anvil import Policy, check
from vulcan.registry import find_task
from vulcan_cache.mechanisms import MECHANISMS
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


@dataclass(frozen=True)
class Measured:
    """Bytes an object: what the layout adds up to, and by how much a process grew."""

    mechanism: str
    plan: str
    computed: float
    measured: float


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


def computed_bytes(mechanism: str, plan: str, objects: int) -> float:
    """Of an object, as the layouts of the mechanism and the plan add up; the system's own block is shared by all."""
    policy = policy_for(mechanism, plan)
    used = MECHANISMS[policy.mechanism]
    system = policy.plan.bytes_of_system(policy.task.signature)
    nodes_unused = 8 if plan in HALF_LEAVES and mechanism.startswith("heap") else 0  # half of the objects have none
    return used.object_bytes - nodes_unused + policy.plan.bytes_per_entity + system / objects


def measured_bytes(mechanism: str, plan: str, objects: int) -> float:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory_objects", str(objects), mechanism, plan],
        cwd=Path(__file__).resolve().parents[1],
        env={**os.environ, "MALLOC_ARENA_MAX": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout) / objects


def in_this_process(objects: int, mechanism: str, plan: str) -> int:
    """Bytes by which the largest resident set exceeds that before the run."""
    policy = policy_for(mechanism, plan)
    requests = np.concatenate((np.arange(objects), np.arange(objects))).astype(np.uint32)
    sizes = np.ones(len(requests), np.int64)
    capacity = objects // 2 if plan in HALF_LEAVES else objects
    simulate(policy, requests[:1000], sizes[:1000], capacity)  # whatever is loaded late
    Path("/proc/self/clear_refs").write_text("5")  # the peak is that from here on
    before = resident("VmHWM")
    result = simulate(policy, requests, sizes, capacity, object_count=objects)
    assert result.requests == len(requests)
    return resident("VmHWM") - before


def resident(what: str, pid: int | str = "self") -> int:
    """VmRSS, or VmHWM for its peak, of a process, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{what}:"))


if __name__ == "__main__":
    print(in_this_process(int(sys.argv[1]), sys.argv[2], sys.argv[3]))
