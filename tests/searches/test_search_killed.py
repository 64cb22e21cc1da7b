"""A process that repeats a recorded search is killed with SIGKILL anywhere, and goes on as if nothing had happened."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from effort import slow
from killed_search import ROUNDS
from rich_parts import rich, search
from search_parts import contents

from vulcan.scoring import Executor
from vulcan.store import SQLiteStore

KILLS = 4


class Killer:
    """Has `killed_search.py` run the search in processes of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, place: Path, last: int, executor: str) -> tuple[int, int]:
        """The exit status of one process, and how many statements of SQL it came to unless it was killed."""
        place.mkdir(exist_ok=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{place}\t{last}\t{executor}\n")
        self._process.stdin.flush()
        status, count = map(int, self._process.stdout.readline().split())
        return status, count


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer]:
    script = Path(__file__).with_name("killed_search.py")
    process = subprocess.Popen([sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        yield Killer(process)
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture(scope="module")
def runs(racers: Executor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the recorded run in it."""
    place = tmp_path_factory.mktemp("runs")
    recorded = place / "recorded"
    recorded.mkdir()
    with closing(SQLiteStore(recorded / "run.db", create=True)) as store:
        search(rich(rounds=ROUNDS), store, racers)
    return place


@pytest.fixture(scope="module")
def statements(killer: Killer, runs: Path) -> int:
    """How many statements the search takes where nobody interrupts it."""
    status, count = killer.run(runs / "whole", 0, "plain")
    assert status == 0
    return count


def held(run: Path) -> tuple[object, ...]:
    with closing(SQLiteStore(run / "run.db")) as store:
        return contents(store)


def test_the_repetition_holds_what_the_recorded_run_does(runs: Path, statements: int) -> None:
    assert held(runs / "whole") == held(runs / "recorded")
    assert statements > 500


@pytest.mark.parametrize(
    ("seed", "executor"),
    [(1, "plain"), slow(5, "local"), *(slow(seed, "plain") for seed in (2, 3, 4))],
)
def test_killed_at_random_points_it_ends_as_it_would_have(
    killer: Killer, runs: Path, statements: int, seed: int, executor: str
) -> None:
    """Four kills each, anywhere in the statements of a search; one that comes to its end is begun anew."""
    rng = random.Random(seed)
    kills, ended = 0, 0
    while kills < KILLS:
        run = runs / f"killed {seed} {ended}"
        status, _ = killer.run(run, rng.randint(1, statements), executor)
        assert status in (-9, 0)
        kills += status == -9
        if status == 0:
            assert held(run) == held(runs / "recorded")
            ended += 1
    if status == -9:
        assert killer.run(run, 0, executor)[0] == 0
        assert held(run) == held(runs / "recorded")
