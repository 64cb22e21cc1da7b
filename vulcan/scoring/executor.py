"""The executor protocol, its errors, and an executor that starts with its first job."""

from __future__ import annotations

from concurrent.futures import Future
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from vulcan.scoring.job import Job, Outcome


class WorkerLost(Exception):
    """A job that could not be run, by no fault of the candidate: it has no outcome, and none may be stored."""


class WorkerRetired(WorkerLost):
    """A worker lost for good, to be given no more jobs while there are others."""


@runtime_checkable
class Executor(Protocol):
    """Protocol of an executor, which runs jobs in order of submission, up to `workers` at a time.

    The future of a job yields its `Outcome` whatever the candidate does. It raises WorkerLost or UserError
    where Vulcan or the user's set-up is to blame, and CancelledError where the executor was closed first.
    """

    @property
    def name(self) -> str:
        """The executor's name on the command line and in the store."""

    @property
    def workers(self) -> int:
        """Maximum number of concurrent jobs."""

    def submit(self, job: Job) -> Future[Outcome]:
        """Queue a job. Raises ValueError for one that does not fit the executor's set-up."""

    def close(self) -> None:
        """Kill running jobs and cancel queued ones. May be called twice."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
