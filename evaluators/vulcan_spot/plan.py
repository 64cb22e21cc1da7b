"""Settings shared by the two spot tasks: environments, jobs and prices, as instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from vulcan.errors import UserError
from vulcan.evaluator import Instance, SplitName
from vulcan.task import Json, Split
from vulcan_spot.job import Prices, SafetyNet, SpotJob

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


def jobs_of(settings: Mapping[str, Json]) -> list[SpotJob]:
    """Return one for each deadline and overhead. Raises UserError for a job that cannot be done."""
    duration = cast(float, settings["duration"])
    deadlines, overheads = (cast(list[float], settings[name]) for name in ("deadline", "overhead"))
    if not deadlines or not overheads:
        raise UserError("at least one deadline and one overhead are needed")
    return [SpotJob.of_hours(duration, deadline, overhead) for deadline in deadlines for overhead in overheads]


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
    hours = f"{job.deadline / 3600:g}h+{job.overhead / 3600:g}h"
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
