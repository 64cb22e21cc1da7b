"""What is asked of an executor, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vulcan.evaluator import Instance

Status = Literal["scored", "rejected", "timeout", "memory", "crashed", "failed"]


@dataclass(frozen=True, slots=True)
class Job:
    """One candidate to be scored on some instances, all of them within `limit` seconds of wall clock.

    With `probe`, the digest of its decisions is asked for too; a job may be for that alone, and have no instances.
    """

    id: int
    source: str
    instances: tuple[Instance, ...]
    limit: float
    probe: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended. All but `seconds` (wall clock) is the same whenever and wherever the job is run.

    `status` is `scored`; `rejected`, by the checker; `timeout`, out of its time; `memory`, out of memory;
    `crashed`, its process died or answered with nonsense; or `failed`, the evaluator raised an error or gave
    metrics that are not finite numbers. `metrics` has the name and the metrics of each instance, in the job's
    order, and is empty unless the status is `scored`: an instance that failed makes the candidate failed.
    `message` says what went wrong. `signature` is the digest of `vulcan.evaluator.OffersDecisions`, None where it was
    not asked for or is not offered, and unless the status is `scored`.
    """

    job: int
    status: Status
    metrics: tuple[tuple[str, dict[str, float]], ...]
    message: str
    seconds: float
    signature: str | None = None
