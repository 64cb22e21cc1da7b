"""What a cache says of a policy is what a slow count in plain Python finds, and adds up to the misses."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from cache_formats import under
from plain_cache import PlainCache, columns_of
from plain_queues import PlainQueues

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_cache.account import (
    BASELINE_MISSES,
    COUNTS,
    LOST,
    MISSES,
    PARENT_LOST,
    PARENT_MISSES,
    PARENT_WON,
    REGRET,
    REQUESTS,
    WON,
    Attribution,
    attribute,
)
from vulcan_cache.baselines import BASELINES
from vulcan_cache.kernels import attribution as k
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


def plain_attribution(
    asked: list[tuple[int, int]], outcomes: list[int], left: list[int], others: list[Any], start: int, mean: float
) -> dict[str, Any]:
    """The same numbers as the kernel's, each from its definition; `others` are the oracle, baseline and parent."""
    n, held = len(asked), max(1.0, CAPACITY / mean)
    oracle, baseline, parent = others
    causes = [0] * k.CAUSES
    classes = np.zeros((k.DIMENSIONS, k.CLASSES, COUNTS), np.int64)
    along = np.zeros((k.STRETCHES, COUNTS), np.int64)
    facts, used, stays = [0] * k.FACTS, [0.0] * k.OTHERS, []
    holders = np.zeros(k.USES)
    for r, (key, size) in enumerate(asked):
        earlier = [p for p in range(r) if asked[p][0] == key]
        later = [p for p in range(r + 1, n) if asked[p][0] == key]
        so_far = sum(len(earlier) > e for e in (0, 1, 2, 4, 8, 16, 32))
        if later:
            for who, missed_by in enumerate(others):
                used[who] += size * (later[0] - r) * (not missed_by[later[0]])
        if left[r]:
            never_hit = not hits_since_entry(asked, outcomes, r)
            holders[k.UNHIT if never_hit else k.AFTER_HITS] += size * (left[r] - r)
            if left[r] >= start:
                facts[k.EVICTIONS] += 1
                facts[k.EVICTED_FOR_GOOD] += not later
                facts[k.EVICTED_EARLY] += bool(later) and not oracle[later[0]]
                facts[k.NEVER_HIT] += never_hit
        elif outcomes[r] != REFUSED:
            holders[k.NEXT_HIT if later else k.AT_END] += size * ((later[0] if later else n) - r)
        elif r >= start and later and not oracle[later[0]] and size <= CAPACITY:
            facts[k.REFUSED_WRONGLY] += 1
        if r < start:
            continue
        missed, saved = outcomes[r] != HIT, not oracle[r]
        facts[k.REFUSALS] += outcomes[r] == REFUSED
        if missed and not earlier:
            causes[k.FIRST] += 1
        elif missed and size > CAPACITY:
            causes[k.TOO_LARGE] += 1
        elif missed and oracle[r]:
            causes[k.ORACLE_TOO] += 1
        elif missed:
            causes[k.LEFT_BEFORE if left[earlier[-1]] else k.REFUSED_BEFORE] += 1
            if left[earlier[-1]] and hits_since_entry(asked, outcomes, earlier[-1]):
                stays.append((r - earlier[-1]) / (left[earlier[-1]] - earlier[-1]))
        counts = [
            1, missed, missed and saved, missed and not baseline[r], not missed and baseline[r], baseline[r],
            baseline[r] and saved, missed and baseline[r] and saved, parent[r], parent[r] and saved,
            missed and not parent[r], not missed and parent[r], oracle[r],
        ]  # fmt: skip
        idle = 1 + sum(r - earlier[-1] > held * e for e in (0.25, 0.5, 1, 2, 4, 8)) if earlier else 0
        classes[k.SIZE, sum(size > mean * 2.0**e for e in range(-3, 4))] += np.array(counts, np.int64)
        classes[k.SO_FAR, so_far] += np.array(counts, np.int64)
        classes[k.IDLE, idle] += np.array(counts, np.int64)
        along[int((r - start) / ((n - start) / k.STRETCHES))] += np.array(counts, np.int64)
    return {
        "causes": causes, "classes": classes.tolist(), "along": along.tolist(), "facts": facts,
        "holders": holders.tolist(), "used": used, "stays": stays,
    }  # fmt: skip


