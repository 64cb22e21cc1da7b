"""The contract of whatever runs jobs."""

from __future__ import annotations

from concurrent.futures import Future
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from vulcan.scoring.job import Job, Outcome


class WorkerLost(Exception):
    """A job could not be run, by no fault of the candidate's: there is no outcome, and none may be stored."""


class WorkerGone(WorkerLost):
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
