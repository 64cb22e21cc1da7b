"""A run on spot VMs in plain Python, after the simulator of "Can't Be Late" as the public leaderboard has it.

Written from its rules and in its own terms: hours of history in lists, floats, the tolerances that it has. Slow, and
independent of the kernel.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from vulcan_spot.job import SafetyNet, SpotJob

NONE, SPOT, ON_DEMAND = 0, 1, 2


@dataclass
class PlainRun:
    """What a policy of the plain simulator sees, and what happened."""

    job: SpotJob
    gap: int
    available: Sequence[int]
    tick: int = 0
    last: int = NONE
    current: int = NONE
    overhead_left: float = 0.0
    work: list[float] = field(default_factory=list)
    history: list[int] = field(default_factory=list)
    starts: int = 0
    preemptions: int = 0
    overruled: int = 0
    spell: int = 0
    running: int = 0
    finished: float = math.nan

    @property
    def has_spot(self) -> bool:
        return self.tick < len(self.available) and bool(self.available[self.tick])

    @property
    def elapsed(self) -> float:
        return self.tick * self.gap

    @property
    def progress(self) -> float:
        return sum(self.work)

    @property
    def left(self) -> float:
        return self.job.duration - self.progress

    @property
    def cost(self) -> float:
        prices = {NONE: 0.0, SPOT: 0.9731, ON_DEMAND: 3.06}
        return sum(prices[kind] * self.gap / 3600 for kind in self.history)

    def features(self) -> dict[str, float]:
        return {
            "job.duration_s": self.job.duration, "job.deadline_s": self.job.deadline,
            "job.overhead_s": self.job.overhead, "job.gap_s": self.gap,
            "job.elapsed_s": self.elapsed, "job.progress_s": self.progress, "job.work_left_s": self.left,
            "job.time_left_s": self.job.deadline - self.elapsed,
            "job.slack_s": self.job.deadline - self.elapsed - self.left - self.job.overhead,
            "spot.available": float(self.has_spot), "spot.spell_s": self.spell, "spot.price_ratio": 0.9731 / 3.06,
            "vm.last": self.last, "vm.held": self.current, "vm.overhead_left_s": self.overhead_left,
            "vm.running_s": self.running, "vm.preemptions": self.preemptions,
        }  # fmt: skip


Decide = Callable[[PlainRun], int]


def run(decide: Decide, available: Sequence[int], gap: int, job: SpotJob, net: SafetyNet = "exact") -> PlainRun:
    """Until the job is done, however late."""
    r = PlainRun(job, gap, available)
    before = None
    while True:
        # observe
        r.current = r.last
        if r.last == SPOT and not r.has_spot:
            r.current = NONE
        # account the tick that has passed
        done = 0.0
        if r.last != NONE:
            done = max(gap - r.overhead_left, 0)
            r.overhead_left -= gap - done
            if r.overhead_left < 1e-3:
                r.overhead_left = 0
            spent = gap - done
            done = min(done, r.left)
            r.running += gap
        r.work.append(done)
        if r.left <= 1e-8:
            r.finished = r.elapsed - gap + spent + done
            return r
        if r.last == SPOT and r.current == NONE:
            r.preemptions += 1
        if r.current == NONE:
            r.running = 0
        r.spell = r.spell + gap if before == r.has_spot else 0
        before = r.has_spot
        # decide, under the strong guarantee
        asked = request = decide(r)
        remaining = math.floor((job.deadline - r.elapsed) / gap) * gap
        needed = math.ceil((r.left + job.overhead) / gap) * gap
        if needed >= remaining:
            keeps = r.last if net == "published" else r.current
            request = SPOT if keeps == SPOT and r.overhead_left < 1e-3 else ON_DEMAND
        r.overruled += request != asked
        if request == SPOT and not r.has_spot:
            request = NONE
        if request not in (r.current, NONE):
            r.overhead_left = job.overhead
            r.running = 0
            r.starts += 1
        r.history.append(request)
        r.last = request
        r.tick += 1


def on_demand(r: PlainRun) -> int:
    return ON_DEMAND


def spot_only(r: PlainRun) -> int:
    return SPOT


def greedy(r: PlainRun) -> int:
    left = max(0, math.floor((r.job.deadline - r.elapsed) / r.gap))
    if math.ceil((r.left + r.job.overhead) / r.gap) >= left:
        return ON_DEMAND
    if math.ceil((r.left + 2 * r.job.overhead) / r.gap) >= left:
        return SPOT if r.current == SPOT and r.has_spot else ON_DEMAND
    return SPOT if r.has_spot else NONE


def uniform_progress(r: PlainRun) -> int:
    c, d, deadline = r.job.duration, r.job.overhead, r.job.deadline
    remaining = math.floor((deadline - r.elapsed) / r.gap) * r.gap
    request = SPOT if r.has_spot else NONE
    if c - r.left - r.elapsed * c / deadline < 0:
        request = SPOT if r.has_spot else ON_DEMAND
    if r.current == ON_DEMAND and (not r.has_spot or (r.elapsed + 2 * d) * c / deadline - (c - r.left) >= 0):
        request = ON_DEMAND
    if math.ceil((r.left + 2 * d) / r.gap) * r.gap >= remaining and r.current in (NONE, ON_DEMAND):
        request = ON_DEMAND
    if math.ceil((r.left + d) / r.gap) * r.gap >= remaining:
        request = SPOT if r.current == SPOT and r.overhead_left < 1e-3 else ON_DEMAND
        if d == 0 and r.has_spot:
            request = SPOT
    return request


BASELINES: dict[str, Decide] = {
    "on_demand": on_demand, "greedy": greedy, "spot_only": spot_only, "uniform_progress": uniform_progress,
}  # fmt: skip


def least_cost(available: Sequence[int], gap: int, job: SpotJob, decisions: int, net: SafetyNet) -> float:
    """By trying every sequence of so many decisions; whoever is not done by then goes on demand."""
    return min(
        run(lambda r, s=sequence: s[r.tick] if r.tick < decisions else ON_DEMAND, available, gap, job, net).cost  # type: ignore[misc]
        for sequence in itertools.product((NONE, SPOT, ON_DEMAND), repeat=decisions)
    )


def policy_decides(policy) -> Decide:  # type: ignore[no-untyped-def]
    """By the policy under CPython, as the mechanism of the task reads its number."""
    reference = policy.reference()

    def decide(r: PlainRun) -> int:
        features = r.features()
        reference.observe(None, features)
        reference.handle("on_tick", features)
        value = reference(features)
        return NONE if value < 0.5 else SPOT if value < 1.5 else ON_DEMAND

    return decide
