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
    "offline": "ee3668c95b56cb0657467c0d0fa7ba0faa3519624412df71de53969a09f65522",
    "scripted": "35b3bdd02165559e70c5ceff742b45caeafa7f6d80868e6b7a65e12716041f54",
}


def digest(executor: Executor, model: str) -> str:
    """Of all events but what the search was started with, which names the place of the task."""
    store = MemoryStore()
    if model == "offline":
        generator = OfflineEvolve(find_task(MOOD_TASK))
        chosen = rich(model=("offline/evolve",), seed=1, rounds=3)
        search(chosen, store, executor, by=generator)
    else:
        search(rich(seed=1), store, executor)
    events = [e for e in contents(store)[0] if not isinstance(e, RunStarted)]
    plain = "\n".join(f"{type(e).__name__} {asdict(e)!r}" for e in events)
    return hashlib.sha256(plain.encode()).hexdigest()


@pytest.mark.parametrize("model", DIGESTS)
def test_seed_1_gives_the_events_that_it_always_gave(racers: Executor, model: str) -> None:
    assert digest(racers, model) == DIGESTS[model]


if __name__ == "__main__":
    with LocalExecutor(Setup(MOOD_TASK, evidence(rich()).everything), 2) as children:
        for name in DIGESTS:
            print(name, digest(children, name))
