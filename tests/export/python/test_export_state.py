"""Exported modules of policies with state decide, and change their state, as the reference and the simulator do."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from anvil_state import STATEFUL
from baseline_traces import real_trace
from cache_formats import CASES, SKETCH, exported, under
from effort import ALL, few
from exported_state import assert_replayed, compare_lives, skewed, stateful
from plain_cache import hash_of

from vulcan.anvil import check
from vulcan.registry import find_task, known_tasks
from vulcan.task import Task
from vulcan_cache.simulate import simulate

CACHE = find_task("cache_eviction")


SHIPPED = {name: s for name, s in CACHE.seed_policies().items() if check(s, CACHE).program.uses_state}


# Decisions and state


TASKS = [STATEFUL, *(task for task in map(find_task, sorted(known_tasks())) if task.events and task.name != CACHE.name)]
TASKS += [CACHE.of_policy(mechanism) for mechanism in CACHE.mechanisms]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.name} {task.mechanism}")
def test_generated_programs_give_the_same_bits_as_the_reference(task: Task) -> None:
    random = Random(21)
    programs = 60 if ALL else 10 if task is STATEFUL else 2
    assert sum(compare_lives(stateful(task, random), random) for _ in range(programs)) > 50 * programs


@pytest.mark.parametrize("mechanism", CACHE.mechanisms)
@pytest.mark.parametrize("optional", [True, False])
def test_generated_policies_decide_as_the_mechanism_in_plain_python(mechanism: str, optional: bool) -> None:
    random = Random(f"{mechanism} {optional}")
    for seed in range(60 if ALL else 2):
        policy = stateful(CACHE.of_policy(mechanism, None if optional else ()), random)
        assert_replayed(policy, skewed(random, 60, 30, 20), random.randint(5, 200), 4, seed)


KEEPS_STATE = {"sketch sample": SKETCH, "sketch heap": under("heap", SKETCH), **SHIPPED}


@pytest.mark.parametrize("name", [*KEEPS_STATE, *few(list(CASES), 6)])
def test_a_real_trace_has_the_evictions_of_the_simulator(name: str) -> None:
    source = {**KEEPS_STATE, **CASES}[name]
    disk = real_trace("libcachesim/cloudPhysicsIO.vscsi").prefix(20_000 if ALL else 3_000)
    objects, sizes = disk.objects, disk.sizes
    module = exported(source, "python")
    gone: list[int] = []

    class Watched(module.Cache):  # type: ignore[name-defined, misc]
        def _remove(self, obj: Any) -> Any:
            gone.append(int(obj.key))
            return super()._remove(obj)

        def _store(self, key: Any, value: Any, size: int) -> None:
            refused = self.bypassed
            super()._store(key, value, size)
            if self.bypassed > refused and size <= self.maxsize:
                gone.append(int(key))

    for capacity in (20_000_000, 2_000_000):
        gone.clear()
        expected = simulate(check(source, CACHE), objects, sizes, capacity)
        cache = Watched(capacity)
        for key, size in zip(objects.tolist(), sizes.tolist(), strict=True):
            cache.request(key, size)
        assert (cache.misses, cache.bypassed) == (expected.misses, expected.bypassed)
        assert hash_of(gone) == expected.decisions
        assert len(objects) / 10 < cache.misses < len(objects)
    assert "sketch" not in name or cache._state.refusals == cache.bypassed > 0


# The module


def test_instances_are_independent_and_seeded() -> None:
    module = exported(SKETCH, "python")
    keys = [key for key, _ in skewed(Random(4), 400, 60, 1)]

    def misses(cache: Any) -> list[bool]:
        return [not cache.request(key) for key in keys]

    first, second, again = (module.Cache(5, sample_seed=seed) for seed in (1, 2, 1))
    assert misses(first) != misses(second)
    second.seed(1)
    assert misses(again) == misses(module.Cache(5))
    assert first._state.sketch == again._state.sketch != second._state.sketch
