"""An executor that begins in local processes, and moves to a Ray of this host if scoring takes long."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait

from vulcan.closing import Closing
from vulcan.errors import UserError
from vulcan.scoring.executor import DeferredExecutor, Executor
from vulcan.scoring.job import Job, Outcome, Setup
from vulcan.scoring.local_pool import LocalExecutor
from vulcan.scoring.ray_executor import RayExecutor
from vulcan.scoring.ray_runtime import RayRuntime, RayUnavailable

log = logging.getLogger(__name__)

LOCAL_SECONDS = 60.0
"""Seconds of local scoring before Ray is started: its start takes 6 s of processor time, which scoring would need."""


class MovingExecutor(Closing):
    """An `Executor` in local processes, from the first job on, that moves to a local Ray after some time.

    Ray starts in the background; jobs submitted before it is up finish where they are. If it does not start, a warning
    is logged and scoring stays local. Where a job runs has no effect on its outcome. `report` is called with what
    happens, by the thread that submits jobs.
    """

    def __init__(self, setup: Setup, workers: int, report: Callable[[str], None]) -> None:
        self._setup = setup
        self._workers = workers
        self._report = report
        self._local = DeferredExecutor(lambda: LocalExecutor(setup, workers), workers)
        self._current: Executor = self._local
        self._on_local: set[Future[Outcome]] = set()
        self._news: list[str] = []
        self._runtime: RayRuntime | None = None
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._mover = threading.Thread(target=self._move, name="vulcan-move", daemon=True)

    @property
    def name(self) -> str:
        return self._current.name

    @property
    def workers(self) -> int:
        return self._workers

    def submit(self, job: Job) -> Future[Outcome]:
        """Queue a job. Raises as the local executor does, ValueError or UserError."""
        with self._lock:
            future = self._current.submit(job)
            if self._current is self._local:
                self._on_local.add(future)
                future.add_done_callback(self._on_local.discard)
            if self._mover.ident is None:
                self._mover.start()
            news, self._news = self._news, []
        for what in news:
            self._report(what)
        return future

    def close(self) -> None:
        """Kill running jobs and cancel queued ones. May be called twice."""
        with self._lock:
            self._closing.set()
            self._local.close()
            if self._runtime is not None and self._current is self._local:
                self._runtime.abandoned.set()
        if self._mover.ident is not None:
            self._mover.join()
        if self._current is not self._local:
            self._current.close()
        if self._runtime is not None:
            self._runtime.close()

    def _move(self) -> None:
        """Start Ray, give it the later jobs, and end the local processes after their last job."""
        if self._closing.wait(LOCAL_SECONDS):
            return
        with self._lock:
            if self._closing.is_set():
                return
            self._runtime = runtime = RayRuntime(self._workers)
            self._news.append("starting Ray; until it is up, scoring continues in processes of this host")
        try:
            ray = RayExecutor(self._setup, self._workers, runtime)
        except (RayUnavailable, UserError) as error:
            if not self._closing.is_set():
                log.warning("%s; continuing with --executor local", error)
            return
        with self._lock:
            self._current = ray
            self._news.append("scoring continues in Ray")
            left = set(self._on_local)
        wait(left)
        with self._lock:
            if not self._closing.is_set():
                self._local.close()
