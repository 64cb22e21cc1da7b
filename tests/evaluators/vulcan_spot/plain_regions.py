"""A run over several regions in plain Python, in terms of its own: slow, and simple enough to be seen right."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import plain_spot
from plain_spot import NONE, ON_DEMAND, SPOT, PlainRun

from vulcan_spot.job import SafetyNet, SpotJob

MOVE, LOOK = 0, 3


@dataclass
class PlainRegions(PlainRun):
    """`available` is that of the region where the job is."""

    all_available: Sequence[Sequence[int]] = ()
    region: int = 0
    came: int = 0
    moves: int = 0
    seen: dict[int, tuple[int, int, int]] = field(default_factory=dict)  # tick, available, spell
    ticks_seen: dict[int, int] = field(default_factory=dict)
    visits: dict[int, int] = field(default_factory=dict)
    prices: Sequence[Sequence[float]] = ()
    paid: list[float] = field(default_factory=list)

    @property
    def cost(self) -> float:
        return sum(self.paid) * self.gap / 3600

    def price(self, region: int) -> float:
        """What an hour on spot costs there now; after the end of the window, what it cost last."""
        known = self.prices[region] if self.prices else ()
        return known[min(self.tick, len(known) - 1)] if known else 0.9731

    def features_of(self, region: int) -> dict[str, float]:
        tick, available, spell = self.seen.get(region, (-1, -1, 0))
        return {
            **self.features(),
            "regions.count": len(self.all_available), "regions.seen": len(self.seen),
            "regions.here_s": (self.tick - self.came) * self.gap,
            "region.id": region, "region.available": available, "region.age_s": (self.tick - tick) * self.gap,
            "region.ticks_seen": self.ticks_seen.get(region, 0), "region.spell_s": spell,
            "region.visits": self.visits.get(region, 0), "region.price_ratio": self.price(region) / 3.06,
            "spot.price_ratio": self.price(self.region) / 3.06,
            "regions.lowest_price_ratio": min(map(self.price, range(len(self.all_available)))) / 3.06,
        }  # fmt: skip


Decide = Callable[[PlainRegions], int]
Prefer = Callable[[PlainRegions], int]
"""The region to move to, or to look at."""


def in_turn(r: PlainRegions) -> int:
    return (r.region + 1) % len(r.all_available)


def run(
    decide: Decide,
    prefer: Prefer,
    available: Sequence[Sequence[int]],
    gap: int,
    job: SpotJob,
    net: SafetyNet = "exact",
    prices: Sequence[Sequence[float]] = (),
) -> PlainRegions:
    """`decide` gives 0 to move, 3 to look, else what to run; until the job is done, however late."""
    r = PlainRegions(job, gap, available[0], all_available=available, visits={0: 1}, prices=prices)
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
            r.available = available[r.region]
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


def staying(decide: plain_spot.Decide) -> Decide:
    """Where the rule for one region would wait for spot it asks for it, which is not there."""
    return lambda r: decide(r) or SPOT


BASELINES: dict[str, Decide] = {
    "on_demand": plain_spot.on_demand,
    "greedy": staying(plain_spot.greedy),
    "greedy_round_robin": plain_spot.greedy,
    "uniform_progress": staying(plain_spot.uniform_progress),
    "uniform_progress_round_robin": plain_spot.uniform_progress,
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

    They are spot, on-demand, to move to every region and to look at it.
    """
    least = math.inf
    regions = len(available)
    for sequence in itertools.product(range(2 + 2 * regions), repeat=decisions):
        chosen = (*sequence, 1, 1)

        def decide(r: PlainRegions, chosen: tuple[int, ...] = chosen) -> int:
            choice = chosen[min(r.tick, decisions)]
            return SPOT if choice == 0 else ON_DEMAND if choice == 1 else MOVE if choice < 2 + regions else LOOK

        def prefer(r: PlainRegions, chosen: tuple[int, ...] = chosen) -> int:
            to = (chosen[r.tick] - 2) % regions
            return to if to != r.region else in_turn(r)

        least = min(least, run(decide, prefer, available, gap, job, net, prices).cost)
    return least


def policy_runs(policy) -> tuple[Decide, Prefer]:  # type: ignore[no-untyped-def]
    """The two functions of a policy of the task `spot_multi` under CPython, as its mechanism reads their numbers."""
    reference = policy.reference()

    def decide(r: PlainRegions) -> int:
        features = r.features_of(r.region)
        reference.observe(r.region, features)
        reference.handle("on_tick", features, r.region)
        value = reference.ask("decide", features, r.region)
        return MOVE if value < 0.5 else SPOT if value < 1.5 else ON_DEMAND if value < 2.5 else LOOK

    def prefer(r: PlainRegions) -> int:
        others = [region for region in range(len(r.all_available)) if region != r.region]
        return max(others, key=lambda region: reference.ask("prefer", r.features_of(region), region))

    return decide, prefer
