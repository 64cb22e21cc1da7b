"""Runs exported caches of policies with state side by side with the mechanisms in plain Python over the reference."""

from __future__ import annotations

from random import Random
from typing import Any

from anvil_programs import random_program
from cache_formats import text_of
from exported import load
from plain_cache import PlainCache
from plain_queues import PlainQueues

from vulcan.anvil import Policy, Rejected, check
from vulcan.registry import find_task
from vulcan.task import Task
from vulcan_cache.simulate import generator_state

Requests = list[tuple[int, int]]


def stateful(task: Task, random: Random, **how: Any) -> Policy:
    """Return a random policy with state."""
    while True:
        source = random_program(task.signature, random, others=task.others, events=task.events, **how)
        try:
            return check(source, task)
        except Rejected as rejected:
            assert all(v.rule in ("operations", "too-large") for v in rejected.violations), f"{rejected}\n{source}"


def skewed(random: Random, count: int, objects: int, largest: int) -> Requests:
    """Return requests, each for a dense object number and with a size of its own."""
    numbers: dict[int, int] = {}
    drawn = [min(int(random.paretovariate(0.7)), objects) for _ in range(count)]
    return [(numbers.setdefault(key, len(numbers)), random.randint(1, largest)) for key in drawn]


def assert_replayed(policy: Policy, requests: Requests, capacity: int, mechanism: str, draws: int, seed: int) -> Any:
    """Run the requests: the same hits, the same objects after each, and the same state at the end. Gives the cache."""
    plain: Any = (
        PlainQueues(policy, capacity)
        if mechanism == "queues"
        else PlainCache(policy, capacity, mechanism, draws, generator_state(seed))
    )
    plain.run = policy.reference(seed)
    module = load(text_of(policy.task.name, policy.source, "python"))
    if mechanism == "queues":
        cache = module.Cache(capacity)
        cache.seed(seed)
    else:
        cache = module.Cache(capacity, mechanism=mechanism, sample_size=draws, sample_seed=seed)
    for now, (key, size) in enumerate(requests):
        assert cache.request(f"object {key}", size) == plain.request(now, key, size), f"{now}\n{policy.source}"
        held = {f"object {resident}" for resident in plain.residents}
        assert set(cache) == held, f"request {now}\n{policy.source}"
    assert cache.bypassed == plain.bypassed
    assert state_of(cache, policy) == expected_state(plain.run, policy), policy.source
    return cache


def state_of(cache: Any, policy: Policy) -> list[float]:
    """Return the registers and arrays of an exported cache, by the order of their declaration."""
    found: list[float] = []
    for variable in policy.program.variables:
        if not variable.is_field:
            name = variable.name.partition(".")[2]
            value = getattr(cache._state, name)
            found += value if variable.length else [value]
    return found


def expected_state(reference: Any, policy: Policy) -> list[float]:
    found: list[float] = []
    for variable in policy.program.variables:
        if not variable.is_field:
            length = variable.length
            found += (
                [reference._element(variable.name, i) for i in range(length)]
                if length
                else [reference._cell(variable.name, None)]
            )
    return found


def task_of(name: str) -> Task:
    return find_task(name)
