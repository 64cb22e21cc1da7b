"""The reference under CPython and the machine code give the same bits, on generated programs and extreme inputs."""

from dataclasses import replace
from random import Random

import pytest
from anvil_programs import programs, random_program
from anvil_toy import TOY, TOY_LAYOUT
from anvil_twin import Twin
from anvil_two import TWO, TWO_LAYOUT
from anvil_values import values_for
from effort import slow
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from vulcan.anvil import Layout, Rejected, check
from vulcan.registry import find_task
from vulcan.task import Task
from vulcan_cache.layout import LAYOUT as CACHE_LAYOUT
from vulcan_cache.queue_layout import LAYOUT as QUEUE_LAYOUT

CACHE = replace(find_task("cache_eviction").of_policy("sample", ()), operations=TOY.operations, whole=None)
QUEUES = replace(find_task("cache_eviction").of_policy("queues"), operations=TOY.operations, whole=None)
CASES = [
    pytest.param(TOY, TOY_LAYOUT, id="toy"),
    pytest.param(CACHE, CACHE_LAYOUT, id="cache_eviction"),
    pytest.param(TWO, TWO_LAYOUT, id="several functions"),
    pytest.param(QUEUES, QUEUE_LAYOUT, id="queues"),  # where `obj.queue` has the slot of the ghost list
]
KEYS = (0.0, 1.0, 2.0, float(2**32))


def agree(source: str, task: Task, layout: Layout, random: Random, events: int = 10) -> None:
    """Run a random life of a few entities; the twin asserts at each score."""
    twin = Twin(check(source, task), layout, hurried=len(source) % 2 == 1)  # half of the programs, in effect
    occasions = sorted(set(task.interface.occasions.values()))
    for _ in range(events):
        while occasions and random.random() < 0.6:
            twin.occur(random.choice(occasions), values_for(task.interface, random))
        key = random.choice(KEYS)
        if key in twin.live and random.random() < 0.3:
            twin.leave(key)
            continue
        values = twin.consistent(values_for(task.interface, random)) | {f"{task.signature.entity.name}.id": key}
        twin.observe(key, values)
        twin.score(key, values)
    twin.check_memory()


def over_the_limit(rejected: Rejected) -> bool:
    """The generator bounds neither a program's operations nor its size; nothing else may be wrong with it."""
    return all(v.rule in ("operations", "too-large") for v in rejected.violations)


@pytest.mark.parametrize(("task", "layout"), CASES)
@pytest.mark.parametrize("count", [12, slow(500)])
def test_a_generated_program_gives_the_same_bits_natively(task: Task, layout: Layout, count: int) -> None:
    @settings(
        max_examples=count, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], database=None
    )
    @given(data=st.data(), seed=st.integers(0, 2**32))
    def holds(data: st.DataObject, seed: int) -> None:
        source = data.draw(programs(task.signature, others=task.others))
        try:
            agree(source, task, layout, Random(seed))
        except Rejected as rejected:
            assert over_the_limit(rejected), f"{rejected}\n{source}"
            assume(False)

    holds()


@pytest.mark.slow
@pytest.mark.parametrize(("task", "layout"), CASES)
def test_ten_thousand_generated_programs_give_the_same_bits_natively(task: Task, layout: Layout) -> None:
    random = Random(20_000)
    agreed = 0
    while agreed < 10_000:
        source = random_program(task.signature, random, others=task.others)
        try:
            agree(source, task, layout, random)
            agreed += 1
        except Rejected as rejected:
            assert over_the_limit(rejected), f"{rejected}\n{source}"
