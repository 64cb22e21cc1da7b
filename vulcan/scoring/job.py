"""Jobs and outcomes of an executor, its protocol, and the set-up that a child receives before its jobs."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol, runtime_checkable

from vulcan.evaluator import Instance
from vulcan.findings import InstanceFinding

BACKSTOP = 5.0
"""How many times its seconds of processor time a program may take by the wall clock, on a busy machine or asleep."""

Status = Literal["scored", "rejected", "timeout", "memory", "crashed", "failed"]


@dataclass(frozen=True, slots=True)
class Job:
    """One candidate to score on some instances, all of them within `limit` seconds of wall clock.

    A program of free Python has `limit` seconds of processor time, and `BACKSTOP` times as many of wall clock. With
    `probe`, the digest of its decisions is requested too; a job may be for that alone, and have no instances. With
    `explain`, the evaluator's findings are requested instead of metrics; with `against`, the source of another policy,
    where the two differ. Raises ValueError where findings are requested of anything but training instances: what is
    held out must not reach a prompt.
    """

    id: int
    source: str
    instances: tuple[Instance, ...]
    limit: float
    probe: bool = False
    explain: bool = False
    against: str | None = None

    def __post_init__(self) -> None:
        for instance in self.instances:
            if self.explain and instance.split != "train":
                raise ValueError(f"{instance.name!r} is of the split {instance.split}: findings are of train alone")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a job, deterministic but for `seconds` (wall clock).

    `status` is `scored`; `rejected` (by the checker); `timeout`; `memory` (out of memory); `crashed` (the process died
    or sent a malformed reply); or `failed` (the evaluator raised an error or returned metrics that are not finite
    numbers). `metrics` holds the name and the metrics of each instance, in the job's order, and is empty unless the
    status is `scored`: one failed instance fails the candidate. `message` is the error. `signature` is the digest of
    `vulcan.evaluator.Evaluator.decisions`; None where it was not requested or is not offered, and unless the status is
    `scored`. `findings` are those requested with `Job.explain`, instance by instance.
    """

    job: int
    status: Status
    metrics: tuple[tuple[str, dict[str, float]], ...]
    message: str
    seconds: float
    signature: str | None = None
    findings: tuple[InstanceFinding, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of a child. The limit of a job (`Job.limit`) is enforced by the parent, and by the fork server.

    `memory_bytes` is the address space a child may add to what it has after its set-up. `cpu_seconds` bounds the
    processor time of a child after its set-up, and ends a child whose parent no longer can. `setup_seconds` is wall
    clock. A child is replaced after `jobs_per_child` jobs, so that leaks in native code do not accumulate.
    """

    memory_bytes: int = 2 << 30
    cpu_seconds: int = 3600
    setup_seconds: float = 300.0
    jobs_per_child: int = 1000

    def __post_init__(self) -> None:
        if min(self.memory_bytes, self.cpu_seconds, self.setup_seconds, self.jobs_per_child) <= 0:
            raise ValueError(f"{self}: every limit must be above 0")


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job as sent to a child, its instances given as indices into `Setup.instances`."""

    job: int
    source: str
    instances: tuple[int, ...]
    limit: float
    probe: bool = False
    explain: bool = False
    against: str | None = None


@dataclass(frozen=True)
class Setup:
    """The task (a name or path, as `vulcan.registry.find_task` takes it) and every instance that jobs may name.

    `directory` is the working directory, against which relative paths of the task and the instances are resolved.
    With `allow_unsandboxed`, programs run even where the host cannot sandbox free Python. `explains` says that jobs may
    ask for findings, for which a child then gets ready.
    """

    task: str
    instances: tuple[Instance, ...]
    limits: Limits = Limits()
    directory: str = field(default_factory=os.getcwd)
    allow_unsandboxed: bool = False
    explains: bool = False

    def __post_init__(self) -> None:
        if not self.instances:
            raise ValueError("a set-up needs at least one instance")
        if len(self._numbers) != len(self.instances):
            raise ValueError("two instances of one split share a name")

    @cached_property
    def _numbers(self) -> dict[tuple[str, str], int]:
        return {(instance.name, instance.split): n for n, instance in enumerate(self.instances)}

    def request(self, job: Job) -> JobRequest:
        """Return the job in terms of this set-up.

        Raises ValueError for an instance that is not part of it, or a limit that a child cannot have.
        """
        if not 0 < job.limit <= self.limits.cpu_seconds:
            raise ValueError(f"job {job.id}: limit {job.limit} s is not in (0, {self.limits.cpu_seconds}]")
        if job.explain and not self.explains:
            raise ValueError(f"job {job.id} asks for findings, and the set-up has none")
        numbers = tuple(self._number(i) for i in job.instances)
        return JobRequest(job.id, job.source, numbers, job.limit, job.probe, job.explain, job.against)

    def _number(self, instance: Instance) -> int:
        number = self._numbers.get((instance.name, instance.split))
        if number is None or self.instances[number] != instance:
            raise ValueError(f"instance {instance.name!r} ({instance.split}) is not part of the set-up")
        return number

    def to_json(self) -> str:
        return json.dumps(
            {
                "task": self.task,
                "instances": [instance.to_json() for instance in self.instances],
                "limits": asdict(self.limits),
                "directory": self.directory,
                "allow_unsandboxed": self.allow_unsandboxed,
                "explains": self.explains,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Setup:
        plain: Mapping[str, Any] = json.loads(text)
        return cls(
            task=plain["task"],
            instances=tuple(Instance(**instance) for instance in plain["instances"]),
            limits=Limits(**plain["limits"]),
            directory=plain["directory"],
            allow_unsandboxed=plain.get("allow_unsandboxed", False),
            explains=plain.get("explains", False),
        )


class WorkerLost(Exception):
    """A job that could not be run, by no fault of the candidate: it has no outcome, and none may be stored."""


class WorkerRetired(WorkerLost):
    """A worker lost for good, to be given no more jobs while there are others."""


@runtime_checkable
class Executor(AbstractContextManager["Executor", None], Protocol):
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
