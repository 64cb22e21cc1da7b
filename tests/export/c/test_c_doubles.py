"""A policy exported as a C header in doubles has the bits of the reference, each of its functions, with one state."""

from __future__ import annotations

from random import Random

import pytest
from anvil_programs import random_program
from anvil_toy import TOY
from anvil_twin import bits
from anvil_two import TWO, defining
from anvil_values import values_for
from compiled import Doubles
from effort import examples
from exported_run import life

from vulcan.anvil import Policy, Rejected, check
from vulcan.registry import find_task
from vulcan.task import Task

CACHE = find_task("cache_eviction")


def compare(policy: Policy, random: Random, events: int) -> int:
    """A random life of a few entities; gives how many scores were compared."""
    exported, reference = Doubles(policy), policy.reference()
    compared = 0
    for key, values in life(policy.task, random, events, values_for, keys=4):
        if values is None:
            exported.leave(key)
            reference.forget(key)
            continue
        if isinstance(key, str):
            exported.occur(key, values)
            reference.observe_occasion(key, values)
            continue
        exported.observe(key, values)
        reference.observe(key, values)
        shown = {**values, **(values_for(policy.task.interface, random) if random.random() < 0.2 else {})}
        for name in exported.functions:
            got, expected = exported.score(key, shown, name), reference.ask(name, shown, key)
            assert bits(got) == bits(expected), (
                f"{name}: C {got!r}, reference {expected!r} of {shown} by\n{policy.source}\n{exported.text}"
            )
            compared += 1
    return compared


@pytest.mark.parametrize(
    ("task", "programs"), [(TOY, 60), (CACHE, 60), (TWO, 48)], ids=["toy", "cache_eviction", "several functions"]
)
def test_generated_programs_have_the_bits_of_the_reference(task: Task, programs: int) -> None:
    random, agreed = Random(11), 0
    others = () if task is CACHE else task.others  # those of caches are optional
    while agreed < examples(programs):
        source = random_program(task.signature, random, extremes=random.random() < 0.7, others=others)
        try:
            policy = check(source, task)
        except Rejected:
            continue
        assert compare(policy, random, 30) > 15
        agreed += 1


def test_functions_share_statistics_and_say_so() -> None:
    policy = check(defining("now.ewma(0.5)", "level.ewma(0.25) + now.ewma(0.5)", "wind.turn.ewma(0.5)"), TWO)
    assert compare(policy, Random(4), 60) > 100
    text = Doubles(policy).text
    assert "policy_score is the function rate of the task, and there are policy_score_admit, policy_score_steer" in text
    assert text.count("double now__ewma_0_5;") + text.count("double now_ewma_0_5;") == 1
