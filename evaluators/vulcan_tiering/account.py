"""The time of a policy by page class, and migrations that did not pay."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from vulcan.findings import EvaluatorFinding, Statement
from vulcan.simulator import override
from vulcan.simulator.account import Account, in_order
from vulcan_tiering.machine import Machine
from vulcan_tiering.simulate import AccessSamples
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
    """The account of the measured intervals, and facts about migrations (`kernels.attribution`)."""

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
    name: str, inputs: Inputs, machine: Machine, history: NDArray[np.uint8], hot: NDArray[np.uint8],
    first: int, last: int, seconds: float,
) -> TieringAccount:  # fmt: skip
    """Divide the time of a simulation that left this history; the rest of `seconds` is for samples."""
    from vulcan_tiering.kernels import attribution as k

    counts = inputs.counts
    parts, facts = np.zeros((last - first, k.PARTS)), np.zeros(k.FACTS)
    k.attribute(
        np.asarray(counts.loads),
        np.asarray(counts.stores),
        history,
        hot,
        machine.numbers(counts.page_size, counts.overlap, counts.compute, inputs.weight),
        first,
        last,
        np.zeros((counts.pages, 2), np.int64),
        np.zeros(counts.pages),
        parts,
        facts,
    )
    divided = dict(zip(PARTS, np.round(1e-6 * parts.T, 12), strict=False))
    sampling = np.full(last - first, (1e3 * seconds - 1e-6 * float(parts.sum())) / (last - first))
    groups = [in_order("part of the trace", last - first, 8)]
    return TieringAccount(name, "interval", "ms", divided | {PARTS[-1]: sampling}, groups, facts)


def _migrations(facts: NDArray[np.float64], best: TieringAccount) -> str:
    from vulcan_tiering.kernels import attribution as k

    theirs = f"{best.facts[k.PROMOTIONS]:,.0f} with {best.name}"
    if not facts[k.PROMOTIONS] + facts[k.DEMOTIONS]:
        return f"No page was migrated (promoted: {theirs})."
    return (
        f"It promoted {facts[k.PROMOTIONS]:,.0f} pages ({theirs}); "
        f"{_share(facts[k.UNPAID], facts[k.PROMOTIONS])} of these did not pay: the loads until the page was demoted, "
        "or the end, saved less waiting, at idle latencies, than its migrations stalled the program. All promoted "
        f"pages together saved {1e-9 * facts[k.SAVED]:.4g} s. "
        f"{_share(facts[k.BACK_UP], facts[k.PROMOTIONS])} came within {k.SOON} intervals of the page's demotion. Of "
        f"{facts[k.DEMOTIONS]:,.0f} demotions {_share(facts[k.BACK_DOWN], facts[k.DEMOTIONS])} came within {k.SOON} "
        f"intervals of the page's promotion, and {_share(facts[k.HOT_DEMOTED], facts[k.DEMOTIONS])} were of pages that "
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
