"""Simulation of a policy over page counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.anvil.semantics import GOLDEN, mix
from vulcan.errors import UserError
from vulcan.simulator import PolicyCalls, kinds_of
from vulcan_tiering.bound import bound
from vulcan_tiering.layout import LAYOUT, RECORD
from vulcan_tiering.machine import LINE, TIERS, Machine
from vulcan_traces.memory import PageCounts

KNOWN = kinds_of(("first-touch", "tpp", "hemem", "memtis-like", "arms-like", "arms"), ("static-oracle", "omniscient"))
"""Baselines, on the engine of a candidate (each of `kernels` says what it simplifies of its system), and oracles.

The first oracle has the pages with the most accesses of all in the fast tier, and never moves them: no proven bound.
"""

_CALLED = ("score", "enter", "update", "interval", "on_tick", "on_page", "on_move")

MAX_SAMPLE_PERIOD = 2**31


@dataclass(frozen=True, slots=True)
class TieringResult:
    """Totals of the measured intervals. `seconds` is the program's time, `accesses` are loads and stores of memory.

    `hits` are those of the fast tier; `slow_bytes` is what the slow tier carried, migrations included. `decisions` is a
    hash of the sequence of all pages that moved, 0 where no placement was simulated.
    """

    seconds: float
    accesses: float
    hits: float
    promotions: float
    demotions: float
    slow_bytes: float
    decisions: int = 0

    @property
    def hit_share(self) -> float:
        return self.hits / self.accesses if self.accesses else 0.0

    @property
    def migrations(self) -> float:
        return self.promotions + self.demotions

    def metrics(self) -> dict[str, float]:
        """`seconds` of the program, `fast_share` of accesses, `migrations` of pages and bytes of `slow_traffic`."""
        return {
            "seconds": self.seconds,
            "fast_share": self.hit_share,
            "migrations": self.migrations,
            "promotions": self.promotions,
            "demotions": self.demotions,
            "slow_traffic": self.slow_bytes,
            "accesses": self.accesses,
        }


History = tuple[NDArray[np.uint8], NDArray[np.float64]]
"""Where pages are, of shape (intervals, pages), and what intervals took, (intervals, 3): see `kernels.state`."""


@dataclass(frozen=True, eq=False)
class AccessSamples:
    """Sampled accesses of each interval and page, of shape (intervals, pages): one in `period`."""

    reads: NDArray[np.uint32]
    writes: NDArray[np.uint32]
    period: int = 1


DEFAULT_MACHINE = Machine(TIERS["dram"], TIERS["cxl"])


def sample_accesses(counts: PageCounts, period: int, seed: int) -> AccessSamples:
    """Sample each access with probability 1 / period. Raises UserError for a period below 1."""
    from vulcan_tiering.kernels.sampling import sample

    if not 1 <= period <= MAX_SAMPLE_PERIOD:
        raise UserError(f"sample period {period}: must be from 1 to {MAX_SAMPLE_PERIOD} accesses per sample")
    if period == 1:
        return AccessSamples(np.asarray(counts.loads), np.asarray(counts.stores))
    reads, writes = np.zeros((2, counts.intervals, counts.pages), np.uint32)
    state = sample(np.asarray(counts.loads), np.uint64(period), np.uint64(mix(seed * GOLDEN) or GOLDEN), reads)
    sample(np.asarray(counts.stores), np.uint64(period), np.uint64(state), writes)
    return AccessSamples(reads, writes, period)


def simulate(
    who: Policy | str,
    counts: PageCounts,
    samples: AccessSamples,
    capacity: int,
    *,
    migration_limit: int,
    machine: Machine = DEFAULT_MACHINE,
    measure_from: int = 0,
    measure_to: int | None = None,
    weight: int = 1,
    history: History | None = None,
) -> TieringResult:
    """Run a policy of the task `memory_tiering`, or one of `KNOWN`, starting with no page mapped.

    `capacity` is how many pages the fast tier holds, `migration_limit` how many may be copied after each interval. The
    intervals from `measure_from` to `measure_to` (without it) are measured, all before are run. Each page stands for
    `weight` ones: then the capacity and the limit are that many times as large too. `history`, zeros, takes what
    happens in each interval. Raises UserError for a fast tier
    that has no page, KeyError for a name that is not known.
    """
    from vulcan_tiering.kernels import state
    from vulcan_tiering.kernels.selection import DIGITS

    if capacity < 1:
        raise UserError(f"a fast tier of {capacity} pages: at least one is needed")
    last = counts.intervals if measure_to is None else measure_to
    if who == "omniscient":
        nanoseconds, accesses, hits = bound(counts, machine, capacity, measure_from, last, weight)
        return TieringResult(nanoseconds * 1e-9, accesses, hits, 0.0, 0.0, LINE * (accesses - hits))
    pages = counts.pages
    fast, best, others = np.zeros((3, pages), np.uint8)
    places, rest = np.zeros((2, 2 * pages), np.int64)
    carried, totals = np.zeros(state.CARRIED), np.zeros(state.TOTALS)
    tables = counts.loads, counts.stores, samples.reads, samples.writes
    numbers = machine.numbers(counts.page_size, counts.overlap, counts.compute, weight)
    limits = capacity, migration_limit, measure_from, last
    room = (
        fast, best, others, np.zeros(pages, np.uint64), places, np.zeros(DIGITS, np.int64), rest, carried, totals,
        *((np.zeros((0, 0), np.uint8), np.zeros((0, 0))) if history is None else history),
    )  # fmt: skip
    if isinstance(who, str):
        from vulcan_tiering.kernels.baselines import BASELINE_NUMBERS, MEMORY, OWN, place_all

        chosen = np.zeros(pages, np.uint8)
        if who == "static-oracle":
            chosen[most_accessed(counts, capacity, measure_from, last)] = 1
        way, own, memory = BASELINE_NUMBERS[who], np.zeros((pages, OWN)), np.zeros(MEMORY)
        moves = place_all(way, *tables, counts.arrivals, numbers, *limits, samples.period, chosen, own, memory, *room)
    else:
        from vulcan.anvil.native.compile import aligned
        from vulcan_tiering.kernels.ranking import rank_all

        called, shown, statistics, slots = PolicyCalls.of(who, LAYOUT, _CALLED, entities=pages)
        kept = (shown[0], aligned(pages * RECORD), statistics, np.uint64(slots))
        moves = rank_all(called, *tables, counts.arrivals, numbers, *limits, *kept, *room)
    nanoseconds, accesses, hits, promotions, demotions, slow_bytes = map(float, totals)
    return TieringResult(nanoseconds * 1e-9, accesses, hits, promotions, demotions, slow_bytes, int(moves))


def most_accessed(counts: PageCounts, capacity: int, first: int, last: int) -> NDArray[np.intp]:
    """Return the pages with the most loads and stores in these intervals, as many as the fast tier holds."""
    loads, stores = (table[first:last].sum(axis=0, dtype=np.int64) for table in (counts.loads, counts.stores))
    return np.argsort(-(loads + stores), kind="stable")[:capacity]
