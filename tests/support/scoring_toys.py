"""The toy task, whose evaluator misbehaves on request, and a worker that does."""

import threading
from collections.abc import Sequence

from locations import TASKS

from vulcan.evaluator import Instance
from vulcan.scoring import Job, Limits, Outcome, Setup, WorkerLost
from vulcan.scoring.job import JobRequest
from vulcan.scoring.sandbox.lockdown import Defences

TOY_TASK = str(TASKS / "toy_task")
MIN = "def decide(load, room):\n    return min(load, room)\n"
LIMIT = 30.0
"""Seconds that an honest job never takes, not even on a busy host."""


class Toy:
    """Instances by kind of behaviour, their set-up, and jobs on them; children are warmed up with the first."""

    def __init__(self, *kinds: str, first: str = "honest", **limits: float) -> None:
        names = dict.fromkeys((first, "honest", *kinds))
        self.instances = {kind: Instance(kind, "train", {"kind": kind}) for kind in names}
        self.setup = Setup(TOY_TASK, tuple(self.instances.values()), Limits(**{"memory_bytes": 256 << 20, **limits}))

    def job(self, *kinds: str, id: int = 1, source: str = MIN, limit: float = LIMIT, probe: bool = False) -> Job:
        return Job(id, source, tuple(self.instances[kind] for kind in kinds), limit, probe)


class StandIn:
    """A worker that answers each job by its number; its first calls fail, or those with some of the jobs."""

    def __init__(
        self, failures: int = 0, error: Exception | None = None, *, on_jobs: Sequence[int] = (), waits: bool = False
    ) -> None:
        self.failures, self.error, self.on_jobs = failures, error or WorkerLost("gone"), on_jobs
        self.calls: list[list[int]] = []
        self.may_begin = threading.Event()
        if not waits:
            self.may_begin.set()

    def start(self) -> Defences:
        return Defences()

    def serve_all(self, requests: Sequence[JobRequest]) -> list[Outcome]:
        self.may_begin.wait(60)
        self.calls.append([request.job for request in requests])
        self.failures -= 1
        if self.failures >= 0 or set(self.calls[-1]) & set(self.on_jobs):
            raise self.error
        return [Outcome(request.job, "scored", (), "", 0.0) for request in requests]

    def interrupt(self) -> None: ...

    def close(self) -> None: ...
