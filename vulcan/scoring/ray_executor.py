"""Scoring on Ray: actors that each own one jailed evaluator, on this machine or a cluster.

Starts or joins Ray. Ray itself is imported only when that happens.

What runs inside a Ray worker: one jailed evaluator.

How many jobs travel together, so that the way to a worker costs little beside the work.
"""

from __future__ import annotations

import logging
import math
import os
import secrets
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from types import TracebackType
from typing import Any, Self

from vulcan.errors import UserError
from vulcan.scoring.evaluator_process import JailedEvaluator
from vulcan.scoring.executor import WorkerLost, WorkerRetired
from vulcan.scoring.foreign_code import ForeignCall, one_line
from vulcan.scoring.job import JobRequest, Outcome, Setup
from vulcan.scoring.local_pool import Pool, Worker
from vulcan.scoring.sandbox.lockdown import Defences

logger = logging.getLogger(__name__)

# Jobs and outcomes are small: Ray's own default, 30 % of the host's memory, would only be in the way
_OBJECT_STORE_BYTES = 100 << 20

_LOOPBACK = "127.0.0.1"


class RayUnavailable(Exception):
    """Ray could not be started or joined; the message says why, in one line."""


class RayRuntime:
    """A Ray to work with: an existing cluster, or one of our own on this machine that ends with `close`.

    The constructor returns at once, and Ray comes up in the background; `wait` says how that went. `address`
    names a cluster to join; without one, the variable RAY_ADDRESS does; without both, Ray is started with
    `workers` processors and without its dashboard, and only this process can use it: it listens on the loopback
    interface, and answers no call without a token made for it. Neither statistics of use nor anything on standard
    output comes from it. Where this process is connected to a Ray already, that one is used and left as it is.
    """

    def __init__(self, workers: int, address: str | None = None, limit: float = 60.0) -> None:
        """`limit` bounds the start in seconds."""
        self._workers = workers
        self._address = address or os.environ.get("RAY_ADDRESS") or None
        self._limit = limit
        self._settled = threading.Event()
        self._leave = threading.Event()
        self._failure: str | None = None
        # Ray's processes die with the thread that starts them, so this one stays until the end
        self._keeper = threading.Thread(target=self._keep, name="vulcan-ray", daemon=True)
        self._keeper.start()

    @property
    def joined(self) -> str | None:
        """The address of the cluster that is joined; None where Ray is our own."""
        return self._address

    def wait(self) -> Any:
        """The `ray` module, once it is connected. Raises RayUnavailable."""
        if not self._settled.wait(self._limit):
            self._leave.set()
            raise RayUnavailable(f"Ray was not up after {self._limit:g} s")
        if self._failure is not None:
            raise RayUnavailable(self._failure)
        import ray

        return ray

    def close(self) -> None:
        """Disconnect, and end a Ray of our own. May be called twice. A start under way is not waited for."""
        self._leave.set()
        if self._settled.is_set():
            self._keeper.join(self._limit)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _keep(self) -> None:
        mine = self._connect()
        self._settled.set()
        self._leave.wait()
        if mine:
            import ray

            ray.shutdown()
            if self._address is None:
                _reload_authentication()  # a cluster that this process joins next has another token, or none

    def _connect(self) -> bool:
        """Whether a connection was made, which is to be ended."""
        # read by Ray as it is imported
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        mine = False
        attempt = ForeignCall()  # it raises plain `Exception` too, such as where it does not come up in its own time
        with attempt:
            import ray

            if not ray.is_initialized():
                self._initialize(ray)
                mine = True
        if attempt.failure is not None:
            where = f"join Ray at {self._address}" if self._address else "start Ray"
            self._failure = one_line(f"cannot {where}: {attempt.failure}", 300)
        return mine

    def _initialize(self, ray: Any) -> None:
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "include_dashboard": False}
        if self._address:
            ray.init(address=self._address, **quiet)
            return
        with _private_ray():
            # "local" and not None, which would join any Ray that happens to run on this machine
            own = {"address": "local", "num_cpus": self._workers, "object_store_memory": _OBJECT_STORE_BYTES}
            ray.init(**own, **quiet)
        address = ray.get_runtime_context().gcs_address
        if address.rpartition(":")[0] != _LOOPBACK:
            ray.shutdown()
            raise RuntimeError(f"it listens on {address} and not on the loopback interface alone")


