"""Repeats a recorded search in processes that are killed: `python killed_search.py`, told what to do line by line.

A line names a directory, the statement of SQL before which the process kills itself with SIGKILL (0: it runs to its
end), and the executor: `plain` scores in the process itself, `local` in jailed children. The recorded run lies in the
directory `recorded` beside it. The answer to a line is the exit status of the process, and how many statements it ran.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path += [str(Path(__file__).parent), str(Path(__file__).resolve().parents[1] / "support")]

from rich_parts import LOCAL, Quiet, rich
from search_parts import TASK, evidence

from vulcan.scoring import Job, Outcome, Setup
from vulcan.scoring.evaluator_child import EvaluatorWorker
from vulcan.searches import session
from vulcan.searches.recorded_replies import RecordedReplies
from vulcan.searches.session import run_search
from vulcan.store import SQLiteStore

ROUNDS = 2


class Plain:
    """An executor in this process, without a jail: the programs of the search are known to be harmless."""

    name, workers = "plain", 3

    def __init__(self, setup: Setup) -> None:
        self._setup, self._worker = setup, EvaluatorWorker(setup)

    def submit(self, job: Job) -> Future[Outcome]:
        request = self._setup.request(job)
        reply = self._worker.serve(
            {
                "ticket": "",
                "source": job.source,
                "instances": request.instances,
                "probe": job.probe,
                "explain": False,
                "limit": job.limit,
            }
        )
        metrics = tuple((i.name, m) for i, m in zip(job.instances, reply["metrics"], strict=False))
        future: Future[Outcome] = Future()
        future.set_result(Outcome(job.id, reply["status"], metrics, reply["message"], 0.0, reply.get("signature")))
        return future

    def close(self) -> None:
        pass


class Mortal:
    """Counts the statements of SQL in all stores of the process, and kills it before one of them."""

    def __init__(self, last: int) -> None:
        self.count, self._last = 0, last

    def __call__(self, _: str) -> None:
        self.count += 1
        if self.count == self._last:
            os.kill(os.getpid(), signal.SIGKILL)

    def opened(self, path: Path) -> SQLiteStore:
        store = SQLiteStore(path, create=not path.is_file())
        store._db.set_trace_callback(self)
        return store


def recording(place: Path) -> RecordedReplies:
    with closing(SQLiteStore(place)) as store:
        return RecordedReplies.of(store)


def repeat(run: Path, mortal: Mortal, worker: Callable[[Setup], Plain] | None) -> None:
    chosen, recorded = rich(rounds=ROUNDS), run.parent / "recorded"

    @contextmanager
    def given(_config: Any, found: Any, _machines: Any, meanwhile: Callable[[], None], _display: Any) -> Iterator[Any]:
        assert worker is not None
        meanwhile()
        yield worker(Setup(chosen.task, found.everything))

    with (
        closing(mortal.opened(run / "run.db")) as store,
        patch.object(session, "executor_for", given) if worker else nullcontext(),
    ):
        run_search(TASK, chosen, store, evidence(chosen), LOCAL, Quiet(), recording=recording(recorded / "run.db"))


def main() -> None:
    for line in sys.stdin:
        place, last, executor = line.split("\t")
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            mortal = Mortal(int(last))
            repeat(Path(place), mortal, Plain if executor.strip() == "plain" else None)
            os.write(write, str(mortal.count).encode())
            os._exit(0)
        os.close(write)
        _, status = os.waitpid(pid, 0)
        with open(read, "rb") as counted:
            print(os.waitstatus_to_exitcode(status), counted.read().decode() or "0", flush=True)


if __name__ == "__main__":
    main()
