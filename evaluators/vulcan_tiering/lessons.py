"""What the future of training data teaches: how often a page is accessed next, by what its samples so far say."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vulcan.lessons import Lesson
from vulcan_tiering.simulate import AccessSamples
from vulcan_traces.memory import PageCounts

MAX_SITUATIONS = 4_000
"""Most of one instance: searches train on dozens."""

REACHES = (1, 4, 16)
"""Intervals whose accesses count."""

DECAYS = (0.5, 0.8, 0.95)

_PROGRAM = f"""\
STAY = 2  # a page in the fast tier stays until another is worth so much more


class page:
    short = 0  # accesses, of which each interval forgets a part
    middle = 0
    long = 0


def on_page(now, page, memory):
    page.short = {DECAYS[0]} * page.short + page.accesses
    page.middle = {DECAYS[1]} * page.middle + page.accesses
    page.long = {DECAYS[2]} * page.long + page.accesses


def worth(latest, short, middle, long, idle, age):
    return 1


def score(now, page, memory):
    idle = now - page.last_access
    expected = worth(page.accesses, page.short, page.middle, page.long, idle, now - page.arrival)
    return expected * (STAY if page.fast else 1)
"""


def lessons_of(counts: PageCounts, samples: AccessSamples, first: int, last: int) -> Iterator[Lesson]:
    """Yield lessons on the mapped pages after intervals from `first` on; none from `last` on is looked at.

    The gain is what a page is accessed in the next intervals, in samples; the cost is how many intervals these are.
    """
    rng = np.random.default_rng(1)
    each = max(1, MAX_SITUATIONS // max(1, last - first))
    forgetting = np.zeros((len(DECAYS), counts.pages))
    last_access = counts.arrivals.astype(float)
    situations = []
    gains: dict[int, list[NDArray[np.float64]]] = {reach: [] for reach in REACHES}
    for now in range(last - 1):
        latest = samples.reads[now].astype(float) + samples.writes[now]
        forgetting = forgetting * np.array(DECAYS)[:, None] + latest
        last_access[latest > 0] = now
        if now < first:
            continue
        chosen = np.arange(np.searchsorted(counts.arrivals, now, side="right"))
        if len(chosen) > each:
            chosen = np.sort(rng.choice(chosen, each, replace=False))
        ages = now - counts.arrivals[chosen]
        situations.append(np.stack([latest[chosen], *forgetting[:, chosen], now - last_access[chosen], ages], axis=1))
        for reach in REACHES:
            ahead = slice(now + 1, min(now + 1 + reach, last))
            loads, stores = (of[ahead, chosen].sum(axis=0, dtype=float) for of in (counts.loads, counts.stores))
            gains[reach].append(loads + stores)
    if not situations:
        return
    intervals = np.repeat(np.arange(first, last - 1), [len(part) for part in situations])
    for reach in REACHES:
        held = np.minimum(reach, last - 1 - intervals).astype(float)
        name = f"accesses to pages within {reach} interval{'s' if reach > 1 else ''}"
        yield Lesson(name, _PROGRAM, np.concatenate(situations), np.concatenate(gains[reach]) / samples.period, held)