@contextmanager
def _private_ray() -> Iterator[None]:
    """Start a Ray inside this block that binds to the loopback interface and demands a new random token.

    Ray's servers bind to the loopback interface where their node's address is 127.0.0.1. On Linux `ray.init` replaces
    that address by the host's; without `ENABLE_RAY_CLUSTER`, as on macOS and Windows, 127.0.0.1 is what it chooses.
    The token keeps out other users of this host. Ray's processes inherit it, and a candidate's environment is empty.
    """
    from ray._private import ray_constants

    variables = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    before = {name: os.environ.get(name) for name in variables}
    clusters_enabled = ray_constants.ENABLE_RAY_CLUSTER
    os.environ.update(variables)
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        _reload_authentication()
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = clusters_enabled
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _reload_authentication() -> None:
    """Have Ray read RAY_AUTH_MODE and the token from the environment again; it does so once, as it is imported."""
    from ray import _raylet

    _raylet.Config.initialize("")  # type: ignore[attr-defined]
    _raylet.AuthenticationTokenLoader.instance().reset_cache()  # type: ignore[attr-defined]


class ScoringActor:
    """A Ray actor. A user's error is returned as its text: raised, it would come in Ray's wrapping."""

    def __init__(self, setup: str) -> None:
        self._evaluator = JailedEvaluator(Setup.from_json(setup))

    def start(self) -> Defences | str:
        try:
            return self._evaluator.start()
        except UserError as error:
            return str(error)

    def serve(self, request: JobRequest) -> Outcome | str:
        try:
            return self._evaluator.serve(request)
        except UserError as error:
            return str(error)

    def serve_all(self, requests: Sequence[JobRequest]) -> list[Outcome] | str:
        """All outcomes, in order. An error of the user ends it, and is all there is then."""
        outcomes = []
        for request in requests:
            outcome = self.serve(request)
            if isinstance(outcome, str):
                return outcome
            outcomes.append(outcome)
        return outcomes

    def processes(self) -> tuple[int, int | None]:
        """The process ids of the Ray worker and of its child."""
        return os.getpid(), self._evaluator.pid


OVERHEAD = 0.04
"""The share of a batch's work that its way there and back may take: with room to the 5 % that are wanted, for the way
grows longer while the processors are at work."""

MAX_JOBS = 64
MAX = 1.0
"""Jobs, and seconds of work, that travel together at most: what has a result should not wait for long."""

REMEMBERED = 15
"""How many of the latest calls count."""


@dataclass(frozen=True)
class CallOverhead:
    """Seconds that a call takes beside the work of its jobs: once, and for each job again."""

    call: float = 0.0
    job: float = 0.0

    @classmethod
    def of(cls, calls: Iterable[tuple[int, float]]) -> Self:
        """What calls of so many jobs and so many seconds beside them tell, by medians: a worker's first call is long.

        The line is Theil and Sen's, of those pairs of calls of which one has at least twice the other's jobs; nearer
        ones would tell of the host's other work. Where there is none, all is put down to the call.
        """
        known = tuple(calls)
        slopes = [
            (one[1] - other[1]) / (one[0] - other[0])
            for one, other in combinations(known, 2)
            if max(one[0], other[0]) >= 2 * min(one[0], other[0])
        ]
        job = max(0.0, median(slopes)) if slopes else 0.0
        return cls(max(0.0, median(seconds - job * count for count, seconds in known)) if known else 0.0, job)

    def jobs(self, works: Iterable[float], most: int) -> int:
        """How many of the jobs, of so many seconds of work each, the next call carries: 1 to `most`.

        As few as hold the way under `OVERHEAD` of the work, and no more than `MAX` together.
        """
        work, count = 0.0, 0
        for count, seconds in enumerate(works, 1):
            work += seconds
            if count >= most or work >= MAX or self.call + self.job * count <= OVERHEAD * work:
                break
        return max(1, count)


