"""Small random cases of tiering."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from plain_tiering import PlainMemory

from vulcan_tiering.machine import TIERS, Machine
from vulcan_tiering.simulate import AccessSamples, TieringResult
from vulcan_traces.memory import PageCounts
from vulcan_traces.memory.page_counts import in_order_of_first_touch


@dataclass(frozen=True)
class Case:
    counts: PageCounts
    samples: AccessSamples
    capacity: int
    limit: int
    machine: Machine
    first: int
    last: int
    weight: int

    def arguments(self):
        return {
            "migration_limit": self.limit, "machine": self.machine, "measure_from": self.first,
            "measure_to": self.last, "weight": self.weight,
        }  # fmt: skip

    def plain(self) -> PlainMemory:
        c = self.counts
        tables = (c.loads, c.stores, self.samples.reads, self.samples.writes)
        return PlainMemory(
            *(table.tolist() for table in tables), self.machine, c.page_size, c.overlap, c.compute,
            self.capacity, self.limit, self.weight, self.samples.period,
        )  # fmt: skip


def same(result: TieringResult, memory: PlainMemory) -> None:
    counted = memory.counted
    assert result == TieringResult(
        counted["time"] * 1e-9, counted["accesses"], counted["hits"], counted["promotions"], counted["demotions"],
        counted["slow_bytes"], memory.moves,
    )  # fmt: skip


@st.composite
def cases(draw) -> Case:
    pages, intervals = draw(st.integers(1, 12)), draw(st.integers(1, 9))
    random = np.random.RandomState(draw(st.integers(0, 2**31)))
    scale = draw(st.sampled_from([3, 40, 5000]))
    weights = random.pareto(1.0, pages) * draw(st.sampled_from([0.0, 1.0])) + random.rand(pages)
    shape = (intervals, pages)
    if draw(st.booleans()):
        weights = weights * (random.rand(*shape) < 0.5)
    loads = np.minimum(random.poisson(1.0, shape) * weights * scale, 2**31).astype(np.uint32)
    stores = (loads * random.rand(*shape) * draw(st.sampled_from([0, 1, 3]))).astype(np.uint32)
    if draw(st.booleans()):
        stores[random.rand(*shape) < 0.2] = 7
    if not (loads.any() or stores.any()):
        loads[0, 0] = 1
    made = in_order_of_first_touch(loads, stores)
    counts = PageCounts(
        "case", "case", draw(st.sampled_from([256, 4096, 2**21])), *made,
        overlap=draw(st.sampled_from([1.0, 4.0, 30.0])), compute=draw(st.sampled_from([0.0, 5.0, 300.0])),
    )  # fmt: skip
    period = draw(st.sampled_from([1, 2, 20]))
    samples = AccessSamples(*(random.binomial(table, 1 / period).astype(np.uint32) for table in made[:2]), period)
    machine = Machine(
        TIERS[draw(st.sampled_from(["dram", "cxl"]))], TIERS[draw(st.sampled_from(["cxl", "nvm", "dram"]))],
        draw(st.sampled_from([1, 16, 500])), draw(st.sampled_from([0.0, 100.0])),
    )  # fmt: skip
    first = draw(st.integers(0, intervals - 1))
    last = draw(st.integers(first + 1, intervals))
    return Case(
        counts, samples, draw(st.integers(1, 12)), draw(st.integers(0, 8)), machine, first, last,
        draw(st.sampled_from([1, 1, 4])),
    )  # fmt: skip
