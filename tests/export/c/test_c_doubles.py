"""A policy exported as a C header in doubles has the bits of the reference."""

from __future__ import annotations

from random import Random

import pytest
from anvil_programs import random_program
from anvil_toy import TOY
from anvil_twin import bits
from anvil_values import values_for
from compiled import Doubles
from effort import examples, few

from vulcan.anvil import Policy, Rejected, check
from vulcan.registry import find_task
from vulcan.task import Task

CACHE = find_task("cache_eviction")


def compare(policy: Policy, random: Random, events: int) -> int:
    """A random life of a few entities; gives how many scores were compared."""
    exported, reference = Doubles(policy), policy.reference()
    entity = policy.task.signature.entity
    compared = 0
    for _ in range(events):
        key = float(random.randrange(4)) if entity else None
        if entity and key in exported.live and random.random() < 0.2:
            exported.leave(key)
            reference.forget(key)
            continue
        values = values_for(policy.task.signature, random)
        if entity:
            values[f"{entity.name}.{entity.key}"] = key
        exported.observe(key, values)
        reference.observe(key, values)
        values = values_for(policy.task.signature, random) if random.random() < 0.2 else values
        got, expected = exported.score(key, values), reference(values, key)
        assert bits(got) == bits(expected), (
            f"C {got!r}, reference {expected!r} of {values} by\n{policy.source}\n{exported.text}"
        )
        compared += 1
    return compared


@pytest.mark.parametrize("task", few([TOY, CACHE], 2), ids=["toy", "cache_eviction"])
def test_generated_programs_have_the_bits_of_the_reference(task: Task) -> None:
    random = Random(11)
    agreed = 0
    while agreed < examples(60):
        source = random_program(task.signature, random)
        try:
            policy = check(source, task)
        except Rejected:
            continue
        assert compare(policy, random, 30) > 15
        agreed += 1