def hits_since_entry(asked: list[tuple[int, int]], outcomes: list[int], r: int) -> int:
    """How often the object of a request was hit since it last entered, up to that request."""
    own = [p for p in range(r + 1) if asked[p][0] == asked[r][0]]
    entry = max((p for p in own if outcomes[p] == ADMITTED), default=-1)
    return sum(outcomes[p] == HIT for p in own if p > entry)


@pytest.mark.parametrize(("name", "mechanism", "largest", "start"), CASES)
def test_misses_are_attributed_as_a_slow_count_does(name: str, mechanism: str, largest: int, start: int) -> None:
    task = find_task("cache_eviction")
    policy = check(under(mechanism, task.seed_policies()[name]), task)
    asked = requests(5, largest)
    objects, sizes = columns_of(asked)
    following = np.array(
        [next((p for p in range(r + 1, len(asked)) if asked[p][0] == key), -1) for r, (key, _) in enumerate(asked)]
    )
    count = int(objects.max()) + 1
    others = []
    for known in ("belady-size-sampled", "sieve", "fifo"):
        others.append(np.zeros(len(asked), np.uint8))
        given = (objects, sizes, following, count, CAPACITY, start)
        assert BASELINES[known].kernel()(*given, others[-1])[0] == others[-1][start:].sum()
    history = np.zeros(len(asked), np.uint32)
    result = simulate(
        policy, objects, sizes, CAPACITY, sample_size=4, sample_seed=3, measure_from=start,
        history=history,
    )  # fmt: skip
    outcomes, left = plain_history(policy, asked)
    assert (history & ((1 << OUTCOME_BITS) - 1)).tolist() == outcomes
    assert (history >> OUTCOME_BITS).tolist() == left
    mean = float(np.mean(sizes))
    asked_for = Requests(objects, sizes, np.empty(0, np.int64), None, start, count)
    found = attribute(asked_for, history, others[0], others[1], CAPACITY, mean, parent_missed=others[2])
    plain = plain_attribution(asked, outcomes, left, others, start, mean)
    for field, expected in plain.items():
        counted = getattr(found, field).tolist()
        assert counted == (pytest.approx(expected) if field == "stays" else expected), field
    assert_it_adds_up(found, result.misses, result.requests)
    alone = attribute(asked_for, history, others[0], others[1], CAPACITY, mean)
    assert alone.whole[PARENT_LOST] == result.misses  # as beside a parent that misses nothing
    assert alone.whole[:PARENT_MISSES].tolist() == found.whole[:PARENT_MISSES].tolist()


def assert_it_adds_up(found: Attribution, misses: int, requests: int) -> None:
    regret = found.causes[[k.REFUSED_BEFORE, k.LEFT_BEFORE]].sum()
    assert found.misses == misses
    for whole in (*found.classes.sum(axis=1), found.whole):
        assert whole[[REQUESTS, MISSES, REGRET]].tolist() == [requests, misses, regret]
        assert whole[LOST] - whole[WON] == misses - whole[BASELINE_MISSES]
        assert whole[PARENT_LOST] - whole[PARENT_WON] == misses - whole[PARENT_MISSES]


def test_a_share_within_a_reach_is_read_off_octaves() -> None:
    distances = Distribution(8, (), ((0, 0, 0.25), (1, 1, 0.25), (2, 3, 0.25), (8, 15, 0.25)))
    assert [share_within(distances, reach) for reach in (0, 1, 3, 7, 15, 99)] == [0.25, 0.5, 0.75, 0.75, 1.0, 1.0]
    assert 0.75 < share_within(distances, 11) < 1.0
