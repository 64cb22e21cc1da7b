"""Small random cases: jobs, gaps, availability, and policies of the two spot tasks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vulcan_spot.job import SafetyNet, SpotJob
from vulcan_spot.windows import Windows
from vulcan_traces.spot import SpotTrace


@dataclass(frozen=True)
class Case:
    job: SpotJob
    gap: int
    available: tuple[int, ...]


def windows(available: Any, gap: int, copies: int = 1) -> Windows:
    """All of a trace, as a window of one region."""
    trace = SpotTrace("case", gap, np.array(available, np.uint8))
    return Windows.of([trace] * copies, [(i, 0, len(available)) for i in range(copies)])


def regions_windows(regions: Any, gap: int, copies: int = 1, prices: Any = None) -> Windows:
    """All of the traces, as a window of several regions, with prices by region if there are any."""
    columns = prices or [None] * len(regions)
    traces = [
        (SpotTrace("case", gap, np.array(one, np.uint8), prices=None if price is None else np.array(price, float)),)
        for one, price in zip(regions, columns, strict=True)
    ]
    return Windows.of_regions(traces, [(0, 0, len(regions[0]))] * copies, priced=prices is not None)


def net(seed: int) -> SafetyNet:
    """The rules of a case: each of them for every other one."""
    return "published" if seed % 2 else "exact"


def case(seed: int, ticks: int = 30) -> Case:
    """A job of up to so many ticks: overheads of no time, of less than a tick and of several, windows of any length."""
    r = random.Random(seed)
    gap = r.choice((60, 195, 300, 600, 7))
    overhead = r.choice((0, r.randrange(gap), gap, r.randrange(3 * gap)))
    duration = r.randrange(1, max(2, ticks * gap // 2))
    slack = r.choice((0, r.randrange(3 * gap), r.randrange(ticks * gap // 2)))
    job = SpotJob(duration, duration + overhead + slack, overhead)
    length = r.choice((r.randrange(3), r.randrange(1, 3 * ticks)))
    stay = r.random()
    available = [r.randrange(2)]
    while len(available) < length:
        available.append(available[-1] if r.random() < stay else 1 - available[-1])
    return Case(job, gap, tuple(available))


FEATURES = (
    "job.elapsed_s", "job.progress_s", "job.work_left_s", "job.time_left_s", "job.slack_s", "job.overhead_s",
    "job.gap_s", "job.duration_s", "job.deadline_s", "spot.available", "spot.spell_s", "spot.price_ratio",
    "spot.available.ewma(0.3)", "spot.available.window_avg(4)", "spot.spell_s.max()", "spot.available.recent(2)",
    "vm.last", "vm.held", "vm.overhead_left_s", "vm.running_s", "vm.preemptions", "vm.held.avg()",
)  # fmt: skip


def regions_case(seed: int, ticks: int = 30) -> tuple[Case, tuple[tuple[int, ...], ...]]:
    """A case, and the availability in one region or a few, all of one length."""
    r = random.Random(-1 - seed)
    first = case(seed, ticks)
    if r.random() < 0.6:  # time to look around
        later = first.job.deadline + r.randrange(ticks * first.gap)
        first = replace(first, job=replace(first.job, deadline=later))
    regions = [first.available]
    for _ in range(r.choice((0, 1, 1, 2, 3, 3))):
        share = r.random()
        regions.append(tuple(int(r.random() < share) for _ in first.available))
    return first, tuple(regions)


def policy(seed: int) -> str:
    """The source of a policy that looks at a few features at random."""
    r = random.Random(seed)

    def term() -> str:
        return f"{r.choice(FEATURES)} * {r.uniform(-2, 2):.3f}"

    lines = ["def decide(job, spot, vm):"]
    for _ in range(r.randrange(4)):
        lines.append(f"    if {term()} < {term()} + {r.uniform(-300, 300):.1f}:")
        lines.append(f"        return {r.choice(('0', '1', '2', 'spot.available', '2 - spot.available'))}")
    lines.append(f"    return {r.choice(('0', '1', '2', 'spot.available', f'abs({term()}) % 3'))}")
    return "\n".join(lines) + "\n"


REGION_FEATURES = (
    "region.available", "region.age_s", "region.ticks_seen", "region.spell_s", "region.visits", "region.id",
    "region.available.avg()", "region.available.ewma(0.25)", "region.available.recent(2)", "region.age_s.max()",
    "region.spell_s.window_avg(3)", "regions.seen", "regions.count", "regions.here_s", "regions.here_s.avg()",
    "job.slack_s", "job.elapsed_s.latest()",
)  # fmt: skip


PRICE_FEATURES = ("region.price_ratio", "regions.lowest_price_ratio", "region.price_ratio.avg()")


def prices_of(seed: int, regions: Sequence[Sequence[int]]) -> tuple[tuple[float, ...], ...]:
    """What spot costs in each region and tick, up to the price of on-demand."""
    r = random.Random(f"prices {seed}")
    return tuple(tuple(r.choice((0.0, 0.5, 0.9731, 1.7, 3.06)) for _ in region) for region in regions)


def regions_policy(seed: int, priced: bool = False) -> str:
    """The source of a policy of two functions that look at a few features at random."""
    r = random.Random(seed)
    head, body = policy(seed).split("\n", 1)
    if r.random() < 0.6:
        body = f"    if not spot.available and job.slack_s > {r.choice((0, 300, 2000))}:\n        return 0\n{body}"
    if r.random() < 0.5:
        body = f"    if not spot.available and vm.held == 2:\n        return 3\n{body}"
    decide = f"{head.replace('vm)', 'vm, regions)')}\n{body}"
    features = (*REGION_FEATURES, *PRICE_FEATURES * 4) if priced else REGION_FEATURES
    if priced and r.random() < 0.5:
        decide = decide.replace(
            "):\n", "):\n    if spot.price_ratio > 1.3 * regions.lowest_price_ratio:\n        return 0\n", 1
        )
    terms = " + ".join(f"{r.choice(features)} * {r.uniform(-2, 2):.3f}" for _ in range(r.randrange(1, 4)))
    return f"{decide}\n\ndef prefer(job, regions, region):\n    return {terms}\n"
