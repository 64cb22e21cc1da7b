"""Response time of the live page for a run of 5,000 candidates, idle and while it is written to.

The server is `vulcan ui` as a process. Each address is asked for in turn, so that all see the same machine. "Written
to" means that four candidates are appended before each answer, which then has to read them. "Working" is the time in
which the server had a processor, which other programs of the machine change little. The first answer, for which the
whole run has to be read, is distinguished.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from benchmarks.harness import Goal, arguments, finish, interleaved

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "dashboard"))

from live import MANY, Server, make_large

from vulcan.store.events import CandidateJudged, CandidateProposed
from vulcan.store.runs import open_store

MAX_MILLISECONDS = 200.0
AT_ONCE = 4
ADDRESSES = {
    "list of runs": "/api/runs",
    "run, page": "/runs/large",
    "run, summary": "/api/runs/large",
    "chart": "/api/runs/large/chart",
    "candidates, first page": "/api/runs/large/candidates",
    "candidates, sorted, page 100": "/api/runs/large/candidates?sort=score&order=down&page=100",
    "candidates, filtered": "/api/runs/large/candidates?filter=crossover%20scored",
    "candidate, page": f"/runs/large/candidates/{MANY - 3}",
    "playground, page": "/runs/large/playground",
    "playground, check": "check",
}


class Writer:
    """Appends candidates to a run as a search does."""

    def __init__(self, run: Path) -> None:
        self._run = run
        with closing(open_store(run)) as store:
            self._model = next(e for e in store.events() if isinstance(e, CandidateJudged) and e.score is not None)
        self._next = MANY + 1

    def __call__(self) -> None:
        with closing(open_store(self._run)) as store:
            for number in range(self._next, self._next + AT_ONCE):
                judged = replace(self._model, candidate=number, proposal=number, fingerprint=str(number))
                store.append(CandidateProposed(number, 1, "mutate", (number // 2,), number, "toy"), judged)
        self._next += AT_ONCE


def contestants(client: httpx.Client, source: str) -> dict[str, Callable[[], Any]]:
    def ask(address: str) -> None:
        given = {"source": source}
        answer = client.post("/api/runs/large/check", json=given) if address == "check" else client.get(address)
        answer.raise_for_status()

    return {name: lambda address=address: ask(address) for name, address in ADDRESSES.items()}


@dataclass
class Taken:
    """Milliseconds that the answers to one question took, and those in which the server's processes had a processor."""

    waited: list[float]
    worked: list[float]

    @property
    def line(self) -> str:
        return f"{statistics.median(self.waited):>9.0f}{max(self.waited):>9.0f}{statistics.median(self.worked):>9.0f}"


def worked(pid: int) -> float:
    """Milliseconds in which the threads of a process have had a processor so far, as Linux counts them."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{pid}/task").iterdir()) / 1e6


def measured(
    client: httpx.Client, pid: int, source: str, repetitions: int, before: Callable[[], None]
) -> dict[str, Taken]:
    """Return the time of each answer; `before` runs ahead of each and is not counted."""
    taken = {name: Taken([], []) for name in ADDRESSES}

    def timed(name: str, ask: Callable[[], Any]) -> None:
        before()
        had, began = worked(pid), time.perf_counter()
        ask()
        taken[name].waited.append(1000 * (time.perf_counter() - began))
        taken[name].worked.append(worked(pid) - had)

    made = contestants(client, source)
    interleaved({name: lambda name=name, ask=ask: timed(name, ask) for name, ask in made.items()}, repetitions)
    return {name: Taken(one.waited[1:], one.worked[1:]) for name, one in taken.items()}


def main() -> None:
    options = arguments(__doc__ or "")
    repetitions = 5 if options.quick else 25
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder, "runs", "large")
        make_large(run)
        with closing(open_store(run)) as store:
            source = next(e.source for e in store.events() if isinstance(e, CandidateJudged))
        server = Server(Path(folder))
        try:
            with server.client() as client:
                began = time.perf_counter()
                client.get("/api/runs/large").raise_for_status()
                first = time.perf_counter() - began
                pid = server.process.pid
                still = measured(client, pid, source, repetitions, lambda: None)
                written = measured(client, pid, source, repetitions, Writer(run))
        finally:
            server.close()
    head = f"{'median':>9}{'slowest':>9}{'working':>9}"
    lines = [f"{'answer, milliseconds':<32}{head}{head}", f"{'':<32}{'of a run as it is':>27}{'of one written to':>27}"]
    lines += [f"{name:<32}{still[name].line}{written[name].line}" for name in ADDRESSES]
    lines.append(f"\nThe first answer, for which {MANY:,} candidates are read: {first:.2f} s")
    lines.append(f"Load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    every = {**still, **{f"{name}, written to": taken for name, taken in written.items()}}
    medians = {name: statistics.median(taken.waited) for name, taken in every.items()}
    goals = [Goal(f"{name}, ms", value, MAX_MILLISECONDS, at_least=False) for name, value in medians.items()]
    document = {
        "candidates": MANY,
        "first_seconds": first,
        "median_milliseconds": medians,
        "working_milliseconds": {name: statistics.median(taken.worked) for name, taken in every.items()},
        "load": os.getloadavg()[0],
    }
    finish(options, document, lines, goals)


if __name__ == "__main__":
    main()
