"""The time of a policy by page class, and migrations that did not pay."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vulcan.findings import EvaluatorFinding, Statement
from vulcan.simulator import override
from vulcan.simulator.account import Account, in_order
from vulcan_tiering.machine import Machine
from vulcan_tiering.simulate import AccessSamples, History
from vulcan_traces.memory import PageCounts

PARTS = (
    "computing",
    "stalls of migrations",
    "fast tier, hot pages",
    "fast tier, cold pages",
    "slow tier, cold pages",
    "slow tier, hot: first touched in this interval",
    "slow tier, hot: became hot in this interval",
    "slow tier, hot for longer, never promoted",
    "slow tier, hot for longer, demoted before",
    "waiting for bandwidth",
    "taking samples",
)
"""Where time goes; tiers stand for the waiting for their loads. Hot pages are those of an interval with the most
accesses, as many as the fast tier holds."""

PROMOTIONS, UNPAID, BACK_UP, DEMOTIONS, BACK_DOWN, HOT_DEMOTED, SAVED, FACTS = range(8)
"""Of the measured intervals: promotions; those that saved less than their stalls; within `SOON` intervals of the page's
demotion; demotions; within `SOON` of the page's promotion; of pages hot in the next interval; ns that promoted pages
saved."""

SOON = 4


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs of an instance: capacity and limit in pages, each of which represents `weight` pages."""

    counts: PageCounts
    samples: AccessSamples
    capacity: int
    limit: int
    weight: int


@dataclass(frozen=True)
class TieringAccount(Account):
    """The account of the measured intervals, and facts about migrations."""

    facts: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @override
    def findings(self, *others: Account) -> list[EvaluatorFinding]:
        """Return where time goes, and which migrations did not pay."""
        best = others[0]
        assert isinstance(best, TieringAccount)
        return [*super().findings(*others), Statement(_migrations(self.facts, best), 8.0)]


def hot_pages(counts: PageCounts, capacity: int) -> NDArray[np.uint8]:
    """Return 1 for the pages of each interval with the most accesses, as many as fit; of equals the first ones."""
    hot = np.zeros(counts.loads.shape, np.uint8)
    for interval in range(counts.intervals):
        accesses = counts.loads[interval].astype(np.int64) + counts.stores[interval]
        best = np.argsort(-accesses, kind="stable")[:capacity]
        hot[interval, best[accesses[best] > 0]] = 1
    return hot


def account(
    name: str, inputs: Inputs, machine: Machine, history: History, hot: NDArray[np.uint8], first: int, last: int,
    seconds: float,
) -> TieringAccount:  # fmt: skip
    """Divide the time of a simulation that left this history; the rest of `seconds` is for samples."""
    from vulcan_tiering.kernels.state import MAPPED_FAST, MAPPED_SLOW

    counts, weight = inputs.counts, inputs.weight
    places, took = history
    outstanding, since = machine.threads * counts.overlap, max(first, 1)
    gain = (machine.slow.latency - machine.fast.latency) / outstanding
    parts, facts = np.zeros((last - first, len(PARTS) - 1)), np.zeros(FACTS)
    promoted, demoted = np.zeros((2, counts.pages), np.int64)  # intervals of each page's latest ones, 0 for none
    saved = np.zeros(counts.pages)  # ns, since its promotion
    before, was_hot = np.zeros(counts.pages, np.uint8), np.zeros(counts.pages, np.bool_)
    for interval in range(last):
        place, is_hot, loads = places[interval], hot[interval] != 0, counts.loads[interval].astype(float)
        fast = place == MAPPED_FAST
        up, down = fast & (before == MAPPED_SLOW), (place == MAPPED_SLOW) & (before == MAPPED_FAST)
        facts[UNPAID] += (saved[down & (promoted >= since)] < 2 * machine.migration_stall).sum()
        if interval >= first:
            facts[PROMOTIONS] += up.sum()
            facts[BACK_UP] += (up & (demoted > 0) & (demoted >= interval - SOON)).sum()
            facts[DEMOTIONS] += down.sum()
            facts[BACK_DOWN] += (down & (promoted > 0) & (promoted >= interval - SOON)).sum()
            facts[HOT_DEMOTED] += (down & is_hot).sum()
        promoted[up], saved[up], promoted[down], demoted[down] = interval, 0.0, 0, interval
        if interval >= first:
            brings = np.where(fast & (promoted >= since), loads * gain, 0.0)
            saved += brings
            facts[SAVED] += brings.sum()
            slow = np.where(before == 0, 3, np.where(~was_hot, 4, np.where(demoted == 0, 5, 6)))
            part = np.where(fast, np.where(is_hot, 0, 1), np.where(is_hot, slow, 2))
            served = np.bincount(part[place > 0], loads[place > 0], 7)
            time, fast_ns, slow_ns = took[interval]
            waited = served * np.where(np.arange(7) < 2, fast_ns, slow_ns) / outstanding * weight
            stalls = machine.migration_stall * int(up.sum() + down.sum()) * weight
            spent = [counts.compute / machine.threads * served.sum() * weight, stalls, *waited]
            parts[interval - first] = [*spent, time - sum(spent)]
        before, was_hot = place, is_hot
    facts[UNPAID] += (saved[promoted >= since] < machine.migration_stall).sum()
    divided = dict(zip(PARTS, np.round(1e-6 * parts.T, 12), strict=False))
    sampling = np.full(last - first, (1e3 * seconds - 1e-6 * float(parts.sum())) / (last - first))
    groups = [in_order("part of the trace", last - first, 8)]
    return TieringAccount(name, "interval", "ms", divided | {PARTS[-1]: sampling}, groups, facts * weight)


