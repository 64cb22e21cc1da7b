"""Runs exported policies with state side by side with the reference, alone and in their caches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from types import ModuleType
from typing import Any

from anvil_twin import bits
from anvil_values import values_for
from cache_formats import text_of
from exported import load
from exported_run import Exported, module_of
from plain_cache import PlainCache
from plain_queues import PlainQueues
from policy_trees import accepted, random_program

from vulcan.anvil import Policy
from vulcan.anvil.interpreter import Reference
from vulcan.task import Signature, Task
from vulcan_cache.simulate import generator_state

Requests = list[tuple[int, int]]
KEYS = (0.0, 1.0, float(2**32))


def stateful(task: Task, random: Random) -> Policy:
    """Return a random policy with state, which reads nothing that handlers set or that `PlainQueues` does not show."""
    while True:
        if (policy := accepted(random_program(task, random), task)) is None:
            continue
        observed = {statistic.feature for statistic in policy.plan.statistics}
        read = {*policy.plan.features} & controls_of(task)  # how they are read once they are set is no matter here
        if not read and not observed & {"source", *controls_of(task)}:
            return policy


def controls_of(task: Task) -> set[str]:
    return {name for event in task.events for name in event.settable}


def compare_lives(
    policy: Policy,
    random: Random,
    events: int = 12,
    *,
    names_kept: bool = True,
    drawn: Callable[[Signature, Random], dict[str, float]] = values_for,
    keys: Sequence[float] = KEYS,
) -> int:
    """Run a random life of a few entities, with the same bits after each event. Gives how many numbers were compared.

    The state itself is compared too where `names_kept`: registers have their names in the module.

    Anything may happen at any time: what a simulator would not do makes no difference to the policy.
    """
    task, interface = policy.task, policy.task.whole_interface
    text, module = module_of(policy)
    seed = random.randrange(2**64)
    reference, exported = policy.reference(seed), Exported(policy, module, seed)
    compared = 0

    def same(got: float, expected: float) -> None:
        nonlocal compared
        assert isinstance(got, float), f"{got!r} by\n{policy.source}\n{text}"
        assert bits(got) == bits(expected), f"exported {got!r}, reference {expected!r} by\n{policy.source}\n{text}"
        compared += 1

    for _ in range(events):
        values = drawn(interface, random)
        key: float | None = None
        if interface.entity is not None:
            key = random.choice(keys)
            values[f"{interface.entity.name}.{interface.entity.key}"] = key
        for occasion in sorted(set(interface.occasions.values())):
            if random.random() < 0.5:
                exported.occur(occasion, values)
                reference.observe_occasion(occasion, values)
        if random.random() < 0.5:
            exported.observe(key, values)
            reference.observe(key, values)
        for event in random.sample(task.events, min(1, len(task.events))):
            told = key if event.entity is not None else None
            controls = exported.handle(event.function, told, values)
            for control, value in reference.handle(event.function, values, told).items():
                same(controls[control], value)
        if key in exported.live and interface.entity is not None and random.random() < 0.3:
            exported.leave(key)
            reference.forget(key)
        if key not in exported.live and random.random() < 0.3:
            exported.fields.pop(key, None)
            reference.release(key)
        for name in exported.functions:
            same(exported.score(name, key, values), reference.ask(name, values, key))
        if not names_kept:
            continue
        state = exported.groups[exported.state_name]
        for got, expected in zip(state_of(state, policy), expected_state(reference, policy), strict=True):
            same(got, expected)
    return compared


def state_of(state: Any, policy: Policy) -> list[float]:
    """Return the registers and arrays of an exported state, in the order of their declaration."""
    found: list[float] = []
    for variable in policy.program.variables:
        if not variable.is_field:
            value = getattr(state, variable.name.partition(".")[2])
            found += value if variable.length else [value]
    return found


def expected_state(reference: Reference, policy: Policy) -> list[float]:
    found: list[float] = []
    for variable in policy.program.variables:
        if variable.length:
            found += (reference._element(variable.name, i) for i in range(variable.length))
        elif not variable.is_field:
            found.append(reference._cell(variable.name, None))
    return found


def skewed(random: Random, count: int, objects: int, largest: int) -> Requests:
    """Return requests, each for a dense object number and with a size of its own."""
    numbers: dict[int, int] = {}
    drawn = [min(int(random.paretovariate(0.7)), objects) for _ in range(count)]
    return [(numbers.setdefault(key, len(numbers)), random.randint(1, largest)) for key in drawn]


def cache_of(policy: Policy, module: ModuleType, capacity: int, draws: int, seed: int) -> Any:
    if policy.mechanism == "sample":
        return module.Cache(capacity, sample_size=draws, sample_seed=seed)
    cache = module.Cache(capacity)
    if policy.program.uses_state:
        cache.seed(seed)
    return cache


def assert_replayed(policy: Policy, requests: Requests, capacity: int, draws: int, seed: int) -> Any:
    """Run the requests: the same hits, the same objects after each, and the same state at the end. Gives the cache."""
    plain: Any = (
        PlainQueues(policy, capacity)
        if policy.mechanism == "queues"
        else PlainCache(policy, capacity, draws, generator_state(seed))
    )
    plain.run = policy.reference(seed)
    module = load(text_of(policy.source, "python"))
    cache = cache_of(policy, module, capacity, draws, seed)
    for now, (key, size) in enumerate(requests):
        assert cache.request(f"object {key}", size) == plain.request(now, key, size), f"{now}\n{policy.source}"
        assert set(cache) == {f"object {held}" for held in plain.residents}, f"request {now}\n{policy.source}"
    assert cache.bypassed == plain.bypassed
    assert state_of(cache._state, policy) == expected_state(plain.run, policy), policy.source
    return cache
