"""What executors share: workers, and threads that feed them in the order jobs come."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import ExitStack
from queue import SimpleQueue
from types import TracebackType
from typing import Protocol, Self

from vulcan.errors import UserError
from vulcan.scoring.executor import WorkerGone, WorkerLost
from vulcan.scoring.job import Job, Outcome
from vulcan.scoring.sandbox import Defences
from vulcan.scoring.setup import Request, Setup

logger = logging.getLogger(__name__)

TRIES = 3
"""How many workers a job may lose before it is given up."""


class Worker(Protocol):
    """Something that scores one candidate at a time. Threads of the pool call all but `interrupt`."""

    def start(self) -> Defences:
        """Be ready for jobs. Raises UserError where the set-up fails."""

    def serve(self, request: Request) -> Outcome:
        """Run a job. Raises WorkerLost where it was the worker that failed; it may be used again, unless WorkerGone.

        Raises UserError where the worker cannot be set up any more, which may be a matter of the worker's alone.
        """

    def interrupt(self) -> None:
        """End what runs, soon and for good."""

    def close(self) -> None:
        """Wait until nothing is left of the worker."""


class Pool:
    """An `Executor` over a fixed number of workers.

    The first worker is started at once, and fills the caches on disk that the others find when their first
    job starts them.
    """

    def __init__(self, name: str, setup: Setup, workers: Sequence[Worker]) -> None:
        """Raises UserError where the set-up fails."""
        self.name = name
        self.workers = len(workers)
        self.setup = setup
        self._all = tuple(workers)
        self._free: SimpleQueue[Worker] = SimpleQueue()
        for worker in workers:
            self._free.put(worker)
        self._left = len(workers)
        self._counting = threading.Lock()
        self._closing = False
        # the threads last as long as the pool: a child dies with the thread that started it
        self._threads = ThreadPoolExecutor(len(workers), thread_name_prefix=f"vulcan-{name}")
        with ExitStack() as on_failure:
            on_failure.callback(self.close)
            self.defences = self._threads.submit(self._started, workers[0]).result()
            on_failure.pop_all()

    def submit(self, job: Job) -> Future[Outcome]:
        """Queue a job. Raises ValueError for one that does not fit the set-up, RuntimeError once closed."""
        return self._threads.submit(self._run, self.setup.request(job))

    def close(self) -> None:
        """Kill what runs, cancel what waits. May be called twice."""
        self._closing = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._all:
            worker.interrupt()
        self._threads.shutdown(wait=True)
        for worker in self._all:
            worker.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _started(self, worker: Worker) -> Defences:
        for left in range(TRIES - 1, -1, -1):
            try:
                return worker.start()
            except WorkerLost as error:
                if self._closing:
                    raise CancelledError from error
                if not left:
                    raise
                logger.warning("a worker was lost as it began: %s", error)
        raise AssertionError  # the last try returns or raises

    def _run(self, request: Request) -> Outcome:
        lost = 0
        while True:
            worker, gone = self._free.get(), False
            try:
                return worker.serve(request)
            except (WorkerLost, UserError) as error:
                if self._closing:
                    raise CancelledError from error
                lost += 1
                gone = isinstance(error, WorkerGone)
                logger.warning("a worker was lost at job %d (%d of %d): %s", request.job, lost, TRIES, error)
                if lost == TRIES:
                    raise
            finally:
                if not (gone and self._retire()):
                    self._free.put(worker)

    def _retire(self) -> bool:
        """Do without a worker from now on; False for the last one, without which every job would wait for ever."""
        with self._counting:
            if self._left == 1:
                return False
            self._left -= 1
            logger.warning("a worker does not come back: going on with %d", self._left)
            return True
