"""The time of a policy by page class, and migrations that did not pay; in words and tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan.findings import EvaluatorFinding, Series, SmallTable, Statement
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

_MISPLACED = slice(5, 9)


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs of an instance: capacity and limit in pages, each of which represents `weight` pages."""

    counts: PageCounts
    samples: AccessSamples
    capacity: int
    limit: int
    weight: int


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of the measured intervals, of shape (phases, parts), and facts (`kernels.attribution`).

    The parts of all phases add up to the program's time.
    """

    parts: NDArray[np.float64]
    facts: NDArray[np.float64]

    @property
    def seconds(self) -> float:
        return float(self.parts.sum())


def hot_pages(counts: PageCounts, capacity: int) -> NDArray[np.uint8]:
    """Return 1 for the pages of each interval with the most accesses, as many as fit; of equals the first ones."""
    hot = np.zeros(counts.loads.shape, np.uint8)
    for interval in range(counts.intervals):
        accesses = counts.loads[interval].astype(np.int64) + counts.stores[interval]
        best = np.argsort(-accesses, kind="stable")[:capacity]
        hot[interval, best[accesses[best] > 0]] = 1
    return hot


def attribute(
    inputs: Inputs, machine: Machine, history: NDArray[np.uint8], hot: NDArray[np.uint8], first: int, last: int
) -> Spent:
    """Divide the time of a simulation that left this history; time for samples is 0."""
    from vulcan_tiering.kernels import attribution as k

    counts = inputs.counts
    parts, facts = np.zeros((k.PHASES, k.PARTS)), np.zeros(k.FACTS)
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
    return Spent(np.column_stack((parts * 1e-9, np.zeros(k.PHASES))), facts)


@dataclass(frozen=True, slots=True)
class References:
    """References for a policy: the best baseline, and the seconds of the bound."""

    hot: NDArray[np.uint8]
    baseline: str
    best: Spent
    bound: float


def findings_of(own: Spent, refs: References) -> list[EvaluatorFinding]:
    """Return the findings on a policy: time by page class, and migrations."""
    from vulcan_tiering.kernels import attribution as k

    best, parts = refs.best, own.parts.sum(axis=0)
    misplaced = float(parts[_MISPLACED].sum())
    made: list[EvaluatorFinding] = [
        Statement(
            f"The program takes {own.seconds:.4g} s; with the best baseline, {refs.baseline}, {best.seconds:.4g} s, "
            f"and at the least {refs.bound:.4g} s (each interval the best pages for it, migrations for nothing). "
            f"{misplaced:.4g} s ({misplaced / max(own.seconds, 1e-300):.0%}) are waiting for loads of hot pages in the "
            f"slow tier, {float(parts[k.MIGRATING]):.4g} s stalls of migrations.",
            10.0,
        ),
        Statement(
            f"Of the waiting for hot pages in the slow tier, {_share(parts[k.NEW], misplaced)} is for pages first "
            f"touched in the interval and {_share(parts[k.RISING], misplaced)} for pages that became hot in it, which "
            f"only foresight avoids; {_share(parts[k.NEVER], misplaced)} is for pages hot for longer that were never "
            f"promoted, and {_share(parts[k.DEMOTED_BEFORE], misplaced)} for ones that had been demoted.",
            9.0,
        ),
        Statement(_migrations(own, refs), 8.0),
        Statement(
            f"Cold pages in the fast tier: {own.facts[k.COLD_FAST]:,.0f} page-intervals "
            f"({best.facts[k.COLD_FAST]:,.0f} with {refs.baseline}); hot pages in the slow tier: "
            f"{own.facts[k.HOT_SLOW]:,.0f} ({best.facts[k.HOT_SLOW]:,.0f}).",
            5.0,
        ),
    ]
    theirs = best.parts.sum(axis=0)
    rows = [_row(name, a, b, a - b) for name, a, b in zip(PARTS, parts, theirs, strict=True) if a or b]
    columns = ("class", "policy s", f"{refs.baseline} s", "difference s")
    made.append(SmallTable("Seconds by what they are spent on", columns, tuple(rows), 7.0))
    by_phase = own.parts.sum(axis=1), best.parts.sum(axis=1), own.parts[:, _MISPLACED].sum(axis=1)
    rows = [_row(f"{n + 1}/{k.PHASES}", a, b, a - b, hot) for n, (a, b, hot) in enumerate(zip(*by_phase, strict=True))]
    title = "Seconds by part of the trace"
    made.append(SmallTable(title, (*columns, "hot pages in the slow tier s"), tuple(rows), 4.0))
    points = tuple(((n + 1) / k.PHASES, float(value)) for n, value in enumerate(by_phase[2]))
    made.append(Series("waiting for hot pages in the slow tier", "part of the trace", "seconds", points, 0.0))
    return made


def _migrations(own: Spent, refs: References) -> str:
    from vulcan_tiering.kernels import attribution as k

    facts, theirs = own.facts, refs.best.facts
    if not facts[k.PROMOTIONS] + facts[k.DEMOTIONS]:
        return f"No page was migrated ({theirs[k.PROMOTIONS]:,.0f} were promoted with {refs.baseline})."
    return (
        f"It promoted {facts[k.PROMOTIONS]:,.0f} pages ({theirs[k.PROMOTIONS]:,.0f} with {refs.baseline}); "
        f"{_share(facts[k.UNPAID], facts[k.PROMOTIONS])} of these did not pay: the loads until the page was demoted, "
        "or the end, saved less waiting, at idle latencies, than its migrations stalled the program. All promoted "
        f"pages together saved {1e-9 * facts[k.SAVED]:.4g} s. "
        f"{_share(facts[k.BACK_UP], facts[k.PROMOTIONS])} came within {k.SOON} intervals of the page's demotion. Of "
        f"{facts[k.DEMOTIONS]:,.0f} demotions {_share(facts[k.BACK_DOWN], facts[k.DEMOTIONS])} came within {k.SOON} "
        f"intervals of the page's promotion, and {_share(facts[k.HOT_DEMOTED], facts[k.DEMOTIONS])} were of pages that "
        "were hot in the next interval."
    )


def differences(first: Spent, second: Spent) -> list[EvaluatorFinding]:
    """Return what two policies spend their time on."""
    from vulcan_tiering.kernels import attribution as k

    moved = [(one.facts[k.PROMOTIONS], one.facts[k.UNPAID]) for one in (first, second)]
    made: list[EvaluatorFinding] = [
        Statement(
            f"The program takes {first.seconds:.4g} s with the first and {second.seconds:.4g} s with the second. The "
            f"first promotes {moved[0][0]:,.0f} pages, of which {moved[0][1]:,.0f} do not pay, and the second "
            f"{moved[1][0]:,.0f}, of which {moved[1][1]:,.0f} do not.",
            10.0,
        )
    ]
    columns = ("class", "first s", "second s", "saved by the first s")
    phases = [f"{n + 1}/{k.PHASES}" for n in range(k.PHASES)]
    for title, names, axis in (
        ("Seconds by what they are spent on", PARTS, 0),
        ("Seconds by part of the trace", phases, 1),
    ):
        sums = first.parts.sum(axis=axis), second.parts.sum(axis=axis)
        rows = [_row(name, a, b, b - a) for name, a, b in zip(names, *sums, strict=True) if a or b]
        made.append(SmallTable(title, columns, tuple(rows), 9.0 - axis))
    return made


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


def _row(name: str, *values: float) -> tuple[str | float, ...]:
    """Return the row of a table, with numbers of eight significant digits, without rounding errors."""
    return (name, *(float(f"{round(value, 12) + 0.0:.8g}") for value in values))


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else "0%"
