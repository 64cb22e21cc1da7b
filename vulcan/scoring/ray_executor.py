"""Scoring on Ray: actors that each own one sandboxed evaluator, on this host or a cluster.

Short jobs are sent in batches, so that the overhead of a call stays small compared with the work.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from vulcan.errors import UserError
from vulcan.foreign_code import ForeignCall
from vulcan.scoring.evaluator_process import JailedEvaluator
from vulcan.scoring.job import BACKSTOP, JobRequest, Outcome, Setup, WorkerLost, WorkerRetired
from vulcan.scoring.local_pool import Pool, Worker
from vulcan.scoring.ray_runtime import HEAD_CHECK_SECONDS, RayRuntime, RayUnavailable
from vulcan.scoring.sandbox.lockdown import Defences, die_with_parent

logger = logging.getLogger(__name__)

_POLL_SECONDS = 0.2
"""Seconds between polls of an actor that is being restarted."""


class ScoringActor:
    """A Ray actor that owns one evaluator; it returns a UserError as text, which Ray would wrap if raised."""

    def __init__(self, setup: str) -> None:
        die_with_parent()  # with its raylet, which ends with the driver if it is local: at once, not in seconds
        self._evaluator = JailedEvaluator(Setup.from_json(setup))

    def start(self) -> Defences | str:
        try:
            return self._evaluator.start()
        except UserError as error:
            return str(error)

    def serve_all(self, requests: Sequence[JobRequest]) -> list[Outcome] | str:
        """Score jobs and return their outcomes, in order; or the text of the first UserError, alone."""
        try:
            return self._evaluator.serve_all(requests)
        except UserError as error:
            return str(error)

    def processes(self) -> tuple[int, int | None]:
        """Return the process ids of the Ray worker and of its child."""
        return os.getpid(), self._evaluator.pid


BATCH_SECONDS = 0.2
"""Expected work of a batch: some milliseconds of a call are a small share of it, and no finished job waits for long."""

MAX_JOBS = 64
_HISTORY = 15


def batch_size(works: Iterable[float], limit: int) -> int:
    """Return how many jobs of these expected seconds make a batch, 1 to `limit`."""
    work, count = 0.0, 0
    for count, seconds in enumerate(works, 1):
        work += seconds
        if count >= limit or work >= BATCH_SECONDS:
            break
    return max(1, count)


class BatchSizer:
    """Batch sizes, learned from the work of jobs.

    A job is expected to take as long as the latest on the same instances; one without precedent ends a batch. A batch
    is at most a worker's share of the queue. Batching changes when outcomes arrive, not the outcomes. Use it from one
    thread at a time.
    """

    def __init__(self) -> None:
        self._work: defaultdict[tuple[int, ...], deque[float]] = defaultdict(lambda: deque(maxlen=_HISTORY))

    def learn(self, requests: Sequence[JobRequest], outcomes: Sequence[Outcome]) -> None:
        """Record the work of jobs."""
        for request, outcome in zip(requests, outcomes, strict=True):
            if outcome.status == "scored":  # the others end early
                self._work[request.instances].append(outcome.seconds)

    def size(self, waiting: Sequence[JobRequest], workers: int) -> int:
        """Return how many of the queued jobs, from the first, to send in one batch; at least 1."""
        limit = min(MAX_JOBS, math.ceil(len(waiting) / workers))
        return batch_size(map(self._expected, waiting), limit)

    def _expected(self, request: JobRequest) -> float:
        known = self._work.get(request.instances)
        return median(known) if known else math.inf


_GRACE = 60.0
"""Seconds allowed for Ray to transport a request and its reply, and to restart an actor that died."""


class RayExecutor(Pool):
    """An `Executor` on a `RayRuntime`, which it waits for and does not close.

    Raises RayUnavailable if Ray does not start or has no room for one actor, and UserError if the task, its evaluator
    or an instance cannot be set up. May be constructed in any thread. Short jobs are batched, see `BatchSizer`.
    """

    def __init__(self, setup: Setup, workers: int, runtime: RayRuntime) -> None:
        ray = runtime.wait()
        # Ray restarts a dead actor, but must not rerun its job by itself
        remote = ray.remote(ScoringActor).options(num_cpus=1, max_restarts=-1, max_task_retries=0)
        text = setup.to_json()
        self._batching = BatchSizer()
        self._learning = threading.Lock()
        self.actors = [RemoteEvaluator(ray, remote.remote(text), setup, runtime) for _ in range(workers)]
        try:
            super().__init__("ray", setup, self.actors)
        except WorkerLost as error:
            raise RayUnavailable(f"Ray is up, but does not run a scoring actor: {error}") from error

    def size_of_batch(self, waiting: Sequence[JobRequest]) -> int:
        with self._learning:
            return self._batching.size(waiting, self.workers)

    def serve_on(self, worker: Worker, requests: Sequence[JobRequest]) -> list[Outcome]:
        outcomes = super().serve_on(worker, requests)
        with self._learning:
            self._batching.learn(requests, outcomes)
        return outcomes


class RemoteEvaluator:
    """A `Worker` proxy for an actor, and for a local evaluator in its place once a private Ray is lost."""

    def __init__(self, ray: Any, actor: Any, setup: Setup, runtime: RayRuntime) -> None:
        self._ray = ray
        self._actor = actor
        self._setup_seconds = setup.limits.setup_seconds
        self._runtime = runtime
        self._local = JailedEvaluator(setup)

    def start(self) -> Defences:
        self.processes()  # fails sooner than a slow set-up if Ray has no room for the actor
        defences: Defences = self._answer("start", seconds=self._setup_seconds)
        return defences

    def serve_all(self, requests: Sequence[JobRequest]) -> list[Outcome]:
        """Score jobs in one call."""
        if self._is_local():
            return self._local.serve_all(requests)
        seconds = sum(self._longest(request) for request in requests)
        outcomes: list[Outcome] = self._answer("serve_all", tuple(requests), seconds=seconds)
        return outcomes

    def _is_local(self) -> bool:
        """Check whether a private Ray is lost. Raises UserError if it was a cluster."""
        if self._runtime.lost.is_set() and self._runtime.joined:
            raise UserError(
                f"the head of the Ray cluster at {self._runtime.joined} no longer answers: `vulcan resume` continues "
                "the search, once it is up or with --executor local"
            )
        return self._runtime.lost.is_set()

    def _longest(self, request: JobRequest) -> float:
        """Return the maximum seconds of a job, which may have to start a child and then lose it."""
        return 2 * (self._setup_seconds + BACKSTOP * request.limit)

    def processes(self) -> tuple[int, int | None]:
        """Return the process ids of the actor and of its child."""
        pids: tuple[int, int | None] = self._answer("processes", seconds=0.0)
        return pids

    def interrupt(self) -> None:
        self._local.interrupt()
        if not self._runtime.lost.is_set() and self._ray.is_initialized():
            self._ray.kill(self._actor, no_restart=True)

    def close(self) -> None:
        """Wait for the local evaluator; a killed actor takes its child with it."""
        self._local.close()

    def _answer(self, method: str, *arguments: object, seconds: float) -> Any:
        """Call a method of the actor and return its result. Raises UserError, and WorkerLost if Ray itself failed."""
        try:
            answer = self._get(method, *arguments, seconds=seconds + _GRACE)
        except self._ray.exceptions.RayTaskError:
            raise  # raised by Vulcan's code and not by Ray
        except self._ray.exceptions.RayError as error:
            lost = WorkerLost if self._comes_back() else WorkerRetired
            raise lost(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}") from error
        if isinstance(answer, str):
            raise UserError(answer)
        return answer

    def _get(self, method: str, *arguments: object, seconds: float) -> Any:
        """Call a method and return its result. Raises RayError; and WorkerLost as soon as Ray's head is gone."""
        until = time.monotonic() + seconds
        attempt = ForeignCall()  # where the connection is closed meanwhile, Ray raises errors of any type
        with attempt:
            result = getattr(self._actor, method).remote(*arguments)
            while not self._runtime.lost.is_set():
                ready, _ = self._ray.wait([result], timeout=HEAD_CHECK_SECONDS)
                if ready or time.monotonic() > until:
                    return self._ray.get(result, timeout=0.0 if ready else _POLL_SECONDS)
        if self._runtime.lost.wait(HEAD_CHECK_SECONDS if attempt.error is not None else 0.0):
            further = "" if self._runtime.joined else "; scoring continues in processes of this host"
            raise WorkerLost(f"Ray's head is gone{further}")
        assert attempt.error is not None
        raise attempt.error

    def _comes_back(self) -> bool:
        """Wait until Ray has restarted the actor; False if it does not, for example if the actor's node is gone.

        Meanwhile every call of the actor fails at once, which would use up a job's tries immediately.
        """
        until = time.monotonic() + _GRACE
        while time.monotonic() < until:
            try:
                self._get("processes", seconds=_GRACE)
            except self._ray.exceptions.ActorUnavailableError:
                time.sleep(_POLL_SECONDS)
            except (self._ray.exceptions.RayError, WorkerLost):
                return False
            else:
                return True
        return False
