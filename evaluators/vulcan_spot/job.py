"""Job and prices: the work, its deadline, and the cost of VMs."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from vulcan.errors import UserError
from vulcan.task import Json

log = logging.getLogger(__name__)

SECONDS = 3600
MAX = 10_000 * SECONDS

SafetyNet = Literal["exact", "published"]
"""Rules of the last ticks before the deadline.

Under `exact` a spot VM that is preempted in the tick in which the safety net acts gives way to on-demand in that tick,
so that no policy misses a deadline. Under `published`, the rules of the public leaderboard, that tick is lost.
"""


@dataclass(frozen=True, slots=True)
class SpotJob:
    """Work that takes `duration` seconds of a running VM, to be done `deadline` seconds after its begin.

    A VM that starts or restarts does no work for its first `overhead` seconds. Raises UserError for a job that even an
    on-demand VM that starts at once cannot finish in time.
    """

    duration: int
    deadline: int
    overhead: int

    def __post_init__(self) -> None:
        if not 0 < self.duration <= MAX or not 0 < self.deadline <= MAX or not 0 <= self.overhead <= MAX:
            raise UserError(f"{self}: duration and deadline should be above 0, the overhead at least 0 hours")
        if self.duration + self.overhead > self.deadline:
            raise UserError(f"{self}: not even an on-demand VM that starts at once meets the deadline")

    @classmethod
    def of_hours(cls, duration: float, deadline: float, overhead: float) -> SpotJob:
        """From hours, which are rounded to whole seconds. Raises UserError."""
        if not all(abs(hours) < MAX for hours in (duration, deadline, overhead)):
            raise UserError("duration, deadline and overhead should be at most 10,000 hours")
        return cls(*(round(hours * SECONDS) for hours in (duration, deadline, overhead)))

    def __str__(self) -> str:
        hours = (f"{seconds / SECONDS:g}" for seconds in (self.duration, self.deadline, self.overhead))
        return "a job of {} h due after {} h, with {} h to start".format(*hours)


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars an hour, and dollars for a missed deadline.

    The defaults are those of the public evaluator: a p3.2xlarge whatever the GPU is called, and nothing for being late
    beyond the hours that it takes. The tasks have a default of their own for `missed`, which disqualifies.
    """

    on_demand: float = 3.06
    spot: float = 0.9731
    missed: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.spot <= self.on_demand < 1e9:
            raise UserError(
                f"prices: spot {self.spot:g} and on-demand {self.on_demand:g} dollars per hour; "
                "spot should cost at least 0 and at most as much as on-demand"
            )
        if not 0 <= self.missed < 1e9:
            raise UserError(f"a missed deadline costs {self.missed:g} dollars; it should be at least 0")


@dataclass(frozen=True, slots=True)
class UsualJob:
    """The jobs of a task where none is given, in hours: one for each deadline and overhead."""

    duration: float
    deadlines: tuple[float, ...]
    overheads: tuple[float, ...]


USUAL_SINGLE = UsualJob(48.0, (52.0, 70.0, 92.0), (0.02, 0.2, 0.4))
USUAL_MULTI = UsualJob(48.0, (52.0, 70.0), (0.2,))


def jobs_of(settings: Mapping[str, Json], usual: UsualJob, room: int) -> list[SpotJob]:
    """Return one for each deadline and overhead. Raises UserError for a job that cannot be done.

    What the settings leave open is the usual job, scaled to what they give. If they give neither duration nor deadline,
    and the latest deadline is longer than `room`, the seconds that the shortest environment has for a window, all is
    scaled so that it takes half of that. A log warning says so.
    """
    duration = cast(float | None, settings["duration"])
    deadlines, overheads = (cast(list[float], settings[name]) for name in ("deadline", "overhead"))
    scale, why = 1.0, "scaled to what is given"
    if duration is None and not deadlines:
        latest = max(usual.deadlines)
        if latest * SECONDS > room:
            scale = room / SECONDS / 2 / latest
            why = (
                f"the usual {usual.duration:g} h due after up to {latest:g} h do not fit into the "
                f"{room / SECONDS:.3g} h that a split has of the shortest trace"
            )
    elif duration is None:
        scale = min(1.0, min(deadlines) / min(usual.deadlines))
    elif not deadlines:
        scale = duration / usual.duration
    duration = duration or round(scale * usual.duration, 2)
    deadlines = deadlines or [round(scale * hours, 2) for hours in usual.deadlines]
    overheads = overheads or [round(min(1.0, scale) * hours, 4) for hours in usual.overheads]
    if scale != 1.0:
        hours = f"{duration:g} h due after {_listed(deadlines)} h, with {_listed(overheads)} h to start"
        say_once(f"a job of {hours}: {why}")
    return [SpotJob.of_hours(duration, deadline, overhead) for deadline in deadlines for overhead in overheads]


def _listed(hours: Sequence[float]) -> str:
    return ", ".join(f"{each:g}" for each in hours)


@cache
def say_once(text: str) -> None:
    """Log a warning, once."""
    log.warning("%s", text)
