"""A search of the command line that halts where a test wants to do something to it."""

from __future__ import annotations

import json
import random
import subprocess
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

from chat_server import Behaviour, Exchange, Received, answer
from console import MOOD_TASK, Console
from search_parts import contents
from waiting import wait_until

from vulcan.store.events import RunStarted, RunStopped
from vulcan.store.runs import open_store

WHOLE = (
    "search", "--task", MOOD_TASK, "--model", "toy", "--strategy", "evolve", "--objective",
    "calm", "--rounds", "2", "--samples", "8", "--in-flight", "5", "--islands", "2", "--migrate-every", "6",
    "--advice-every", "9", "--repairs", "2", "--tune", "8", "--simplify", "12", "--finalists", "3",
    "--seed", "22", "--crowd", "10", "--cheap", "--diff", "never", "--quiet",
)  # fmt: skip
"""A search of a task with everything in it: islands, advice, repairs, rungs, tuning, simplification, finalists."""

SEARCH = (*WHOLE, "--executor", "local", "--workers", "1")
RESUME = ("--executor", "local", "--workers", "1", "--quiet")


def reply_to(prompt: str) -> str:
    """Mostly a program of two numbers, and much of what may be wrong with one."""
    rng = random.Random(prompt)
    match rng.randrange(10):
        case 0:
            return "I would rather not."
        case 1:
            return "```python\ndef decide(load, room):\n    return load + missing\n```"
        case 2:
            return (
                "```python\ndef decide(load, room):\n    if load + room == 0:\n        return 104\n    return load\n```"
            )
        case 3:
            return f"```python\ndef decide(load, room):\n    return {rng.randrange(3)}\n```"
        case _:
            share, inert = round(rng.uniform(0.2, 1.5), 3), f"load * 1e-{rng.randint(7, 12)}"
            return f"```python\ndef decide(load, room):\n    return (min(load, room) + {inert}) * {share}\n```"


class Model:
    """Answers by the prompt alone; after so many answers it holds its tongue until it is let go on."""

    def __init__(self, answers: int = 10**9) -> None:
        self._left = answers
        self.halted = threading.Event()
        self.goes_on = threading.Event()

    def __call__(self, request: Received) -> Behaviour:
        if self._left <= 0 and not self.goes_on.is_set():
            return self._halt
        self._left -= 1
        return answer(reply_to(json.dumps(request.body["messages"])))

    def _halt(self, exchange: Exchange) -> None:
        self.halted.set()
        wait_until(lambda: self.goes_on.is_set() or exchange.closing.is_set(), 120.0)
        exchange.hang_up()  # and is asked again


def only_run(console: Console, runs: str = "runs") -> Path:
    (run,) = (path for path in (console.directory / runs).iterdir() if path.is_dir())
    return run


def own_events(run: Path) -> list[Any]:
    """The events of a run itself, but where it stopped."""
    with closing(open_store(run)) as store:
        return [event for event in store.events() if not isinstance(event, RunStopped)]


def held(run: Path) -> list[Any]:
    """All that a run holds, but times, the server's address and where the search stopped."""
    with closing(open_store(run)) as store:
        events, calls = contents(store)
        return [[event for event in events if not isinstance(event, RunStarted)], calls]


def descendants(pid: int) -> list[tuple[int, str]]:
    """All processes that come of one, with their command lines."""
    lines = subprocess.run(["ps", "-wweo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    table = [
        (int(p), int(parent), command) for p, parent, command in (line.split(None, 2) for line in lines.splitlines())
    ]
    known, found = {pid}, []
    while more := [(p, command) for p, parent, command in table if parent in known and p not in known]:
        found += more
        known |= {p for p, _ in more}
    return found
