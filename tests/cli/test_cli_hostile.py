"""Every command with what it should not be given: output that is full or closed, and a FIFO, an endless device or a
directory in the place of each of its arguments and options.

Commands and their arguments are those that the command line itself has: a new one is tried too.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from every_command import every_command
from forked_commands import CLOSED, MOOD, Commands, Ended, commands

ALL = os.environ.get("VULCAN_FAULTS") == "all"
SAMPLE = 30
MEMORY = 1 << 30
SEARCH = (
    "--task", MOOD, "--objective", "calm", "--budget-candidates", "2", "--tune", "0", "--simplify", "0", "--quiet",
)  # fmt: skip
SCORING = ("--executor", "local", "--workers", "1")
NOT_TRIED = {"vulcan doctor", "vulcan ui", "vulcan kernel"}
"""Commands that start a Ray, or serve until they are interrupted, or load modules into a kernel; --help is tried."""

VALID: dict[str, tuple[str, ...]] = {
    "vulcan search": ("--dry-run", *SEARCH),
    "vulcan resume": ("RUN", *SCORING),
    "vulcan repair": ("RUN",),
    "vulcan finish": ("RUN",),
    "vulcan note": ("RUN",),
    "vulcan runs": (),
    "vulcan show": ("RUN",),
    "vulcan report": ("RUN", "--format", "json"),
    "vulcan check": ("POLICY", "--task", MOOD),
    "vulcan verify": ("POLICY", "--task", MOOD),
    "vulcan export": ("POLICY", "--task", MOOD, "--list"),
    "vulcan prompt": ("--task", MOOD),
    "vulcan tasks": (),
    "vulcan task show": (MOOD,),
}
"""A good call of the commands that print much; of others it is their help."""

pytestmark = [pytest.mark.faults, pytest.mark.skipif(sys.platform != "linux", reason="it has /dev/full")]

COMMANDS = {path: command for path, _, command in every_command()}


@pytest.fixture(scope="module")
def forks() -> Iterator[Commands]:
    with commands("search", *SEARCH, *SCORING) as found:
        yield found


@pytest.fixture(scope="module")
def place(forks: Commands, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a run, a policy, and what no command should be given."""
    place = tmp_path_factory.mktemp("commands")
    ended = forks.run("search", *SEARCH, *SCORING, directory=str(place))
    assert ended.code == 0, ended.said
    (place / "policy.py").write_text("def decide(load, room):\n    return min(load, room)\n")
    (place / "a directory").mkdir()
    os.mkfifo(place / "a pipe")
    return place


def words_of(path: str, place: Path) -> list[str]:
    (run,) = (place / "runs").iterdir()
    known = {"RUN": str(run), "POLICY": str(place / "policy.py")}
    return [*path.split()[1:], *(known.get(word, word) for word in VALID.get(path, ("--help",)))]


@pytest.mark.parametrize("output", ["/dev/full", CLOSED])
def test_output_that_cannot_be_written_is_an_error_in_a_line(output: str, forks: Commands, place: Path) -> None:
    wrong = {}
    for path in COMMANDS:
        ended = forks.run(*words_of(path, place), directory=str(place), stdout=output)
        lines = ended.said.splitlines()
        if ended.code != 2 or "cannot be written" not in (lines or [""])[-1] or "Traceback" in ended.said:
            wrong[path] = ended
    assert wrong == {}


def attacks() -> list[tuple[str, tuple[str, ...]]]:
    """Every argument and every option that takes a value, of every command, with each of the three in its place."""
    found = []
    for path, command in COMMANDS.items():
        if path in NOT_TRIED:
            continue
        params = [p for p in command.params if not p.is_eager and not getattr(p, "is_flag", False)]
        for attacked in params:
            for thing in ("a pipe", "/dev/zero", "a directory"):
                found.append((path, tuple(_words(params, attacked, thing))))
    return found


def _words(params: list[Any], attacked: Any, thing: str) -> Iterator[str]:
    for param in params:
        option = param.param_type_name == "option"
        if not (param is attacked or param.required or param.name in ("executor", "budget_candidates")):
            continue
        if option:
            yield param.opts[0]
        good = {"task": MOOD, "executor": "local", "budget_candidates": "2", "proposal": "3"}
        yield thing if param is attacked else good.get(param.name, "policy.py" if not option else "a directory")


def test_no_input_makes_a_command_hang_raise_or_grow(forks: Commands, place: Path) -> None:
    every = attacks()
    tried = every if ALL else random.Random(11).sample(every, SAMPLE)
    wrong: dict[str, Ended] = {}
    for path, words in tried:
        ended = forks.run(*path.split()[1:], *words, directory=str(place), seconds=60.0)
        if ended.code not in (0, 1, 2) or "Traceback" in ended.said or ended.peak > MEMORY:
            wrong[" ".join((path, *words))] = ended
    print(f"{len(tried)} of {len(every)} calls, and {len(tried) - len(wrong)} were held")
    assert wrong == {}
