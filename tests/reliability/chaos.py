"""A recorded search under random faults: `python tests/reliability/chaos.py --faults 200`.

A search of a task with everything in it (islands, advice, repairs, rungs, tuning, simplification, finalists, a
control) is run undisturbed, of a model whose answers follow from its prompts alone. Then it is run again and again,
and disturbed at random points of its progress; where a fault ends it, it is resumed. Each time it must come to the
very same events and answers. Prints how many faults of each kind there were, and exits with 1 where a search came to
anything else. One seed gives one sequence of faults and of points of progress; what the processes make of it depends
on their timing too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

from chat_server import Behaviour, ChatServer, Received, answer, cut_off, fail, hang_up, raw

from vulcan.store.events import RunStarted, RunStopped
from vulcan.store.runs import FILE, LOCK, open_store

TESTS = Path(__file__).resolve().parents[1]
MOOD_TASK = str(TESTS / "support" / "tasks" / "mood_task")
COMMAND = str(Path(sys.executable).parent / "vulcan")
SEARCH = (
    "search", "--task", MOOD_TASK, "--model", "toy", "--strategy", "evolve", "--objective",
    "calm", "--rounds", "2", "--samples", "8", "--in-flight", "5", "--islands", "2", "--migrate-every", "6",
    "--advice-every", "9", "--repairs", "2", "--tune", "8", "--simplify", "12", "--finalists", "3",
    "--seed", "22", "--crowd", "10", "--cheap", "--diff", "never", "--quiet",
)  # fmt: skip
MAX_RUN = 300.0
"""Seconds that a search may take to its end, after a fault too."""

MAX_IN_A_RUN = 8
SHARE_ON_RAY = 0.1
NEVER = 10**9

PAGE = 4096


class Server:
    """The model: an answer follows from its prompt. It misbehaves for as many requests as it is told to."""

    def __init__(self) -> None:
        self.next_faults: list[Behaviour] = []

    def __call__(self, request: Received) -> Behaviour:
        if self.next_faults:
            return self.next_faults.pop()
        return answer(reply_to(json.dumps(request.body["messages"])))


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


@dataclass
class Running:
    """A search that runs, and where."""

    process: subprocess.Popen[str]
    run: Path
    server: Server
    rng: random.Random
    on_ray: bool


Fault = Callable[[Running], bool]
"""Does something to a search; whether that ends it."""


def killed(search: Running) -> bool:
    search.process.send_signal(signal.SIGKILL)
    return True


def terminated(search: Running) -> bool:
    search.process.send_signal(signal.SIGTERM)
    return True


def interrupted(search: Running) -> bool:
    search.process.send_signal(signal.SIGINT)
    return True


def disk_full(search: Running) -> bool:
    """No file of the search may grow any more."""
    sizes = [path.stat().st_size for path in search.run.iterdir()]
    with contextlib.suppress(ProcessLookupError):
        resource.prlimit(search.process.pid, resource.RLIMIT_FSIZE, (max(sizes), resource.RLIM_INFINITY))
    return True


def killed_and_a_page_lost(search: Running) -> bool:
    killed(search)
    search.process.wait()
    with (search.run / FILE).open("r+b") as file:
        pages = os.fstat(file.fileno()).st_size // PAGE
        if pages:
            file.seek(search.rng.randrange(pages) * PAGE)
            file.write(bytes(PAGE))
    done = subprocess.run([COMMAND, "repair", search.run], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return True


def child_killed(search: Running) -> bool:
    """One of the processes that score, whose parent may be a worker of Ray's."""
    children = [pid for pid, line in descendants(search.process.pid) if "vulcan.scoring.evaluator_child" in line]
    with contextlib.suppress(ProcessLookupError, IndexError):
        os.kill(search.rng.choice(children), signal.SIGKILL)
    return False


def ray_worker_killed(search: Running) -> bool:
    workers = [pid for pid, line in descendants(search.process.pid) if line.startswith("ray::ScoringActor")]
    with contextlib.suppress(ProcessLookupError, IndexError):
        os.kill(search.rng.choice(workers), signal.SIGKILL)
    return False


