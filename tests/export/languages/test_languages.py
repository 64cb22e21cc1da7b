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
from exported_run import every_statistic, few_values
from language_programs import Go, Java, LanguageProgram, Rust, missing
from policy_trees import accepted, random_program
from stateful_lives import KEYS, lived_in_doubles, lived_through_round_trips

from vulcan.anvil import Policy, check, ir
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


def of_every_statistic(language: type[LanguageProgram]) -> list[LanguageProgram]:
    random, programs = Random(2), []
    for number, feature in enumerate(("whole", "signed", "positive")):
        policy = check(every_statistic(feature), TOY)
        program, reference = language(number, policy), policy.reference()
        live: set[float] = set()
        for _ in range(60):
            key = random.choice(KEYS)
            if key in live and random.random() < 0.15:
                live.remove(key)
                program.tell("leave", key)
                reference.forget(key)
                continue
            live.add(key)
            values = few_values(TOY.interface, random) | {"item.id": key}
            program.tell("observe", key, values)
            reference.observe(key, values)
            program.ask("rate", key, values, reference(values, key))
        programs.append(program)
    return [*programs, lived_through_round_trips(len(programs), language, random, "observe_round_trip", 60)]


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
