"""Every call on a search's files fails, as in SQLite's own tests of I/O errors; then the search is resumed.

At each commit a seeded sample of the calls, and with VULCAN_FAULTS=all (`make faults`) every one.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from forked_commands import KILL, MOOD, Commands, Ended, commands, compiled_shim
from search_parts import contents

from vulcan.store.runs import FILE, open_store

ALL = os.environ.get("VULCAN_FAULTS") == "all"
SAMPLE = 12
ERRORS = (errno.ENOSPC, errno.EIO, errno.EINTR, errno.EMFILE, KILL)
ONCE = (errno.EINTR, KILL)
SCORING = ("--executor", "local", "--workers", "1", "--quiet")
SEARCHES = {
    "mood_task": ("--task", MOOD, "--objective", "calm"),
    "cache_eviction": (
        "--task", "cache_eviction", "--trace", "zipf:requests=2000,objects=300,alpha=0.9,seed=5", "--cache-size", "10%",
    ),
}  # fmt: skip
"""What is searched: something without a file of its own, and with a trace and baselines that are cached."""

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
    pytest.mark.skipif(sys.platform != "linux", reason="calls are preloaded as Linux does it"),
]


def held(run: Path) -> list[Any]:
    """All that a run holds, but times and where it stopped."""
    with closing(open_store(run)) as store:
        return [*contents(store), list(store.questions())]


@dataclass
class Bench:
    """Where a search runs again and again, how many calls it makes, and what it holds when nothing fails."""

    commands: Commands
    search: tuple[str, ...]
    place: Path
    calls: int = 0
    expected: Any = None

    def searched(self, name: str, **fault: Any) -> tuple[Ended, Path]:
        place = self.place / name
        place.mkdir()
        return self.run(place, *self.search, "--runs-dir", place / "runs", **fault), place

    def run(self, place: Path, *words: str | Path, **fault: Any) -> Ended:
        cache = {"VULCAN_CACHE_DIR": str(place / "cache")}
        return self.commands.run(*words, directory=str(place), below=str(place), environment=cache, **fault)

    def mistake(self, nth: int, error: int, lasting: bool) -> str:
        """What is wrong with how the search takes a call that fails, and goes on; empty if nothing is."""
        ended, place = self.searched(f"{nth}", nth=nth, error=error, lasting=lasting)
        if ended.code not in ((-9, 0) if error == KILL else (0, 2)) or "Traceback" in ended.said:
            return f"it ended with {ended.code}: {ended.said[-1500:]}"
        if ended.code == 2 and "vulcan: " not in ended.said:
            return f"it said nothing: {ended.said}"
        run = next((place / "runs").glob("*"), None)
        if run is None or not (run / FILE).exists():
            lost = ended.code == 0 or (error != KILL and "resume" in ended.said)
            return f"there is no run after {ended}" if lost else ""
        resumed = self.run(place, "resume", run, *SCORING)
        if resumed.code == 2 and "vulcan repair" in resumed.said:
            repaired = self.run(place, "repair", run)
            if repaired.code != 0:
                return f"after {ended}, repair: {repaired}"
            resumed = self.run(place, "resume", run, *SCORING)
        if resumed.code == 2 and ended.code != 0 and "start the search again" in resumed.said:
            return ""
        if resumed.code != 0:
            return f"after {ended}, resume: {resumed}"
        if held(run) != self.expected:
            return f"after {ended}, resume came to something else"
        # what a thread that measures writes to a cache is not waited for, so that commands end at once
        left = [path.name for path in place.rglob("*.part") if path.parent.parent.name != "cache"]
        if left and error != KILL:
            return f"left: {left}"
        shutil.rmtree(place)
        return ""


@pytest.fixture(scope="module", params=["mood_task", *(["cache_eviction"] if ALL else [])])
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    place = tmp_path_factory.mktemp("failing")
    search = (
        "search", *SEARCHES[request.param], "--budget-candidates", "12", "--seed", "7", "--tune", "8", "--simplify",
        "0", "--finalists", "2", *SCORING,
    )  # fmt: skip
    with commands(*search, shim=compiled_shim(place)) as forks:
        bench = Bench(forks, search, place)
        ended, calm = bench.searched("calm")
        assert ended.code == 0, ended.said
        (run,) = (calm / "runs").iterdir()
        bench.calls, bench.expected = ended.calls, held(run)
        yield bench


def faults(calls: int) -> list[tuple[int, int, bool]]:
    """The calls that fail, how, and whether all later ones do too."""
    every = [(nth, ERRORS[nth % len(ERRORS)], nth % 2 == 0) for nth in range(1, calls + 1)]
    chosen = every if ALL else sorted(random.Random(5).sample(every, SAMPLE))
    return [(nth, error, lasting and error not in ONCE) for nth, error, lasting in chosen]


def test_a_search_takes_every_call_that_fails_and_goes_on(bench: Bench) -> None:
    tried = faults(bench.calls)
    wrong = {fault: what for fault in tried if (what := bench.mistake(*fault))}
    print(f"{len(tried)} of {bench.calls} calls failed, and {len(tried) - len(wrong)} were held")
    assert wrong == {}
