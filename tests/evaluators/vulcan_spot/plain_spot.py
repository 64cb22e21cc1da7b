"""A run on spot VMs in plain Python, after the simulator of "Can't Be Late" as the public leaderboard has it.

Written from its rules and in its own terms, in one region or several: hours of history in lists. Slow, and independent
of the kernels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from vulcan_spot.job import SafetyNet, SpotJob

NONE, SPOT, ON_DEMAND, LOOK = range(4)
MOVE = NONE
"""What to run; where there are several regions, not to run is to move to another, and `LOOK` runs on demand."""


@dataclass
class PlainRun:
    """What a policy of the plain simulator sees, and what happened; `available` and `prices` by region."""

    job: SpotJob
    gap: int
    available: Sequence[Sequence[int]]
    prices: Sequence[Sequence[float]] = ()
    tick: int = 0
    last: int = NONE
    current: int = NONE
    overhead_left: float = 0.0
    work: list[float] = field(default_factory=list)
    history: list[int] = field(default_factory=list)
    paid: list[float] = field(default_factory=list)
    starts: int = 0
    preemptions: int = 0
    overruled: int = 0
    spell: int = 0
    running: int = 0
    finished: float = math.nan
    region: int = 0
    came: int = 0
    moves: int = 0
    seen: dict[int, tuple[int, int, int]] = field(default_factory=dict)  # tick, available, spell
    ticks_seen: dict[int, int] = field(default_factory=dict)
    visits: dict[int, int] = field(default_factory=lambda: {0: 1})

    @property
    def has_spot(self) -> bool:
        here = self.available[self.region]
        return self.tick < len(here) and bool(here[self.tick])

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
        return sum(self.paid) * self.gap / 3600

    def price(self, region: int) -> float:
        """What an hour on spot costs there now; after the end of the window, what it cost last."""
        known = self.prices[region] if self.prices else ()
        return known[min(self.tick, len(known) - 1)] if known else 0.9731

    def features(self) -> dict[str, float]:
        return {
            "job.duration_s": self.job.duration, "job.deadline_s": self.job.deadline,
            "job.overhead_s": self.job.overhead, "job.gap_s": self.gap,
            "job.elapsed_s": self.elapsed, "job.progress_s": self.progress, "job.work_left_s": self.left,
            "job.time_left_s": self.job.deadline - self.elapsed,
            "job.slack_s": self.job.deadline - self.elapsed - self.left - self.job.overhead,
            "spot.available": float(self.has_spot), "spot.spell_s": self.spell,
            "spot.price_ratio": self.price(self.region) / 3.06,
            "vm.last": self.last, "vm.held": self.current, "vm.overhead_left_s": self.overhead_left,
            "vm.running_s": self.running, "vm.preemptions": self.preemptions,
        }  # fmt: skip

    def features_of(self, region: int) -> dict[str, float]:
        tick, available, spell = self.seen.get(region, (-1, -1, 0))
        return {
            **self.features(),
            "regions.count": len(self.available), "regions.seen": len(self.seen),
            "regions.here_s": (self.tick - self.came) * self.gap,
            "region.id": region, "region.available": available, "region.age_s": (self.tick - tick) * self.gap,
            "region.ticks_seen": self.ticks_seen.get(region, 0), "region.spell_s": spell,
            "region.visits": self.visits.get(region, 0), "region.price_ratio": self.price(region) / 3.06,
            "regions.lowest_price_ratio": min(map(self.price, range(len(self.available)))) / 3.06,
        }  # fmt: skip


Decide = Callable[[PlainRun], int]
Prefer = Callable[[PlainRun], int]
"""The region to move to, or to look at."""


def in_turn(r: PlainRun) -> int:
    return (r.region + 1) % len(r.available)


def run(
    decide: Decide,
    available: Sequence[Sequence[int]],
    gap: int,
    job: SpotJob,
    net: SafetyNet = "exact",
    prefer: Prefer = in_turn,
    prices: Sequence[Sequence[float]] = (),
) -> PlainRun:
    """Until the job is done, however late."""
    r = PlainRun(job, gap, available, prices)
    before = None
    while True:
        r.current = NONE if r.last == SPOT and not r.has_spot else r.last
        done = spent = 0.0
        if r.last != NONE:
            spent = min(gap, r.overhead_left)
            r.overhead_left -= spent
            done = min(gap - spent, r.left)
            r.running += gap
        r.work.append(done)
        if r.left <= 0:
            r.finished = r.elapsed - gap + spent + done
            return r
        if r.current == NONE:
            r.running = 0
            r.preemptions += r.last == SPOT
        r.spell = r.spell + gap if before == r.has_spot else 0
        before = r.has_spot
        r.seen[r.region] = (r.tick, int(r.has_spot), r.spell)
        r.ticks_seen[r.region] = r.ticks_seen.get(r.region, 0) + 1
        asked = decide(r)
        if asked == LOOK and len(available) == 1:
            asked = ON_DEMAND
        request = asked
        if math.ceil((r.left + job.overhead) / gap) >= math.floor((job.deadline - r.elapsed) / gap):
            keeps = r.last if net == "published" else r.current
            request = SPOT if keeps == SPOT and r.overhead_left == 0 else ON_DEMAND
        r.overruled += request != asked
        if request in (MOVE, LOOK) and len(available) > 1:
            r.region = prefer(r)
            r.visits[r.region] = r.visits.get(r.region, 0) + 1
            r.moves += request == MOVE
            r.came = r.tick + 1
            before = None
        elif request == SPOT and not r.has_spot:
            request = NONE
        if request == LOOK:
            request = ON_DEMAND
        if request not in (NONE, r.current):
            r.overhead_left = job.overhead
            r.running = 0
            r.starts += 1
        r.history.append(request)
        r.paid.append(r.price(r.region) if request == SPOT else 3.06 if request == ON_DEMAND else 0.0)
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


def staying(decide: Decide) -> Decide:
    """Where the rule for one region would wait for spot it asks for it, which is not there."""
    return lambda r: decide(r) or SPOT


SEVERAL_BASELINES: dict[str, Decide] = {
    "on_demand": on_demand,
    "greedy": staying(greedy),
    "greedy_round_robin": greedy,
    "uniform_progress": staying(uniform_progress),
    "uniform_progress_round_robin": uniform_progress,
}


def least_cost(
    available: Sequence[Sequence[int]],
    gap: int,
    job: SpotJob,
    decisions: int,
    net: SafetyNet,
    prices: Sequence[Sequence[float]] = (),
) -> float:
    """By trying every sequence of so many decisions; then on demand.

    They are spot, on-demand, and not to run; or, of several regions, to move to each and to look at it.
    """
    least = math.inf
    regions = len(available)
    for sequence in itertools.product(range(2 + 2 * regions if regions > 1 else 3), repeat=decisions):
        chosen = (*sequence, 1, 1)

        def decide(r: PlainRun, chosen: tuple[int, ...] = chosen) -> int:
            choice = chosen[min(r.tick, decisions)]
            return SPOT if choice == 0 else ON_DEMAND if choice == 1 else MOVE if choice < 2 + regions else LOOK

        def prefer(r: PlainRun, chosen: tuple[int, ...] = chosen) -> int:
            to = (chosen[r.tick] - 2) % regions
            return to if to != r.region else in_turn(r)

        least = min(least, run(decide, available, gap, job, net, prefer, prices).cost)
    return least


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


def policy_runs(policy) -> tuple[Decide, Prefer]:  # type: ignore[no-untyped-def]
    """The two functions of a policy of the task `spot_multi` under CPython, as its mechanism reads their numbers."""
    reference = policy.reference()

    def decide(r: PlainRun) -> int:
        features = r.features_of(r.region)
        reference.observe(r.region, features)
        reference.handle("on_tick", features, r.region)
        value = reference.ask("decide", features, r.region)
        return MOVE if value < 0.5 else SPOT if value < 1.5 else ON_DEMAND if value < 2.5 else LOOK

    def prefer(r: PlainRun) -> int:
        others = [region for region in range(len(r.available)) if region != r.region]
        return max(others, key=lambda region: reference.ask("prefer", r.features_of(region), region))

    return decide, prefer
