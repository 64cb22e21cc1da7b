"""A C header of a policy of several functions has them all, with one state, and the bits of the reference."""

from __future__ import annotations

from random import Random

from anvil_programs import random_program
from anvil_twin import bits
from anvil_two import TWO, defining
from anvil_values import values_for
from compiled import Doubles
from exported_run import life

from vulcan.anvil import Rejected, check


def agree(source: str, random: Random, events: int = 25) -> int:
    """Run a random life of a few entities; gives how many scores were compared."""
    policy = check(source, TWO)
    exported, reference = Doubles(policy), policy.reference()
    compared = 0
    for key, values in life(TWO, random, events, values_for):
        if values is None:
            exported.leave(key)
            reference.forget(key)
        elif isinstance(key, str):
            exported.occur(key, values)
            reference.observe_occasion(key, values)
        else:
            exported.observe(key, values)
            reference.observe(key, values)
            for name in exported.functions:
                got, expected = exported.score(key, values, name), reference.ask(name, values, key)
                assert bits(got) == bits(expected), f"{name}: {got!r}, reference {expected!r} by\n{source}"
                compared += 1
    return compared


def test_generated_programs_have_the_bits_of_the_reference() -> None:
    random = Random(3)
    compared = done = 0
    while done < 8:
        source = random_program(TWO.signature, random, extremes=random.random() < 0.5, others=TWO.others)
        try:
            compared += agree(source, random)
            done += 1
        except Rejected:
            continue
    assert compared > 300


def test_functions_share_statistics_and_say_so() -> None:
    source = defining("now.ewma(0.5)", "level.ewma(0.25) + now.ewma(0.5)", "wind.turn.ewma(0.5)")
    assert agree(source, Random(4), events=60) > 100
    text = Doubles(check(source, TWO)).text
    assert "policy_score is the function rate of the task, and there are policy_score_admit, policy_score_steer" in text
    assert text.count("double now__ewma_0_5;") + text.count("double now_ewma_0_5;") == 1
