"""Executors that write down what is measured, give scores out in another order, or are lost."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future

from search_parts import SEEDS

from vulcan.scoring import Executor, Job, Outcome, WorkerLost


def of_proposals(job: Job) -> bool:
    """Nothing else is under way when the task's own policies are scored."""
    return job.id > SEEDS


class Backwards:
    """An executor that holds outcomes back and gives them out the last first; `release` gives one out.

    Those of jobs that it does not hold are there at once: such as those that the search itself waits for.
    """

    name = "backwards"
    workers = 3

    def __init__(self, inner: Executor, holds: Callable[[Job], bool] = of_proposals) -> None:
        self._inner = inner
        self._holds = holds
        self._held: list[tuple[Future[Outcome], Outcome]] = []
        self.finished: list[int] = []

    def submit(self, job: Job) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        outcome = self._inner.submit(job).result()
        if self._holds(job):
            self._held.append((future, outcome))
        else:
            future.set_result(outcome)
        return future

    def release(self) -> bool:
        if not self._held:
            return False
        future, outcome = self._held.pop()
        self.finished.append(outcome.job)
        future.set_result(outcome)
        return True


class BackwardsWhenIdle(Backwards):
    """The same, by itself: in a thread, whenever no more jobs seem to come."""

    def __init__(self, inner: Executor, holds: Callable[[Job], bool] = of_proposals) -> None:
        super().__init__(inner, holds)
        self._came: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._release_all)
        self._thread.start()

    def submit(self, job: Job) -> Future[Outcome]:
        with self._lock:
            future = super().submit(job)
        self._came.put(True)
        return future

    def close(self) -> None:
        self._came.put(False)
        self._thread.join()

    def _release_all(self) -> None:
        goes_on = True
        while goes_on:
            try:
                goes_on = self._came.get(timeout=0.05)
            except queue.Empty:
                with self._lock:
                    while self.release():
                        pass


class Watched:
    """An executor that writes down its jobs."""

    def __init__(self, inner: Executor) -> None:
        self._inner = inner
        self.name, self.workers = inner.name, inner.workers
        self.jobs: list[Job] = []

    def submit(self, job: Job) -> Future[Outcome]:
        self.jobs.append(job)
        return self._inner.submit(job)


class Losing(Watched):
    """An executor that loses its workers at one job."""

    def __init__(self, inner: Executor, at: int) -> None:
        super().__init__(inner)
        self._at = at

    def submit(self, job: Job) -> Future[Outcome]:
        future = super().submit(job)
        if len(self.jobs) != self._at:
            return future
        future.result()
        lost: Future[Outcome] = Future()
        lost.set_exception(WorkerLost("the machine is gone"))
        return lost