def _migrations(facts: NDArray[np.float64], best: TieringAccount) -> str:
    theirs = f"{best.facts[PROMOTIONS]:,.0f} with {best.name}"
    if not facts[PROMOTIONS] + facts[DEMOTIONS]:
        return f"No page was migrated (promoted: {theirs})."
    return (
        f"It promoted {facts[PROMOTIONS]:,.0f} pages ({theirs}); "
        f"{_share(facts[UNPAID], facts[PROMOTIONS])} of these did not pay: the loads until the page was demoted, "
        "or the end, saved less waiting, at idle latencies, than its migrations stalled the program. All promoted "
        f"pages together saved {1e-9 * facts[SAVED]:.4g} s. "
        f"{_share(facts[BACK_UP], facts[PROMOTIONS])} came within {SOON} intervals of the page's demotion. Of "
        f"{facts[DEMOTIONS]:,.0f} demotions {_share(facts[BACK_DOWN], facts[DEMOTIONS])} came within {SOON} "
        f"intervals of the page's promotion, and {_share(facts[HOT_DEMOTED], facts[DEMOTIONS])} were of pages that "
        "were hot in the next interval."
    )


def describe(inputs: Inputs, machine: Machine, first: int, last: int) -> list[EvaluatorFinding]:
    """Return the findings on the measured intervals of an instance."""
    counts, capacity, weight = inputs.counts, inputs.capacity, inputs.weight
    loads, stores = (np.asarray(table[first:last], np.int64) for table in (counts.loads, counts.stores))
    accesses = loads + stores
    of_page = np.sort(accesses.sum(axis=0))[::-1]
    total = max(1, int(of_page.sum()))
    hot = hot_pages(counts, capacity)[first:last]
    reached = int((accesses * hot).sum())
    stay = int((hot[1:] & hot[:-1]).sum()) / max(1, int(hot[:-1].sum()))
    touched = float((accesses > 0).sum(axis=1).mean()) * weight
    gain = (machine.slow.latency - machine.fast.latency) / (machine.threads * counts.overlap)
    pays = f"pays after {machine.migration_stall / gain:,.0f} loads" if gain > 0 else "never pays by latency"
    return [
        Statement(
            f"{last - first:,} intervals, {counts.pages * weight:,} pages of {counts.page_size:,} bytes; the fast tier "
            f"holds {capacity * weight:,} of them ({capacity / counts.pages:.1%}), and {inputs.limit * weight:,} may "
            f"be migrated after each interval. {int(stores.sum()) / total:.0%} of the accesses are stores. In an "
            f"interval {touched:,.0f} pages are touched.",
            10.0,
        ),
        Statement(
            f"A page of the slow tier costs {gain:.2g} ns more for each load, and a migration stalls the program for "
            f"{machine.migration_stall:g} ns: a promotion {pays}, bandwidth aside.",
            9.0,
        ),
        Statement(
            f"The {capacity * weight:,} pages with the most accesses overall have "
            f"{of_page[:capacity].sum() / total:.0%} of them; the hot pages of each interval (the most accessed, as "
            f"many as fit) {reached / total:.0%}. "
            f"{stay:.0%} of the hot pages are hot in the next interval too.",
            8.0,
        ),
    ]


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else "0%"
