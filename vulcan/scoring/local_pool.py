"""The worker pool that executors share, and the local executor, a pool of sandboxed evaluators on this host."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Collection, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from vulcan.closing import Closing
from vulcan.errors import UserError
from vulcan.scoring.evaluator_process import JailedEvaluator
from vulcan.scoring.job import Job, JobRequest, Outcome, Setup, WorkerLost, WorkerRetired
from vulcan.scoring.sandbox.lockdown import Defences

logger = logging.getLogger(__name__)

TRIES = 3
"""Number of workers a job may lose before it fails."""


class Worker(Protocol):
    """Protocol of a worker, which scores one candidate at a time; pool threads call all but `interrupt`."""

    def start(self) -> Defences:
        """Get ready for jobs. Raises UserError if the set-up fails."""

    def serve_all(self, requests: Sequence[JobRequest]) -> list[Outcome]:
        """Run jobs, in order. An error may be due to any of them.

        Raises WorkerLost if the worker failed (it may be reused, unless WorkerRetired), and UserError if it can no
        longer be set up, which may concern this worker alone.
        """

    def interrupt(self) -> None:
        """Abort the running job and shut the worker down, without waiting."""

    def close(self) -> None:
        """Wait until the worker has ended."""


@dataclass(frozen=True, eq=False)
class QueuedJob:
    """A submitted job and its future."""

    request: JobRequest
    future: Future[Outcome] = field(default_factory=Future)


class Pool(Closing):
    """An `Executor` over a fixed number of workers.

    The first worker is started at once and fills the on-disk caches for the others, which their first job starts.
    Jobs are sent to a worker one at a time, unless a subclass batches them.
    """

    def __init__(self, name: str, setup: Setup, workers: Sequence[Worker], deferred: bool = False) -> None:
        """Start the first worker, or with `deferred` have the first job do so. Raises UserError if the set-up fails."""
        self.name = name
        self.workers = len(workers)
        self.setup = setup
        self._all = tuple(workers)
        self._working = set(workers)  # all that have not been retired
        self._idle = list(workers)
        self._idle_changed = threading.Condition()
        self._waiting: deque[QueuedJob] = deque()
        self._queue_lock = threading.Lock()
        self._closing = False
        # the threads live as long as the pool, because a child dies with the thread that started it
        self._threads = ThreadPoolExecutor(len(workers), thread_name_prefix=f"vulcan-{name}")
        self._begun = False
        if not deferred:
            self._begin()

    def _begin(self) -> None:
        """Start the first worker, unless it was. Raises UserError if the set-up fails; then the pool is closed."""
        if not self._begun:
            with ExitStack() as on_failure:
                on_failure.callback(self.close)
                self._threads.submit(self._start, self._all[0]).result()
                on_failure.pop_all()
            self._begun = True

    def submit(self, job: Job) -> Future[Outcome]:
        """Queue a job. Raises ValueError for a job that does not fit the set-up, RuntimeError once closed."""
        waiting, batch = QueuedJob(self.setup.request(job)), list[QueuedJob]()
        self._begin()
        with self._queue_lock:
            self._threads.submit(self._run, batch).add_done_callback(partial(_pass_on_failure, batch))
            self._waiting.append(waiting)
        return waiting.future

    def close(self) -> None:
        """Kill running jobs and cancel queued ones. May be called twice."""
        self._closing = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._queue_lock:
            left = list(self._waiting)
            self._waiting.clear()
        for waiting in left:
            waiting.future.cancel()
        for worker in self._all:
            worker.interrupt()
        self._threads.shutdown(wait=True)
        for worker in self._all:
            worker.close()

    def _start(self, worker: Worker) -> Defences:
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

    def size_of_batch(self, waiting: Sequence[JobRequest]) -> int:
        """Return how many of the queued jobs, from the first, to send to a worker in one call."""
        return 1

    def serve_on(self, worker: Worker, requests: Sequence[JobRequest]) -> list[Outcome]:
        """Run jobs on a worker, in order. Raises as `Worker.serve_all` does."""
        return worker.serve_all(requests)

    def _run(self, batch: list[QueuedJob]) -> None:
        """Run the next batch of queued jobs. There is one call per job, so calls after a batch may find none."""
        with self._queue_lock:
            if self._waiting:
                size = self.size_of_batch([waiting.request for waiting in self._waiting])
                batch += [self._waiting.popleft() for _ in range(min(size, len(self._waiting)))]
        jobs = [waiting for waiting in batch if waiting.future.set_running_or_notify_cancel()]
        served = self._serve_batch(jobs) if len(jobs) > 1 else None
        for number, waiting in enumerate(jobs):
            try:
                waiting.future.set_result(served[number] if served else self._serve(waiting.request))
            except (WorkerLost, UserError) as error:
                waiting.future.set_exception(error)

    def _serve_batch(self, jobs: Sequence[QueuedJob]) -> list[Outcome] | None:
        """Return the outcomes of a batch; None if the worker failed: any job may be to blame, so each reruns alone."""
        worker, retired = self._idle_worker(), False
        try:
            return self.serve_on(worker, [waiting.request for waiting in jobs])
        except (WorkerLost, UserError) as error:
            if self._closing:
                raise CancelledError from error
            retired = isinstance(error, WorkerRetired)
            logger.warning("a worker was lost with %d jobs, which are run again: %s", len(jobs), error)
            return None
        finally:
            self._return_worker(worker, retired)

    def _serve(self, request: JobRequest) -> Outcome:
        lost: list[Worker] = []
        while True:
            worker, retired = self._idle_worker(other_than=lost), False
            try:
                return self.serve_on(worker, [request])[0]
            except (WorkerLost, UserError) as error:
                if self._closing:
                    raise CancelledError from error
                lost.append(worker)
                retired = isinstance(error, WorkerRetired)
                logger.warning("a worker was lost at job %d (%d of %d): %s", request.job, len(lost), TRIES, error)
                if len(lost) == TRIES:
                    raise
            finally:
                self._return_worker(worker, retired)

    def _idle_worker(self, other_than: Collection[Worker] = ()) -> Worker:
        """Wait for an idle worker, one of `other_than` only where no other is left: a broken worker fails at once and
        would be the idle one at each try of a job while the sound ones are at work."""
        with self._idle_changed:
            while True:
                for worker in self._idle:
                    if worker not in other_than or self._working <= set(other_than):
                        self._idle.remove(worker)
                        return worker
                self._idle_changed.wait()

    def _return_worker(self, worker: Worker, retired: bool) -> None:
        """Make a worker idle, or drop it if it is retired and not the last, without which jobs would wait forever."""
        with self._idle_changed:
            if retired and len(self._working) > 1:
                self._working.remove(worker)
                logger.warning("a worker does not come back: continuing with %d", len(self._working))
            else:
                self._idle.append(worker)
            self._idle_changed.notify_all()


def _pass_on_failure(batch: Sequence[QueuedJob], finished: Future[None]) -> None:
    """Pass an error that ended a turn to the futures of its jobs."""
    error = None if finished.cancelled() else finished.exception()
    if error is not None:
        for waiting in batch:
            if not waiting.future.done():
                waiting.future.set_exception(error)


class LocalExecutor(Pool):
    """An `Executor` whose workers are children of this process.

    With `deferred`, for commands that may end without a job, the first one starts it. Raises UserError if the task, its
    evaluator or an instance cannot be set up.
    """

    def __init__(self, setup: Setup, workers: int, deferred: bool = False) -> None:
        super().__init__("local", setup, [JailedEvaluator(setup) for _ in range(workers)], deferred)
