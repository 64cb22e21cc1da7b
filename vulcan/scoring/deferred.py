"""An executor that starts with its first job."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Self

from vulcan.scoring.executor import Executor
from vulcan.scoring.job import Job, Outcome


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
