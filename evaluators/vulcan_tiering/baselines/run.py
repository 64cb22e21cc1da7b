"""Running a known way to place pages over page counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vulcan_tiering.baselines.omniscient import bound
from vulcan_tiering.machine import Machine
from vulcan_tiering.simulate import DEFAULT_MACHINE, Result, Room, Samples
from vulcan_traces.memory import PageCounts


def run_baseline(
    name: str,
    counts: PageCounts,
    samples: Samples,
    capacity: int,
    *,
    migration_limit: int,
    machine: Machine = DEFAULT_MACHINE,
    measure_from: int = 0,
    measure_to: int | None = None,
    weight: int = 1,
) -> Result:
    """As `vulcan_tiering.simulate`, for one of `BASELINES`. Raises KeyError for a name that is not one."""
    last = counts.intervals if measure_to is None else measure_to
    if name == "omniscient":
        return bound(counts, machine, capacity, measure_from, last, weight)
    from vulcan_tiering.baselines.known import MEMORY, OWN, WAYS, place_all

    room = Room.of(counts, capacity)
    chosen = np.zeros(counts.pages, np.uint8)
    if name == "static-oracle":
        chosen[most_accessed(counts, capacity, measure_from, last)] = 1
    moves = place_all(
        WAYS[name], counts.loads, counts.stores, samples.reads, samples.writes, counts.arrivals,
        machine.numbers(counts.page_size, counts.overlap, counts.compute, weight), capacity, migration_limit,
        measure_from, last, chosen, np.zeros((counts.pages, OWN)), np.zeros(MEMORY), *room.arrays(),
    )  # fmt: skip
    return room.result(int(moves))


def most_accessed(counts: PageCounts, capacity: int, first: int, last: int) -> NDArray[np.intp]:
    """The pages with the most loads and stores in these intervals, as many as the fast tier holds."""
    accesses = counts.loads[first:last].sum(axis=0, dtype=np.int64) + counts.stores[first:last].sum(
        axis=0, dtype=np.int64
    )
    return np.argsort(-accesses, kind="stable")[:capacity]