class BatchSizer:
    """Learns from calls what their way takes and what jobs take, and says how many jobs the next call carries.

    A job is as long as others on the same instances were; one whose like was never run ends a batch. A batch is as
    short as keeps the overhead under `OVERHEAD`, and at most a worker's share of what waits. Which jobs travel
    together changes when outcomes come, and nothing about them. Use it from one thread at a time.
    """

    def __init__(self) -> None:
        self._calls: deque[tuple[int, float]] = deque(maxlen=REMEMBERED)
        self._work: defaultdict[tuple[int, ...], deque[float]] = defaultdict(lambda: deque(maxlen=REMEMBERED))

    def learn(self, requests: Sequence[JobRequest], outcomes: Sequence[Outcome], seconds: float) -> None:
        """A call with these jobs came back after so many seconds."""
        self._calls.append((len(requests), max(0.0, seconds - math.fsum(outcome.seconds for outcome in outcomes))))
        for request, outcome in zip(requests, outcomes, strict=True):
            if outcome.status == "scored":  # the others end early
                self._work[request.instances].append(outcome.seconds)

    @property
    def way(self) -> CallOverhead:
        """What the latest calls took beside the work of their jobs."""
        return CallOverhead.of(self._calls)

    def size(self, waiting: Sequence[JobRequest], workers: int) -> int:
        """How many of the jobs that wait, from the first on, travel together; at least 1."""
        most = min(MAX_JOBS, math.ceil(len(waiting) / workers))
        return self.way.jobs(map(self._expected, waiting), most)

    def _expected(self, request: JobRequest) -> float:
        known = self._work.get(request.instances)
        return median(known) if known else math.inf


_GRACE = 60.0
"""Seconds for Ray to carry a request there and back, and to bring back an actor that died."""

_BETWEEN_TRIES = 0.2
"""Seconds until an actor that is being started anew is asked again whether it is there."""


class RayExecutor(Pool):
    """An `Executor` on a `RayRuntime`, which it waits for and does not close.

    Raises RayUnavailable where Ray does not come up or has no room for one actor, and UserError where the
    task, its evaluator or an instance cannot be set up. May be constructed in any thread. Short jobs travel several at
    a time, see `BatchSizer`.
    """

    def __init__(self, setup: Setup, workers: int, runtime: RayRuntime) -> None:
        ray = runtime.wait()
        # a dead actor comes back, but a job is never run again behind our back
        remote = ray.remote(ScoringActor).options(num_cpus=1, max_restarts=-1, max_task_retries=0)
        text = setup.to_json()
        self._batching = BatchSizer()
        self._learning = threading.Lock()
        self.actors = [RemoteEvaluator(ray, remote.remote(text), setup) for _ in range(workers)]
        try:
            super().__init__("ray", setup, self.actors)
        except WorkerLost as error:
            raise RayUnavailable(f"Ray is up, but does not run a scoring actor: {error}") from error

    def size_of_batch(self, waiting: Sequence[JobRequest]) -> int:
        with self._learning:
            return self._batching.size(waiting, self.workers)

    def serve_on(self, worker: Worker, requests: Sequence[JobRequest]) -> list[Outcome]:
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

    def serve(self, request: JobRequest) -> Outcome:
        outcome: Outcome = self._answer(self._actor.serve, request, seconds=self._longest(request))
        return outcome

    def serve_all(self, requests: Sequence[JobRequest]) -> list[Outcome]:
        """`serve` for each, in one call. What it raises may be due to any of them."""
        seconds = sum(self._longest(request) for request in requests)
        outcomes: list[Outcome] = self._answer(self._actor.serve_all, tuple(requests), seconds=seconds)
        return outcomes

    def _longest(self, request: JobRequest) -> float:
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
            lost = WorkerLost if self._comes_back() else WorkerRetired
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
