"""What follows the best of several policies does as the simulator says, request by request, and stays near the best."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from cache_formats import requests
from directories_caches import STEPS, Steps, check_uses
from exported import load
from hypothesis import given, settings

from vulcan.anvil import Policy, check
from vulcan.documents.library import Origin
from vulcan.evaluator import load_evaluator
from vulcan.portfolio.export import following_module
from vulcan.portfolio.library_file import read_library
from vulcan.portfolio.model import LibraryMember
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan_cache.following import simulate_following
from vulcan_cache.simulate import simulate

MRU = 'MECHANISM = "heap"\n' + "def priority(now, obj, cache, ghost):\n    return -obj.last_access\n"
TASK = find_task("cache_eviction")
MEMBERS = (
    LibraryMember("newest", MRU, "cache_eviction", {}, Origin("by hand", "file")),
    *(
        LibraryMember(name, TASK.seed_policies()[name], TASK.name, {}, Origin("by hand", "file"))
        for name in ("s3_fifo", "lru")
    ),
)
NAMES = tuple(member.name for member in MEMBERS)
LIBRARY = replace(read_library(TASK.directory / "library"), members=MEMBERS)
METRICS = {"object": "miss_ratio", "byte": "byte_miss_ratio"}
Column = np.ndarray[Any, Any]


POLICIES: tuple[tuple[Policy, dict[str, Any]], ...] = tuple((check(m.source, TASK), {}) for m in MEMBERS)


@cache
def exported(objective: str) -> ModuleType:
    text = following_module(LIBRARY, objective, NAMES).text
    return load(text, "following")


def changing(seed: int, objects: int = 160) -> tuple[Column, Column]:
    """Skewed requests, then a loop, then skewed ones again: LRU and LIRS are the better ones in turn."""
    skewed, sizes = requests(900, objects, seed=seed)
    loop = np.arange(900, dtype=np.uint32) % objects
    size_of = np.full(objects, 100, np.int64)
    size_of[skewed] = sizes
    order = np.concatenate([skewed, loop, skewed[::-1]]).astype(np.uint32)
    return order, size_of[order]


@pytest.mark.parametrize("objective", ["object", "byte"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_export_has_the_misses_of_the_simulator(objective: str, seed: int) -> None:
    objects, sizes = changing(seed)
    capacity = int(sizes.sum()) // 150
    for evidence in (0.0, 4.0):
        simulated = simulate_following(
            POLICIES, objects, sizes, capacity, by_bytes=objective == "byte", evidence=evidence
        )
        running = exported(objective).Cache(capacity, evidence=evidence)
        for key, size in zip(objects.tolist(), sizes.tolist(), strict=True):
            running.request(key, size)
        counts = simulated.counts
        assert (running.misses, running.switches) == (counts.misses, simulated.switches)
        assert NAMES[running.followed] == NAMES[simulated.last]
        assert running.currsize <= capacity
        assert simulated.switches


def test_a_change_costs_no_more_than_has_been_lost() -> None:
    """Where one of two is the better one throughout, what is lost to it is at most twice what the change asks for."""
    skewed, sizes = requests(4_000, 400, seed=5)
    capacity = int(sizes.sum()) // 100
    alone = [simulate(p, skewed, sizes, capacity, **own).misses for p, own in POLICIES]
    worst, best = int(np.argmax(alone)), int(np.argmin(alone))
    held = capacity / sizes.min()
    found = simulate_following([POLICIES[worst], POLICIES[best]], skewed, sizes, capacity)
    assert alone[best] - 1 <= found.counts.misses + held
    assert found.counts.misses <= alone[best] + 2 * max(32.0, held)


@settings(max_examples=25)
@given(STEPS)
def test_it_remains_a_mapping_of_limited_size(steps: Steps) -> None:
    check_uses(exported("byte").Cache(40, evidence=0.0), steps)


def test_the_evaluator_measures_what_follows() -> None:
    evaluator = load_evaluator(find_task("cache_eviction"))
    given_settings = {"trace": ["zipf:requests=4000,objects=400,seed=3"], "cache_size": ["10%"]}

    (instance,) = load_evaluator(TASK).instances(complete_settings(TASK, given_settings), Split(by="none"))
    pairs = [(policy, instance) for policy, _ in POLICIES]
    metrics = evaluator.follow(pairs, METRICS["object"])  # type: ignore[attr-defined]
    alone = [evaluator.evaluate(policy, instance)["miss_ratio"] for policy, instance in pairs]
    assert min(alone) - 0.02 <= metrics["miss_ratio"] <= alone[0] + 0.02
    assert metrics["switches"] == int(metrics["switches"])
