"""Random policies that keep state and set the controls of events, for the tasks whose simulators are compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from policy_trees import accepted, random_program

from vulcan.anvil import Policy
from vulcan.task import Task

CONTROLLED = ("random() < 0.1", "policy.{0} > 1", "hash(policy.{0}, 1) % 7 == 0", "3 + 40 * random()", "5")


def stateful_programs(task: Task, random: Random, count: int) -> Iterator[Policy]:
    """Yield random accepted policies."""
    while count:
        if (policy := accepted(_controlling(random_program(task, random), task, random), task)) is not None:
            yield policy
            count -= 1


def _controlling(source: str, task: Task, random: Random) -> str:
    """Let each handler set each control of its event in every other policy."""
    register = re.search(r"^class policy:\n    (\w+) =", source, re.MULTILINE)
    assert register is not None
    for event in task.events:
        settable = [name for name in event.settable if random.random() < 0.5]
        lines = [f"    {name} = {random.choice(CONTROLLED).format(register[1])}\n" for name in settable]
        head = re.search(rf"^def {event.function}\(.*\):\n", source, re.MULTILINE)
        if head is not None:
            source = source[: head.end()] + "".join(lines) + source[head.end() :]
    return source
