"""What a cache says of a policy is what a slow count in plain Python finds, and adds up to the misses."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest
from cache_formats import under
from plain_cache import PlainCache, columns_of
from plain_queues import PlainQueues

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_cache.account import CAUSES, CLASSES, Departures, Lookback
from vulcan_cache.baselines import BASELINES
from vulcan_cache.kernels.common import ADMITTED, HIT, OUTCOME_BITS, REFUSED
from vulcan_cache.simulate import generator_state, simulate
from vulcan_cache.spec import Requests
from vulcan_cache.workload import share_within
from vulcan_traces.fingerprint.fingerprint import Distribution

CASES = [
    ("lru", "heap", 1, 0), ("gdsf_admitting", "sample", 9, 120), ("gdsf", "heap", 9, 0),
    ("lru_by_frequency", "heap", 9, 120), ("lru_by_size", "sample", 9, 0),
    ("s3_fifo", "queues", 1, 120), ("two_q", "queues", 9, 0),
]  # fmt: skip
CAPACITY = 40


def requests(seed: int, largest: int) -> list[tuple[int, int]]:
    """Popular objects and others, each of one size; ids in order of first appearance; one is too large."""
    random = Random(seed)
    asked = [int(60 * random.random() ** 2.5) if random.random() < 0.8 else 100 + n for n in range(400)]
    number: dict[int, int] = {}
    sizes: dict[int, int] = {}
    for obj in asked:
        number.setdefault(obj, len(number))
        sizes.setdefault(obj, random.randint(1, largest) if obj != 7 or largest == 1 else CAPACITY + 1)
    return [(number[obj], sizes[obj]) for obj in asked]


def plain_history(policy: Any, asked: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Outcomes, and for each request when its object left before it was requested again; 0 where it did not."""
    plain: Any = (
        PlainQueues(policy, CAPACITY)
        if policy.mechanism == "queues"
        else PlainCache(policy, CAPACITY, 4, generator_state(3))
    )
    plain.run = policy.reference(3)
    outcomes, left, last = [], [0] * len(asked), {}
    for now, (key, size) in enumerate(asked):
        before = set(plain.residents)
        hit = plain.request(now, key, size)
        outcomes.append(HIT if hit else ADMITTED if key in plain.residents else REFUSED)
        for gone in before - set(plain.residents):
            left[last[gone]] = now
        last[key] = now
    return outcomes, left


def plain_account(
    asked: list[tuple[int, int]], outcomes: list[int], left: list[int], oracle: Any, start: int, mean: float
) -> tuple[list[dict[str, Any]], Departures]:
    """Of each measured request its classes and the cause of its miss, and what left, each from its definition."""
    n, held = len(asked), max(1.0, CAPACITY / mean)
    found, departures, spaces = [], [0] * 4, {True: 0, False: 0}
    for r, (key, size) in enumerate(asked):
        earlier = [p for p in range(r) if asked[p][0] == key]
        later = [p for p in range(r + 1, n) if asked[p][0] == key]
        if left[r]:
            never_hit = not hits_since_entry(asked, outcomes, r)
            spaces[never_hit] += size * (left[r] - r)
            early = bool(later) and not oracle[later[0]]
            for at, counts in enumerate((True, not later, early, never_hit)):
                departures[at] += counts and left[r] >= start
        if r < start:
            continue
        cause = None
        if outcomes[r] != HIT and (not earlier or size > CAPACITY):
            cause = CAUSES[0]
        elif outcomes[r] != HIT and oracle[r]:
            cause = CAUSES[1]
        elif outcomes[r] != HIT:
            cause = CAUSES[2] if left[earlier[-1]] else CAUSES[3]
        idle = 1 + sum(r - earlier[-1] > held * e for e in (0.25, 0.5, 1, 2, 4, 8)) if earlier else 0
        so_far = sum(len(earlier) > e for e in (0, 1, 2, 4, 8, 16, 32))
        of_size = [sum(size > mean * 2.0**e for e in range(-3, 4))] if len({size for _, size in asked}) > 1 else []
        found.append({"cause": cause, "classes": [(r - start) * CLASSES // (n - start), *of_size, so_far, idle]})
    unhit, idle_space = (spaces[never_hit] / (CAPACITY * n) for never_hit in (True, False))
    refusals = sum(outcome == REFUSED for outcome in outcomes[start:])
    return found, Departures(*departures, unhit, idle_space, refusals)


def hits_since_entry(asked: list[tuple[int, int]], outcomes: list[int], r: int) -> int:
    """How often the object of a request was hit since it last entered, up to that request."""
    own = [p for p in range(r + 1) if asked[p][0] == asked[r][0]]
    entry = max((p for p in own if outcomes[p] == ADMITTED), default=-1)
    return sum(outcomes[p] == HIT for p in own if p > entry)


@pytest.mark.parametrize(("name", "mechanism", "largest", "start"), CASES)
def test_misses_are_divided_as_a_slow_count_does(name: str, mechanism: str, largest: int, start: int) -> None:
    task = find_task("cache_eviction")
    policy = check(under(mechanism, task.seed_policies()[name]), task)
    asked = requests(5, largest)
    objects, sizes = columns_of(asked)
    following = np.array(
        [next((p for p in range(r + 1, len(asked)) if asked[p][0] == key), -1) for r, (key, _) in enumerate(asked)]
    )
    count = int(objects.max()) + 1
    oracle = np.zeros(len(asked), np.uint8)
    BASELINES["belady-size-sampled"].run(objects, sizes, following, count, CAPACITY, start, oracle)
    history = np.zeros(len(asked), np.uint32)
    result = simulate(
        policy, objects, sizes, CAPACITY, sample_size=4, sample_seed=3, measure_from=start,
        history=history,
    )  # fmt: skip
    outcomes, left = plain_history(policy, asked)
    assert (history & ((1 << OUTCOME_BITS) - 1)).tolist() == outcomes
    assert (history >> OUTCOME_BITS).tolist() == left
    mean = float(np.mean(sizes))
    seen = Lookback.of(Requests(objects, sizes, following, None, start, count), CAPACITY, mean, oracle)
    found = seen.attributed("policy", history)
    plain, departures = plain_account(asked, outcomes, left, oracle, start, mean)
    assert found.departures == pytest.approx(departures)
    cells = Counter(tuple(one["classes"]) for one in plain)
    assert list(zip(*(group.classes.tolist() for group in found.groups), strict=True)) == sorted(cells)
    assert found.weights is not None and found.weights.tolist() == [cells[cell] for cell in sorted(cells)]
    for cause, part in found.parts.items():
        missed = Counter(tuple(one["classes"]) for one in plain if one["cause"] == cause)
        assert (part * found.weights).tolist() == pytest.approx([missed[cell] for cell in sorted(cells)]), cause
    assert found.mean(found.total) == pytest.approx(result.miss_ratio)
    beside = seen.account("oracle", oracle)
    assert beside.mean(beside.total) == pytest.approx(oracle[start:].mean())


def test_a_share_within_a_reach_is_read_off_octaves() -> None:
    distances = Distribution(8, (), ((0, 0, 0.25), (1, 1, 0.25), (2, 3, 0.25), (8, 15, 0.25)))
    assert [share_within(distances, reach) for reach in (0, 1, 3, 7, 15, 99)] == [0.25, 0.5, 0.75, 0.75, 1.0, 1.0]
    assert 0.75 < share_within(distances, 11) < 1.0
