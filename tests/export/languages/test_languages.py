"""Policies in Java, Go and Rust have the bits of the reference."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from anvil_state import STATEFUL
from anvil_toy import TOY, returning
from anvil_twin import bits
from anvil_values import values_for
from effort import examples
from exported_run import every_statistic, few_values, life
from language_programs import Go, Java, LanguageProgram, Rust, missing
from policy_trees import accepted, random_program
from sender_states import sender_state
from stateful_lives import lived_in_doubles

from vulcan.anvil import Policy, check, ir
from vulcan.registry import find_task
from vulcan.task import Task

LANGUAGES = [
    pytest.param(
        made, id=made.language.name,
        marks=pytest.mark.skipif(bool(missing(made.language)), reason=f"no {missing(made.language)}"),
    )
    for made in (Java, Go, Rust)
]  # fmt: skip


def generated(task: Task, random: Random, without: frozenset[str]) -> Iterator[Policy]:
    """Random programs without functions whose last bits are a language's own."""
    while True:
        policy = accepted(random_program(task, random), task)
        if policy is None:
            continue
        functions = policy.program.functions
        used = {e.operation for f in functions for e in ir.expressions(f.body) if isinstance(e, ir.Operate)}
        if not used & without:
            yield policy


@pytest.mark.parametrize("language", LANGUAGES)
def test_programs_have_the_bits_of_the_reference(language: type[LanguageProgram], tmp_path: Path) -> None:
    """Generated ones with state, every statistic and, to the last digits, functions whose bits are a language's own."""
    random, own = Random(31), of_the_library(language)
    policies = generated(STATEFUL, random, language.language.of_own)
    programs = [lived_in_doubles(n, next(policies), random, language) for n in range(examples(8))]
    programs += [*of_every_statistic(language), *own]
    got = iter(list(language.run(programs, tmp_path)))
    for program in programs:
        is_close = program in own and language.language.of_own
        for what, expected in program.expected:
            value = next(got)
            near = math.isclose(value, expected, rel_tol=1e-13, abs_tol=5e-324) if is_close else False
            assert near or bits(value) == bits(expected), (
                f"{what}: {value!r}, reference {expected!r}\n{program.policy.source}"
            )
    assert next(got, None) is None


OCCASIONS = """
def cwnd(state, window):
    oldest = window.delivered_packets.recent(3) + window.lost_packets.window_percentile(0.5, 4)
    return oldest + window.duration_us.avg() + state.rtt_us.window_avg(4)
"""


def of_every_statistic(language: type[LanguageProgram]) -> list[LanguageProgram]:
    random, programs = Random(2), []
    for number, feature in enumerate(("whole", "signed", "positive")):
        policy = check(every_statistic(feature), TOY)
        program, reference = language(number, policy), policy.reference()
        for key, values in life(TOY, random, 60, few_values, keys=3):
            if values is None:
                program.tell("leave", key)
                reference.forget(key)
                continue
            program.tell("observe", key, values)
            reference.observe(key, values)
            program.ask("rate", key, values, reference(values, key))
        programs.append(program)
    policy = check(OCCASIONS, find_task("congestion_control"))
    program, reference = language(len(programs), policy), policy.reference()
    for step in range(60):
        values = sender_state(program.interface, random)
        if step % 5 == 0:
            program.tell("observe_round_trip", None, values)
            reference.observe_occasion("round_trip", values)
        program.tell("observe", None, values)
        reference.observe(None, values)
        program.ask("cwnd", None, values, reference(values))
    return [*programs, program]


OWN = (
    "math.exp(item.signed)", "math.expm1(item.tiny)", "math.log(item.whole)", "math.log2(item.positive)",
    "math.log10(item.whole)", "math.log1p(item.below)", "item.positive ** 0.3", "2 ** -item.whole", "item.below ** 3",
    "math.tanh(item.signed)", "math.atan(item.huge)", "math.sin(item.signed)", "math.cos(item.tiny)",
)  # fmt: skip


def of_the_library(language: type[LanguageProgram]) -> list[LanguageProgram]:
    random, programs = Random(5), []
    for number, expression in enumerate(OWN):
        policy = check(returning(expression), TOY)
        program, reference = language(number, policy), policy.reference()
        for _ in range(40):
            values = values_for(program.interface, random)
            program.ask("rate", 0.0, values, reference(values, 0.0))
        programs.append(program)
    return programs
