"""Scoring on Ray: actors that each own one jailed evaluator, on this machine or a cluster."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from vulcan.errors import UserError
from vulcan.scoring.actor import ScoringActor
from vulcan.scoring.batches import Batching
from vulcan.scoring.executor import WorkerGone, WorkerLost
from vulcan.scoring.job import Outcome
from vulcan.scoring.pool import Pool, Worker
from vulcan.scoring.ray_runtime import RayRuntime, RayUnavailable
from vulcan.scoring.sandbox import Defences
from vulcan.scoring.setup import Request, Setup

_GRACE = 60.0
"""Seconds for Ray to carry a request there and back, and to bring back an actor that died."""

_BETWEEN_TRIES = 0.2
"""Seconds until an actor that is being started anew is asked again whether it is there."""


class RayExecutor(Pool):
    """An `Executor` on a `RayRuntime`, which it waits for and does not close.

    Raises RayUnavailable where Ray does not come up or has no room for one actor, and UserError where the
    task, its evaluator or an instance cannot be set up. May be constructed in any thread. Short jobs travel several at
    a time, see `Batching`.
    """

    def __init__(self, setup: Setup, workers: int, runtime: RayRuntime) -> None:
        ray = runtime.wait()
        # a dead actor comes back, but a job is never run again behind our back
        remote = ray.remote(ScoringActor).options(num_cpus=1, max_restarts=-1, max_task_retries=0)
        text = setup.to_json()
        self._batching = Batching()
        self._learning = threading.Lock()
        self.actors = [RemoteEvaluator(ray, remote.remote(text), setup) for _ in range(workers)]
        try:
            super().__init__("ray", setup, self.actors)
        except WorkerLost as error:
            raise RayUnavailable(f"Ray is up, but does not run a scoring actor: {error}") from error

    def size_of_batch(self, waiting: Sequence[Request]) -> int:
        with self._learning:
            return self._batching.size(waiting, self.workers)

    def serve_on(self, worker: Worker, requests: Sequence[Request]) -> list[Outcome]:
        assert isinstance(worker, RemoteEvaluator)
        began = time.monotonic()
        outcomes = [worker.serve(requests[0])] if len(requests) == 1 else worker.serve_all(requests)
        with self._learning:
            self._batching.learn(requests, outcomes, time.monotonic() - began)
        return outcomes


class RemoteEvaluator:
    """A `Worker` that stands for an actor."""

    def __init__(self, ray: Any, actor: Any, setup: Setup) -> None:
        self._ray = ray
        self._actor = actor
        self._setup_seconds = setup.limits.setup_seconds

    def start(self) -> Defences:
        self.processes()  # an actor that Ray has no room for is known sooner than a slow set-up
        defences: Defences = self._answer(self._actor.start, seconds=self._setup_seconds)
        return defences

    def serve(self, request: Request) -> Outcome:
        outcome: Outcome = self._answer(self._actor.serve, request, seconds=self._longest(request))
        return outcome

    def serve_all(self, requests: Sequence[Request]) -> list[Outcome]:
        """`serve` for each, in one call. What it raises may be due to any of them."""
        seconds = sum(self._longest(request) for request in requests)
        outcomes: list[Outcome] = self._answer(self._actor.serve_all, tuple(requests), seconds=seconds)
        return outcomes

    def _longest(self, request: Request) -> float:
        """Seconds: a job may find no child, and lose one."""
        return 2 * (self._setup_seconds + request.limit)

    def processes(self) -> tuple[int, int | None]:
        """The process ids of the actor and of its child."""
        pids: tuple[int, int | None] = self._answer(self._actor.processes, seconds=0.0)
        return pids

    def interrupt(self) -> None:
        if self._ray.is_initialized():
            self._ray.kill(self._actor, no_restart=True)

    def close(self) -> None:
        """Nothing is left to wait for: a killed actor takes its child with it."""

    def _answer(self, method: Any, *arguments: object, seconds: float) -> Any:
        """What the actor's method returns. Raises WorkerLost where it is Ray that failed."""
        errors = self._ray.exceptions
        try:
            answer = self._ray.get(method.remote(*arguments), timeout=seconds + _GRACE)
        except errors.RayTaskError:
            raise  # an error of Vulcan's own
        except errors.RayError as error:
            lost = WorkerLost if self._comes_back() else WorkerGone
            raise lost(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}") from error
        if isinstance(answer, str):
            raise UserError(answer)
        return answer

    def _comes_back(self) -> bool:
        """Wait until Ray has started an actor anew; False where it does not, such as where the actor's node is gone.

        Meanwhile every call of it fails at once: a job's tries would be used up in no time.
        """
        until = time.monotonic() + _GRACE
        while time.monotonic() < until:
            try:
                self._ray.get(self._actor.processes.remote(), timeout=_GRACE)
            except self._ray.exceptions.ActorUnavailableError:
                time.sleep(_BETWEEN_TRIES)
            except self._ray.exceptions.RayError:
                return False
            else:
                return True
        return False
