"""A search whose every event is known beforehand: what changes it must be meant to.

Where it is, run this file as a program, `python test_search_golden.py`, put the digests that it prints in
place of the old ones, and say in the commit what changed them.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict

import pytest
from rich_parts import rich, search
from search_parts import MOOD_TASK, contents, evidence

from vulcan.generator import OfflineEvolve
from vulcan.registry import find_task
from vulcan.scoring import Executor, LocalExecutor, Setup
from vulcan.store import MemoryStore
from vulcan.store.events import RunStarted

DIGESTS = {
    "offline": "8c03f410f86a85929b6c63b9416e96c25c82c1f863f7b432d8220f4aebe8c9f5",
    "scripted": "53fc1eac210e970d880160cb61e01d5b4591ea4d008b1090c001c1c1705fb222",
}


def digest(executor: Executor, model: str) -> str:
    """Of all events but what the search was started with, which names the place of the task."""
    store, control = MemoryStore(), MemoryStore()
    if model == "offline":
        generator = OfflineEvolve(find_task(MOOD_TASK))
        chosen = rich(model=("offline/evolve",), seed=1, rounds=3)
        search(chosen, store, executor, by=generator, control=control)
    else:
        search(rich(seed=1), store, executor, control=control)
    events = [e for kept in (store, control) for e in contents(kept)[0] if not isinstance(e, RunStarted)]
    plain = "\n".join(f"{type(e).__name__} {asdict(e)!r}" for e in events)
    return hashlib.sha256(plain.encode()).hexdigest()


@pytest.mark.parametrize("model", DIGESTS)
def test_seed_1_gives_the_events_that_it_always_gave(racers: Executor, model: str) -> None:
    assert digest(racers, model) == DIGESTS[model]


if __name__ == "__main__":
    with LocalExecutor(Setup(MOOD_TASK, evidence(rich()).everything), 2) as children:
        for name in DIGESTS:
            print(name, digest(children, name))