def stopped_for_a_while(search: Running) -> bool:
    """As where the host sleeps, swaps, or is moved."""
    search.process.send_signal(signal.SIGSTOP)
    time.sleep(search.rng.uniform(0.1, 0.6))
    search.process.send_signal(signal.SIGCONT)
    return False


def store_locked(search: Running) -> bool:
    """Another program writes to the run's file, and takes its time."""
    with contextlib.suppress(sqlite3.OperationalError), closing(sqlite3.connect(search.run / FILE)) as db:
        db.execute("BEGIN IMMEDIATE")
        time.sleep(search.rng.uniform(0.1, 0.8))
        db.rollback()
    return False


def server_fails(behaviour: Behaviour) -> Fault:
    def fault(search: Running) -> bool:
        search.server.next_faults = [behaviour] * search.rng.randint(1, 2)
        return False

    return fault


LOCAL: dict[str, Fault] = {
    "search killed (SIGKILL)": killed,
    "search terminated (SIGTERM)": terminated,
    "search interrupted (SIGINT)": interrupted,
    "disk full": disk_full,
    "killed, and a page of its file lost": killed_and_a_page_lost,
    "scoring child killed": child_killed,
    "search stopped for a while": stopped_for_a_while,
    "store locked by another program": store_locked,
    "server: status 500": server_fails(fail(500, "down for now")),
    "server: status 429": server_fails(fail(429, "slow down", Retry_After="0")),
    "server: hangs up": server_fails(hang_up),
    "server: cut off": server_fails(cut_off),
    "server: no JSON": server_fails(raw(b"{")),
}
ON_RAY: dict[str, Fault] = {
    "Ray worker killed": ray_worker_killed,
    "scoring child of a Ray worker killed": child_killed,
    "search on Ray killed (SIGKILL)": killed,
    "search on Ray terminated (SIGTERM)": terminated,
}
ENDS = {
    "SIGTERM": (143, -signal.SIGTERM), "SIGINT": (130, -signal.SIGINT), "SIGKILL": (-signal.SIGKILL,),
    "killed": (-signal.SIGKILL,), "disk full": (2,),
}  # fmt: skip
"""The exit codes of what a fault ends. A signal while Python itself starts or stops ends it plainly."""


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


def progress(run: Path) -> int:
    """How many events a search has written down."""
    with (
        contextlib.suppress(sqlite3.OperationalError),
        closing(sqlite3.connect(f"file:{run / FILE}?mode=ro", uri=True)) as db,
    ):
        return int(db.execute("SELECT count(*) FROM events").fetchone()[0])
    return 0


def held(run: Path) -> list[Any]:
    """All that a run holds, but times, the server's address and where the search stopped."""
    with closing(open_store(run)) as store:
        events = [event for event in store.events() if not isinstance(event, RunStarted | RunStopped)]
        return [events, [replace(call, seconds=0.0) for call in store.calls()]]


@dataclass
class Report:
    """What was done, and what came of it."""

    faults: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    wrong: list[str] = field(default_factory=list)

    def table(self) -> Iterator[str]:
        yield f"{'fault':40} {'times':>6}"
        for kind, count in sorted(self.faults.items()):
            yield f"{kind:40} {count:6}"
        yield f"{'in all':40} {self.faults.total():6}"
        yield f"{self.runs} searches were disturbed; {len(self.wrong)} came to another end than the undisturbed one"
        yield from self.wrong


