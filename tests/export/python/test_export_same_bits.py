"""The functions of an exported module give the bits that the reference gives, on generated programs."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from anvil_programs import random_program
from anvil_toy import TOY, returning
from anvil_two import TWO
from anvil_values import values_for
from effort import examples
from exported_run import compare, life

from vulcan.anvil import Rejected, check
from vulcan.registry import find_task
from vulcan.task import MECHANISM, Task

CACHE = replace(find_task("cache_eviction"), operations=TOY.operations).of_policy("heap")
TASKS = pytest.mark.parametrize(
    "task",
    [
        pytest.param(TOY, id="toy"), pytest.param(CACHE, id="cache_eviction"),
        pytest.param(TWO, id="several functions"),
    ],
)  # fmt: skip


def agree(source: str, task: Task, random: Random, events: int = 8) -> int:
    """Run a random life of a few entities; gives how many scores were compared."""
    return compare(check(source, task), life(task, random, events, values_for))


def run_many(task: Task, seed: int, programs: int) -> int:
    random = Random(seed)
    compared = done = 0
    while done < programs:
        source = random_program(task.signature, random, extremes=random.random() < 0.6, others=task.others)
        if MECHANISM in task.policy_choices:
            source = f'{MECHANISM} = "{task.mechanism}"\n{source}'
        try:
            compared += agree(source, task, random)
            done += 1
        except Rejected as rejected:
            assert all(v.rule in ("operations", "too-large") for v in rejected.violations), f"{rejected}\n{source}"
    return compared


@TASKS
def test_generated_programs_give_the_same_bits_as_the_reference(task: Task) -> None:
    programs = examples(250)
    assert run_many(task, seed=11, programs=programs) > 5 * programs


@pytest.mark.slow
@TASKS
def test_ten_thousand_generated_programs_give_the_same_bits_as_the_reference(task: Task) -> None:
    assert run_many(task, seed=12, programs=10_000) > 60_000


@pytest.mark.parametrize(
    "expression",
    [
        "item.signed / item.signed", "1 / 0", "1 // item.whole", "item.whole % item.signed", "0 ** -1",
        "item.below ** 0.5", "item.huge * item.huge", "item.huge * item.huge - item.huge * item.huge",
        "math.log(item.whole)", "math.log1p(item.below)", "math.sqrt(item.signed)", "math.exp(item.huge)",
        "math.expm1(item.huge)", "item.below ** 1001", "int(item.signed)", "int(-item.tiny)", "round(item.signed)",
        "math.floor(-item.tiny)", "math.ceil(item.signed)", "-0.0", "not item.whole", "bool(item.tiny)",
        "item.whole and item.flag or item.below", "1 < item.positive <= 3 < 5", "min(item.flag, 0.0, -0.0)",
        "(item.signed if item.flag else item.below) ** 2", "-item.whole ** 2", "2 ** -item.whole", "(-2) ** 3",
        "math.pi * math.e", "True + True", "math.atan(item.huge) + math.tanh(item.signed)", "item.huge % 7",
    ],
)  # fmt: skip
def test_each_operation_gives_the_same_bits_at_its_edges(expression: str) -> None:
    assert agree(returning(expression), TOY, Random(3), events=150) > 100
