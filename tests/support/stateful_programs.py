"""Random policies that keep state and set the controls of events, for the tasks whose simulators are compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from anvil_programs import random_program

from vulcan.anvil import Policy, Rejected, check
from vulcan.task import Task

CONTROLLED = ("random() < 0.1", "policy.r0 > 1", "hash(policy.r0, 1) % 7 == 0", "3 + 40 * random()", "5")


def stateful_programs(task: Task, random: Random, count: int) -> Iterator[Policy]:
    """Yield random accepted policies, each of which handles at least the task's first event."""
    while count:
        source = random_program(task.signature, random, others=task.others, events=task.events)
        try:
            yield check(_controlling(source, task, random), task)
        except Rejected:
            continue
        count -= 1


def _controlling(source: str, task: Task, random: Random) -> str:
    """Let each handler set each control of its event in every other policy."""
    for event in task.events:
        settable = list(event.settable)
        lines = [f"    {name} = {random.choice(CONTROLLED)}\n" for name in settable if random.random() < 0.5]
        head = re.search(rf"^def {event.function}\(.*\):\n", source, re.MULTILINE)
        if head is not None:
            source = source[: head.end()] + "".join(lines) + source[head.end() :]
    return source