class Chaos:
    """Searches in a directory, under faults that follow from the seed."""

    def __init__(self, place: Path, seed: int, share_on_ray: float) -> None:
        self._place = place
        self._rng = random.Random(seed)
        self._share_on_ray = share_on_ray
        self._model = Server()
        self.report = Report()

    def go(self, faults: int, tell: Callable[[str], None]) -> Report:
        """Disturb as many searches as there are to be faults."""
        with ChatServer(self._model) as server:
            calm = self._place / "calm"
            self._undisturbed(calm, server.url)
            (run,) = calm.iterdir()
            expected, total = held(run), progress(run)
            tell(f"the undisturbed search: {total} events, {len(server.requests)} calls of the model")
            while self.report.faults.total() < faults:
                number = self.report.runs = self.report.runs + 1
                run, kinds, trouble = self._disturbed(
                    self._place / f"{number}", server.url, total, faults - self.report.faults.total()
                )
                self.report.faults.update(kinds)
                if not trouble and held(run) != expected:
                    trouble = "it holds something else"
                if trouble:
                    self.report.wrong.append(f"search {number} ({', '.join(kinds)}): {trouble}")
                tell(f"search {number}: {len(kinds)} faults, {trouble or 'the same end'}")
        return self.report

    def _started(self, *arguments: str | Path) -> subprocess.Popen[str]:
        environment = {
            name: v for name, v in os.environ.items() if not name.startswith(("VULCAN_RUNS", "VULCAN_MODEL"))
        }
        environment |= {"NO_PROXY": "127.0.0.1", "OPENAI_API_KEY": "none"}
        return subprocess.Popen(
            [COMMAND, *map(str, arguments)], cwd=self._place, env=environment, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip

    def _undisturbed(self, runs: Path, url: str) -> None:
        process = self._started(*SEARCH, "--api-base", url, "--runs-dir", runs, *_executor(on_ray=False))
        _, errors = process.communicate(timeout=MAX_RUN)
        assert process.returncode == 0, errors

    def _disturbed(self, runs: Path, url: str, total: int, most: int) -> tuple[Path, list[str], str]:
        """The run of one search, the faults it was given, and what was wrong with how it took them."""
        rng, kinds = self._rng, []
        on_ray = rng.random() < self._share_on_ray
        choices = list((ON_RAY if on_ray else LOCAL).items())
        self._model.next_faults = []
        process = self._started(*SEARCH, "--api-base", url, "--runs-dir", runs, *_executor(on_ray=on_ray))
        run, at = _first_run(runs, process), 0
        for _ in range(min(most, MAX_IN_A_RUN)):
            at = rng.randint(at, total)
            kind, fault = rng.choice(choices)
            delay = rng.uniform(0.0, 0.05)
            if not _comes_to(run, process, at):
                break
            time.sleep(delay)
            search = Running(process, run, self._model, rng, on_ray)
            try:
                ends = fault(search)
            except AssertionError as error:
                return run, [*kinds, kind], f"repair failed: {error}"
            kinds.append(kind)
            if not ends:
                continue
            _, errors = process.communicate(timeout=MAX_RUN)
            allowed = {
                0,
                *(code for word, codes in ENDS.items() if word in kind for code in codes),
            }  # 0: it was at its end already
            if process.returncode not in allowed or "Traceback" in errors:
                return run, kinds, f"after {kind!r} it ended with {process.returncode}: {errors[-600:]}"
            if process.returncode == 0 and "lost" not in kind:
                break  # what was lost of a run that had come to its end is searched anew
            process = self._started("resume", run, "--quiet", *_executor(on_ray=on_ray))
        _, errors = process.communicate(timeout=MAX_RUN)
        if process.returncode != 0:
            return run, kinds, f"it ended with {process.returncode}: {errors[-600:]}"
        return run, kinds, ""


def _executor(*, on_ray: bool) -> tuple[str, ...]:
    return ("--executor", "ray" if on_ray else "local", "--workers", "2")


def _first_run(runs: Path, process: subprocess.Popen[str]) -> Path:
    """Where a search has begun to write itself down."""
    until = time.monotonic() + MAX_RUN
    while time.monotonic() < until and process.poll() is None:
        for run in runs.glob("*"):
            if (run / FILE).is_file() and progress(run) > 0:
                return run
        time.sleep(0.01)
    raise RuntimeError(f"the search did not begin: {process.stderr.read() if process.stderr else ''}")


def _comes_to(run: Path, process: subprocess.Popen[str], events: int) -> bool:
    """Wait until a search has begun, and has written so many events; False where it ends before."""
    until = time.monotonic() + MAX_RUN
    while process.poll() is None and time.monotonic() < until:
        if (run / LOCK).read_text() == str(process.pid) and progress(run) >= events:
            return True
        time.sleep(0.01)
    return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ray", type=float, default=SHARE_ON_RAY, help="the share of searches that score on Ray")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vulcan-chaos-") as place:
        report = Chaos(Path(place), options.seed, options.ray).go(options.faults, lambda line: print(line, flush=True))
    print()
    print("\n".join(report.table()))
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
