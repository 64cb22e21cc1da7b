"""The contract of whatever runs jobs.

An executor that starts with its first job.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from vulcan.scoring.job import Job, Outcome


class WorkerLost(Exception):
    """A job could not be run, by no fault of the candidate's: there is no outcome, and none may be stored."""


class WorkerRetired(WorkerLost):
    """A worker was lost for good, and is not worth another job while there are others."""


@runtime_checkable
class Executor(Protocol):
    """Runs jobs in the order they come, up to `workers` at a time.

    The future of a job gives its `Outcome` whatever the candidate does. It raises WorkerLost or UserError
    where Vulcan or the user's set-up is to blame, and CancelledError where the executor was closed first.
    """

    @property
    def name(self) -> str:
        """What the executor is called on the command line and in the store."""

    @property
    def workers(self) -> int:
        """How many jobs run at the same time."""

    def submit(self, job: Job) -> Future[Outcome]:
        """Queue a job. Raises ValueError for one that does not fit the executor's set-up."""

    def close(self) -> None:
        """Kill what runs, cancel what waits. May be called twice."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class DeferredExecutor:
    """See `vulcan.scoring.executor.Executor`. For what may end without a job, as the printing of a prompt does."""

    def __init__(self, start: Callable[[], Executor], workers: int) -> None:
        self._start = start
        self._workers = workers
        self._started: Executor | None = None

    @property
    def name(self) -> str:
        return "local" if self._started is None else self._started.name

    @property
    def workers(self) -> int:
        return self._workers

    def submit(self, job: Job) -> Future[Outcome]:
        if self._started is None:
            self._started = self._start()
        return self._started.submit(job)

    def close(self) -> None:
        if self._started is not None:
            self._started.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
