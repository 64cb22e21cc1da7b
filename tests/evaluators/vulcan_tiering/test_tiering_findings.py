"""What the tiering evaluator says of a policy is what a count in plain Python finds, and adds up to the time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_tiering import PlainMemory, PlainRanking
from tiering_cases import Case, cases

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_tiering.account import Inputs, account, hot_pages
from vulcan_tiering.simulate import simulate

TASK = find_task("memory_tiering")
HEAD = "def score(now, page, memory):\n"
POLICIES = [
    check(HEAD + f"    return {result}\n", TASK) for result in ("page.accesses", "-page.fast", "(page.id * 7919) % 11")
]


class RecordingMemory(PlainMemory):
    """Keeps where pages were and how long each interval took."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.intervals: list[tuple[dict[int, bool], float, dict[str, float]]] = []

    def solve(self, *given: Any) -> float:
        self.took = super().solve(*given)
        return self.took

    def serve(self, interval: int, counts: bool) -> None:
        super().serve(interval, counts)
        self.intervals.append((dict(self.fast), self.took, dict(self.state)))


def plain_attribution(case: Case, memory: RecordingMemory) -> tuple[list[list[float]], list[float]]:
    """Nanoseconds by interval and part, and the facts, each from its definition."""
    loads, stores, w, m = memory.loads, memory.stores, float(case.weight), case.machine
    outstanding = m.threads * memory.overlap
    where = [fast for fast, _, _ in memory.intervals]
    pages = range(len(loads[0]))
    hot = []
    for i in range(case.last):
        accesses = [loads[i][p] + stores[i][p] for p in pages]
        best = sorted(pages, key=lambda p: (-accesses[p], p))[: case.capacity]
        hot.append({p for p in best if accesses[p]})
    ups = [(i, p) for i in range(1, case.last) for p in where[i - 1] if where[i][p] and not where[i - 1][p]]
    downs = [(i, p) for i in range(1, case.last) for p in where[i - 1] if where[i - 1][p] and not where[i][p]]
    parts = []
    for i in range(case.first, case.last):
        _, time, state = memory.intervals[i]
        moves = sum(at == i for at, _ in ups + downs)
        spent = [memory.compute / m.threads * sum(loads[i]) * w, m.migration_stall * moves * w] + [0.0] * 7
        for p, fast in where[i].items():
            if fast:
                part = 2 if p in hot[i] else 3
            elif p not in hot[i]:
                part = 4
            elif i == 0 or p not in where[i - 1]:
                part = 5
            elif p not in hot[i - 1]:
                part = 6
            else:
                part = 8 if any(where[before].get(p) for before in range(i)) else 7
            latency = state["memory.fast_latency" if fast else "memory.slow_latency"]
            spent[part] += loads[i][p] * w * latency / outstanding
        parts.append([*spent, time - sum(spent)])
    gain = (m.slow.latency - m.fast.latency) / outstanding
    unpaid, saved = 0, 0.0
    for i, p in ups:
        if i < case.first:
            continue
        end = min((at for at, q in downs if q == p and at > i), default=case.last)
        here = sum(loads[at][p] for at in range(i, end)) * gain
        unpaid += here < m.migration_stall * (1 + (end < case.last))
        saved += here
    measured = range(case.first, case.last)

    def soon(moves: list[tuple[int, int]], others: list[tuple[int, int]]) -> int:
        return sum(any(q == p and 0 < i - at <= 4 for at, q in others) for i, p in moves if i in measured)

    facts = [
        sum(i in measured for i, _ in ups), unpaid, soon(ups, downs), sum(i in measured for i, _ in downs),
        soon(downs, ups), sum(p in hot[i] for i, p in downs if i in measured),
        saved,
    ]  # fmt: skip
    return parts, [fact * w for fact in facts]


@given(case=cases(), number=st.integers(0, len(POLICIES) - 1))
@settings(max_examples=60)
def test_time_and_migrations_are_divided_as_a_slow_count_does(case: Case, number: int) -> None:
    policy, c = POLICIES[number], case.counts
    tables = (c.loads, c.stores, case.samples.reads, case.samples.writes)
    memory = RecordingMemory(
        *(table.tolist() for table in tables), case.machine, c.page_size, c.overlap, c.compute,
        case.capacity, case.limit, case.weight,
    )  # fmt: skip
    memory.run(PlainRanking(policy, memory), case.first, case.last)
    history = np.zeros((c.intervals, c.pages), np.uint8), np.zeros((c.intervals, 3))
    result = simulate(policy, c, case.samples, case.capacity, **case.arguments(), history=history)
    assert history[0].tolist()[: case.last] == [
        [1 + fast[p] if p in fast else 0 for p in range(c.pages)] for fast, _, _ in memory.intervals
    ]
    inputs = Inputs(c, case.samples, case.capacity, case.limit, case.weight)
    hot = hot_pages(c, case.capacity)
    found = account("the policy", inputs, case.machine, history, hot, case.first, case.last, result.seconds)
    parts, facts = plain_attribution(case, memory)
    scale = max(1e-9, result.seconds * 1e9)
    *divided, sampling = found.parts.values()
    assert (1e6 * np.array(divided).T).tolist() == [
        pytest.approx(row, abs=1e-5 + 1e-9 * scale, rel=1e-9) for row in parts
    ]
    assert found.facts.tolist() == pytest.approx(facts, rel=1e-12)
    assert found.total.sum() == pytest.approx(1e3 * result.seconds, rel=1e-6, abs=1e-9)
    assert sampling.sum() == pytest.approx(0.0, abs=1e-9 + 1e-6 * result.seconds)
    assert (found.facts[0], found.facts[3]) == (result.promotions, result.demotions)
