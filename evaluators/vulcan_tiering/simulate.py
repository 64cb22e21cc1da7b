"""Simulation of a policy over page counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan_tiering.layout import LAYOUT, RECORD
from vulcan_tiering.machine import TIERS, Machine
from vulcan_traces.memory import PageCounts

MAX_SAMPLE_PERIOD = 2**31

_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class TieringResult:
    """Totals of the measured intervals. `seconds` is the program's time, `accesses` are loads and stores of memory.

    `hits` are those of the fast tier; `slow_bytes` is what the slow tier carried, migrations included. `moves` is a
    hash of the sequence of all pages that moved; of the pages `mapped` at the end, `fast` are in the fast tier. These
    three are None where no placement was simulated.
    """

    seconds: float
    accesses: float
    hits: float
    promotions: float
    demotions: float
    slow_bytes: float
    moves: int | None = None
    mapped: int | None = None
    fast: int | None = None

    @property
    def hit_share(self) -> float:
        return self.hits / self.accesses if self.accesses else 0.0

    @property
    def migrations(self) -> float:
        return self.promotions + self.demotions

    @property
    def decisions(self) -> int:
        return self.moves or 0

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
    state = sample(np.asarray(counts.loads), np.uint64(period), np.uint64(generator_state(seed)), reads)
    sample(np.asarray(counts.stores), np.uint64(period), np.uint64(state), writes)
    return AccessSamples(reads, writes, period)


def simulate(
    policy: Policy,
    counts: PageCounts,
    samples: AccessSamples,
    capacity: int,
    *,
    migration_limit: int,
    machine: Machine = DEFAULT_MACHINE,
    measure_from: int = 0,
    measure_to: int | None = None,
    weight: int = 1,
    history: NDArray[np.uint8] | None = None,
) -> TieringResult:
    """Run a policy of the task `memory_tiering`, starting with no page mapped.

    `capacity` is how many pages the fast tier holds, `migration_limit` how many may be copied after each interval. The
    intervals from `measure_from` to `measure_to` (without it) are measured, all before are run. Each page stands for
    `weight` ones: then the capacity and the limit are that many times as large too. `history`, zeros of shape
    (intervals, pages), takes where each page is in each interval (`kernels.state`).
    """
    from vulcan_tiering.kernels.ranking import rank_all

    native = policy.native(LAYOUT)
    handlers = (native.events.get(name, 0) for name in ("on_tick", "on_page", "on_move"))
    room = Room.of(counts, capacity, history)
    records = _aligned(counts.pages * RECORD)
    last = counts.intervals if measure_to is None else measure_to
    moves = rank_all(
        (native.score, native.enter, native.update, native.occasions.get("interval", 0), *handlers),
        counts.loads,
        counts.stores,
        samples.reads,
        samples.writes,
        counts.arrivals,
        machine.numbers(counts.page_size, counts.overlap, counts.compute, weight),
        capacity,
        migration_limit,
        measure_from,
        last,
        native.new_globals(),
        records,
        native.new_statistics(counts.pages),
        np.uint64(native.entity_slots),
        *room.arrays(),
    )
    return room.result(int(moves))


@dataclass(frozen=True, eq=False)
class Room:
    """The memory that a simulation works in."""

    fast: NDArray[np.uint8]
    best: NDArray[np.uint8]
    others: NDArray[np.uint8]
    keys: NDArray[np.uint64]
    pages: NDArray[np.int64]
    histogram: NDArray[np.int64]
    rest: NDArray[np.int64]
    carried: NDArray[np.float64]
    totals: NDArray[np.float64]
    history: NDArray[np.uint8]

    @classmethod
    def of(cls, counts: PageCounts, capacity: int, history: NDArray[np.uint8] | None = None) -> Room:
        """Raises UserError for a fast tier that has no page."""
        from vulcan_tiering.kernels.selection import DIGITS
        from vulcan_tiering.kernels.state import CARRIED, TOTALS

        if capacity < 1:
            raise UserError(f"a fast tier of {capacity} pages: at least one is needed")
        pages = counts.pages
        fast, best, others = np.zeros((3, pages), np.uint8)
        places, rest = np.zeros((2, 2 * pages), np.int64)
        return cls(
            fast,
            best,
            others,
            np.zeros(pages, np.uint64),
            places,
            np.zeros(DIGITS, np.int64),
            rest,
            np.zeros(CARRIED),
            np.zeros(TOTALS),
            np.zeros((0, 0), np.uint8) if history is None else history,
        )

    def arrays(self) -> tuple[NDArray[Any], ...]:
        return (
            self.fast, self.best, self.others, self.keys, self.pages, self.histogram, self.rest, self.carried,
            self.totals, self.history,
        )  # fmt: skip

    def result(self, moves: int) -> TieringResult:
        from vulcan_tiering.kernels.state import MAPPED

        nanoseconds, accesses, hits, promotions, demotions, slow_bytes = map(float, self.totals)
        mapped, fast = int(self.carried[MAPPED]), int(self.fast.sum())
        return TieringResult(
            nanoseconds * 1e-9, accesses, hits, promotions, demotions, slow_bytes, moves=moves, mapped=mapped, fast=fast
        )


def generator_state(seed: int) -> int:
    """Return the initial state of the sampling generator: splitmix64 of the seed, but never 0."""
    z = (seed + 1) * _GOLDEN & _MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return (z ^ (z >> 31)) or _GOLDEN


def _aligned(slots: int) -> NDArray[np.float64]:
    """Zeroed float64, each record of 8 in one cache line."""
    block = np.zeros(slots + RECORD)
    offset = (-block.ctypes.data // 8) % RECORD
    return block[offset : offset + slots]
