"""Settings shared by the two spot tasks: environments, jobs and prices, as instances."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from vulcan.errors import UserError
from vulcan.evaluator import Instance, SplitName
from vulcan.task import Json, Split
from vulcan_spot.job import SECONDS, Prices, SafetyNet, SpotJob

log = logging.getLogger(__name__)

Part = tuple[SplitName, float, float]

MAX_RUNS = 10_000

BOTH = "both"
"""The safety net that is exact, and late also where the published one would be."""


def parts_of(split: Split) -> list[Part]:
    """Return the split's parts as shares of the time of a trace."""
    if split.by == "none":
        return [("train", 0.0, 1.0)]
    first, second = split.train, split.train + split.validation
    return [("train", 0.0, first), ("validation", first, second), ("test", second, 1.0)]


def environments_of(
    given: Sequence[str], embedded: Mapping[str, Sequence[str]], split: Split
) -> list[tuple[str, Part]]:
    """Return each environment with the part of it that a split has; each embedded one belongs to one split, whole."""
    if given:
        return [(spec, part) for part in parts_of(split) for spec in given]
    return [(spec, (cast(SplitName, part), 0.0, 1.0)) for part, specs in embedded.items() for spec in specs]


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
        _say(f"a job of {duration:g} h due after {_listed(deadlines)} h, with {_listed(overheads)} h to start: {why}")
    return [SpotJob.of_hours(duration, deadline, overhead) for deadline in deadlines for overhead in overheads]


def _listed(hours: Sequence[float]) -> str:
    return ", ".join(f"{each:g}" for each in hours)


@cache
def _say(text: str) -> None:
    """Log a warning, once."""
    log.warning("%s", text)


def prices_of(parameters: Mapping[str, Json]) -> Prices:
    """From the settings, or an instance's parameters. Raises UserError."""
    return Prices(*(float(cast(float, parameters[name])) for name in ("on_demand_price", "spot_price", "missed_cost")))


def are_regional(settings: Mapping[str, Json]) -> bool:
    """Check whether spot has a price in each region and tick; runs from before there was a choice have one price."""
    return settings.get("prices") == "regions"


def net_of(parameters: Mapping[str, Json]) -> SafetyNet:
    """From the settings, or an instance's parameters; those of runs from before there was a choice have none."""
    net = parameters.get("safety_net") or "published"
    return "exact" if net == BOTH else cast(SafetyNet, net)


def late_under_both(parameters: Mapping[str, Json]) -> bool:
    """Check whether a run is late that would be late under the published net, though the instance has the exact one."""
    return parameters.get("safety_net") == BOTH


def runs_in(settings: Mapping[str, Json], part: Part, is_cut: bool) -> int:
    """Return how many windows a part of an environment has: its share of them where the environment is cut."""
    count = cast(int, settings["windows"])
    if not 1 <= count <= MAX_RUNS:
        raise UserError(f"{count} windows: from 1 to {MAX_RUNS:,} are needed")
    _, low, high = part
    return max(1, round(count * (high - low))) if is_cut else count


def instance_of(
    label: str, part: Part, job: SpotJob, settings: Mapping[str, Json], parameters: Mapping[str, Json]
) -> Instance:
    """Return one environment with one job."""
    hours = f"{job.deadline / 3600:.4g}h+{job.overhead / 3600:.4g}h"
    return Instance(
        name=f"{label}@{hours}",
        split=part[0],
        parameters={
            **parameters,
            "duration_s": job.duration,
            "deadline_s": job.deadline,
            "overhead_s": job.overhead,
            **{name: settings[name] for name in ("on_demand_price", "spot_price", "missed_cost")},
            "safety_net": settings.get("safety_net") or net_of(settings),
        },
    )


def job_of(parameters: Mapping[str, Any]) -> SpotJob:
    """Return the job of an instance."""
    return SpotJob(parameters["duration_s"], parameters["deadline_s"], parameters["overhead_s"])
