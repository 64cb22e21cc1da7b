"""Base class of the evaluators of the two spot tasks."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.baseline_cache import cached_metrics
from vulcan.errors import UserError
from vulcan.evaluator import BaselineKind, Instance
from vulcan.task import Json, Metrics, Split
from vulcan_spot.findings import SpotFindings
from vulcan_spot.job import SECONDS, Prices, SafetyNet, SpotJob
from vulcan_spot.plan import (
    USUAL_MULTI,
    USUAL_SINGLE,
    UsualJob,
    are_regional,
    environments_of,
    instance_of,
    job_of,
    jobs_of,
    late_under_both,
    net_of,
    prices_of,
    runs_in,
)
from vulcan_spot.runs import JobRuns, late_there_too
from vulcan_spot.simulate import BASELINES, BOUND, BOUND_VERSION, REGION_BASELINES, simulate, simulate_regions
from vulcan_spot.windows import Place, Windows, places_of, room
from vulcan_traces.spot import EMBEDDED_REGIONS, EMBEDDED_SPOT, PRICED_REGIONS, SpotTrace, load_spot

# Metrics of an instance: many runs of one job in one environment.


def metrics_of(runs: JobRuns, gap: int, job: SpotJob) -> dict[str, float]:
    """Means over all runs, of which none is left out.

    Costs are in dollars; `std_cost` is the standard deviation over runs. `missed` is the share of runs that missed the
    deadline, `latest_h` by how many hours the worst did.
    """
    hours = gap / SECONDS
    mean = float(runs.cost.mean())
    late = np.maximum(runs.finished - job.deadline, 0)
    return {
        "mean_cost": mean,
        "std_cost": float(runs.cost.std()),
        "worst_cost": float(runs.cost.max()),
        "missed": float((late > 0).mean()),
        "latest_h": float(late.max()) / SECONDS,
        "runs": float(len(runs.cost)),
        "finished_h": float(runs.finished.mean()) / SECONDS,
        "spot_h": float(runs.spot_ticks.mean()) * hours,
        "on_demand_h": float(runs.on_demand_ticks.mean()) * hours,
        "starts": float(runs.starts.mean()),
        "preemptions": float(runs.preemptions.mean()),
        "overruled": float(runs.overruled.mean()),
    }


def public_metrics(runs: JobRuns, job: SpotJob, prices: Prices) -> dict[str, float]:
    """Metrics of the public leaderboard, of runs under its rules.

    `public_score` is from 0 (the work done on demand) to 100 (all of it on spot, without a single start-up):
    clip((OD - cost) / (OD - SPOT)) * 100. A missed deadline costs nothing there but the hours that it takes.
    """
    missed = runs.finished > job.deadline
    cost = float((runs.cost - prices.missed * missed).mean())
    return {"public_score": public_score(cost, job, prices), "public_missed": float(missed.mean())}


def public_bill(runs: JobRuns, windows: Windows, prices: Prices) -> NDArray[np.float64]:
    """Dollars of each run as the public evaluator for several regions bills: all its hours on spot at one price.

    That is the price, at the window's begin, of the region where the job is when it is done.
    """
    assert windows.prices is not None
    assert runs.ended_in is not None
    spot = windows.prices[runs.ended_in, windows.begins]
    return np.asarray((runs.spot_ticks * spot + runs.on_demand_ticks * prices.on_demand) * windows.gap / SECONDS)


def least_bill(windows: Windows, job: SpotJob, prices: Prices) -> NDArray[np.float64]:
    """Dollars of each run that no policy can get below as `public_bill` counts: all of it at the lowest price."""
    least = []
    for window in range(len(windows.begins)):
        one = windows.single(window)
        assert one.prices is not None
        lowest = np.full_like(one.prices, one.prices[:, one.begins[0]].min())
        runs = simulate_regions(BOUND, replace(one, prices=lowest), job, prices, "published")
        least.append(runs.cost[0] - prices.missed * (runs.finished[0] > job.deadline))
    return np.array(least)


def public_score(cost: float, job: SpotJob, prices: Prices) -> float:
    """From 0 to 100; 0 where on-demand and spot cost the same."""
    on_demand, spot = (price * job.duration / SECONDS for price in (prices.on_demand, prices.spot))
    return 100 * min(1.0, max(0.0, (on_demand - cost) / (on_demand - spot))) if on_demand > spot else 0.0


_PROBED = 2
"""Windows of each searched instance whose decisions tell policies apart."""

Regions = tuple[tuple[SpotTrace, ...], ...]
"""The traces of each region: one trace, which is cut into windows, or several, which are windows."""


class WindowsEvaluator(SpotFindings):
    """An instance is an environment with a job: the same job is run in each of the environment's windows.

    A long trace is cut along time, and each split has windows from its own part of it; of ready-made windows each split
    has those that lie in its part. Windows are independent runs: nothing is carried from one to the next.
    """

    baseline_names: ClassVar[Iterable[str]]
    """Names of the baselines, excluding the bound."""

    usual_job: ClassVar[UsualJob]

    cache_name: ClassVar[str]
    """Name of this evaluator in the keys of cached results."""

    def __init__(self) -> None:
        super().__init__()
        self._loaded: dict[tuple[str, str | None, int], Regions] = {}
        self._windows: dict[tuple[str, str, str | None], Windows] = {}
        self._probes: tuple[tuple[Windows, SpotJob, Prices, SafetyNet], ...] | None = None

    @abstractmethod
    def load(self, spec: str, meaning: str | None, nodes: int) -> Regions:
        """Return the traces of an environment. Raises UserError."""

    @abstractmethod
    def embedded_with(self, priced: bool) -> Mapping[str, Sequence[str]]:
        """Return the default environments, by split."""

    @abstractmethod
    def label(self, spec: str, regions: Regions) -> str:
        """Return a short name of an environment."""

    @abstractmethod
    def details(self, regions: Regions) -> Mapping[str, Json]:
        """Return the parameters of an environment that are specific to this evaluator."""

    @abstractmethod
    def windows_at(self, regions: Regions, places: Sequence[Place], priced: bool) -> Windows:
        """Return the windows of an environment at these places, with the prices of the traces if these count."""

    def instances(self, settings: Mapping[str, Json], split: Split) -> Sequence[Instance]:
        """See `vulcan.evaluator.Evaluator`."""
        given = cast(list[str], settings["trace"] or [])
        prices = prices_of(settings)
        priced = are_regional(settings)
        kind: dict[str, Json] = {"meaning": settings["meaning"], "nodes": settings["nodes"]}
        loaded = [
            (spec, part, self._load({"trace": spec, **kind}))
            for spec, part in environments_of(given, self.embedded_with(priced), split)
        ]
        shortest = min(room(_shortest(regions), *part[1:]) for _, part, regions in loaded)
        jobs = jobs_of(settings, self.usual_job, shortest)
        longest = max(job.deadline for job in jobs)
        found: list[Instance] = []
        for spec, part, regions in loaded:
            source: dict[str, Json] = {"trace": spec, **kind}
            count = runs_in(settings, part, bool(given))
            places = places_of(_shortest(regions), longest, count, part[1], part[2], spec)
            parameters: dict[str, Json] = {
                **source,
                **self.details(regions),
                "digest": _digest(regions),
                "windows": [list(place) for place in places],
            }
            if priced:
                parameters["prices"] = _digest_of_prices(regions, prices, spec)
            found += [instance_of(self.label(spec, regions), part, job, settings, parameters) for job in jobs]
        _check_names(found)
        return tuple(found)

    def prepare(self, instances: Sequence[Instance]) -> None:
        """See `vulcan.evaluator.Evaluator`."""
        from vulcan.anvil.native.jit import warm_up
        from vulcan_spot.kernels import engine as kernel  # noqa: F401 - compiles it, or loads it

        warm_up()
        for instance in instances:
            self._windows_of(instance)
        searched = [instance for instance in instances if instance.split == "train"] or instances
        probes = []
        for instance in searched:
            whole = self._windows_of(instance)
            few = replace(whole, begins=whole.begins[:_PROBED], ends=whole.ends[:_PROBED])
            of = instance.parameters
            probes.append((few, job_of(of), prices_of(of), net_of(of)))
        self._probes = tuple(probes)

    def evaluate(self, policy: Policy, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`; the metrics are those of `metrics_of`."""
        return self._measure(policy, instance)

    def decisions(self, policy: Policy) -> str:
        """See `vulcan.evaluator.Evaluator`: a digest of what runs in each tick of some of the windows."""
        if self._probes is None:
            raise ValueError("decisions are known only after prepare")
        digest = 0
        for windows, job, prices, net in self._probes:
            for rules in _scored_under(net):
                made = self.simulate(policy, windows, job, prices, rules).decisions
                assert made is not None
                digest = (digest * 6364136223846793005 + made + 1) % 2**64
        return f"{digest:016x}"

    def baselines(self) -> Mapping[str, BaselineKind]:
        """See `vulcan.evaluator.Evaluator`."""
        return {**dict.fromkeys(self.baseline_names, "baseline"), BOUND: "oracle"}

    def evaluate_baseline(self, name: str, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`; the bound is cached on disk by availability, windows and job."""
        if name != BOUND:
            return self._measure(name, instance)
        of: dict[str, Json] = {k: v for k, v in instance.parameters.items() if k not in ("trace", "meaning")}
        return cached_metrics([self.cache_name, name, BOUND_VERSION, of], lambda: self._measure(name, instance))

    def metrics(self, runs: JobRuns, gap: int, job: SpotJob) -> dict[str, float]:
        """Return the metrics of the runs of an instance."""
        return metrics_of(runs, gap, job)

    def public_metrics(
        self, who: Policy | str, runs: JobRuns, windows: Windows, job: SpotJob, prices: Prices
    ) -> dict[str, float]:
        """Return the metrics of the public leaderboard, of runs under its rules."""
        return public_metrics(runs, job, prices)

    def _measure(self, who: Policy | str, instance: Instance) -> Metrics:
        windows = self._windows_of(instance)
        of = instance.parameters
        job, prices, net = job_of(of), prices_of(of), net_of(of)
        runs = {rules: self.simulate(who, windows, job, prices, rules) for rules in _scored_under(net)}
        own = runs[net]
        if late_under_both(of) and who != BOUND:
            own = late_there_too(own, runs["published"], job, prices)
        measured = self.metrics(own, windows.gap, job)
        return {**measured, **self.public_metrics(who, runs["published"], windows, job, prices)}

    def _load(self, source: Mapping[str, Any]) -> Regions:
        key = (source["trace"], source["meaning"], source["nodes"])
        if key not in self._loaded:
            self._loaded[key] = self.load(*key)
        return self._loaded[key]

    def _windows_of(self, instance: Instance) -> Windows:
        p = cast(dict[str, Any], instance.parameters)
        key = (p["digest"], str(p["windows"]), p.get("prices"))
        if key not in self._windows:
            places = [cast(Place, tuple(place)) for place in p["windows"]]
            self._windows[key] = self.windows_at(self._load(p), places, "prices" in p)
        return self._windows[key]


def _scored_under(net: SafetyNet) -> tuple[SafetyNet, ...]:
    """Return the rules that an evaluation runs: the instance's, and those of the public leaderboard for its score."""
    return (net,) if net == "published" else (net, "published")


def _shortest(regions: Regions) -> tuple[SpotTrace, ...]:
    """Return for every window the trace of the region in which it is shortest."""
    return tuple(min(together, key=lambda trace: trace.ticks) for together in zip(*regions, strict=True))


def _check_names(instances: Sequence[Instance]) -> None:
    """Raises UserError where two instances of a split share a name, for results are distinguished by it."""
    seen = set()
    for instance in instances:
        if (instance.split, instance.name) in seen:
            raise UserError(
                f"two environments or jobs are called {instance.name!r}; "
                "give each once, and directories and files names of their own"
            )
        seen.add((instance.split, instance.name))


def _digest_of_prices(regions: Regions, prices: Prices, spec: str) -> str:
    """Return a hash of the traces' prices. Raises UserError where one has none, or spot costs more than on-demand."""
    content = hashlib.sha256()
    for trace in (trace for traces in regions for trace in traces):
        if trace.prices is None:
            raise UserError(f"{spec}: {trace.name} has no prices; use traces that have them, or --prices one")
        if trace.prices.max() > prices.on_demand:
            raise UserError(
                f"{spec}: spot costs {trace.prices.max():g} dollars an hour in {trace.name}, more than on-demand "
                f"with {prices.on_demand:g}; raise --on-demand-price, or use --prices one"
            )
        content.update(trace.prices.tobytes())
    return content.hexdigest()


def _digest(regions: Regions) -> str:
    """Return a hash of the content of all traces, in their order."""
    return hashlib.sha256("".join(trace.digest for traces in regions for trace in traces).encode()).hexdigest()


# The evaluator of the task `spot_single`: availability and jobs in, dollars out.


class SpotEvaluator(WindowsEvaluator):
    """An environment is one region."""

    simulate = staticmethod(simulate)
    baseline_names = BASELINES
    usual_job = USUAL_SINGLE
    cache_name = "spot"

    def load(self, spec: str, meaning: str | None, nodes: int) -> Regions:
        return (load_spot(spec, meaning=meaning, nodes=nodes),)

    def label(self, spec: str, regions: Regions) -> str:
        """Return the trace's; of several windows, the last telling part of the path."""
        (traces,) = regions
        if len(traces) == 1:
            return traces[0].name
        return _folder_name(spec)

    def details(self, regions: Regions) -> Mapping[str, Json]:
        return {}

    def embedded_with(self, priced: bool) -> Mapping[str, Sequence[str]]:
        return EMBEDDED_SPOT

    def windows_at(self, regions: Regions, places: Sequence[Place], priced: bool) -> Windows:
        return Windows.of(regions[0], places)


# The evaluator of the task `spot_multi`: availability in several regions and jobs in, dollars out.

BETWEEN_REGIONS = "::"
"""Stands between the regions of an environment in a setting."""

_NAMED = 3
"""Regions whose names stand in an instance's name."""


def _joined(sets_by_part: Mapping[str, Sequence[Sequence[str]]]) -> Mapping[str, Sequence[str]]:
    return {part: [BETWEEN_REGIONS.join(specs) for specs in sets] for part, sets in sets_by_part.items()}


_EMBEDDED, _PRICED = _joined(EMBEDDED_REGIONS), _joined(PRICED_REGIONS)


class MultiRegionEvaluator(WindowsEvaluator):
    """An environment is a set of regions: windows are cut at the same times in all, and a job begins in region 0."""

    simulate = staticmethod(simulate_regions)
    baseline_names = REGION_BASELINES
    usual_job = USUAL_MULTI
    cache_name = "spot regions"

    def load(self, spec: str, meaning: str | None, nodes: int) -> Regions:
        return load_regions(spec, meaning, nodes)

    def label(self, spec: str, regions: Regions) -> str:
        """Return the names of the first regions, and how many more there are."""
        names = [traces[0].name for traces in regions]
        if len(regions[0]) > 1:  # windows, named by numbers
            names = [_folder_name(part.strip()) for part in spec.split(BETWEEN_REGIONS)]
        if len(names) <= _NAMED:
            return "+".join(names)
        return "+".join(names[: _NAMED - 1]) + f"+{len(names) - _NAMED + 1}"

    def details(self, regions: Regions) -> Mapping[str, Json]:
        return {"regions": len(regions)}

    def windows_at(self, regions: Regions, places: Sequence[Place], priced: bool) -> Windows:
        return Windows.of_regions(regions, places, priced)

    def embedded_with(self, priced: bool) -> Mapping[str, Sequence[str]]:
        return _PRICED if priced else _EMBEDDED

    def metrics(self, runs: JobRuns, gap: int, job: SpotJob) -> dict[str, float]:
        """Besides, `moves`, the mean of a run."""
        return {**super().metrics(runs, gap, job), "moves": float(runs.moves.mean())}

    def public_metrics(
        self, who: Policy | str, runs: JobRuns, windows: Windows, job: SpotJob, prices: Prices
    ) -> dict[str, float]:
        """Besides, `public_bill_score`: by the bill of the public evaluator. With one price it is `public_score`."""
        found = public_metrics(runs, job, prices)
        if windows.prices is None:
            return {**found, "public_bill_score": found["public_score"]}
        bill = least_bill(windows, job, prices) if who == BOUND else public_bill(runs, windows, prices)
        return {**found, "public_bill_score": public_score(float(bill.mean()), job, prices)}


def _folder_name(spec: str) -> str:
    """Return the name of a directory of windows: its last part that says something."""
    parts = [part for part in PurePosixPath(spec).parts if part not in ("/", "traces", "random_start")]
    return parts[-1] if parts else spec


def load_regions(spec: str, meaning: str | None, nodes: int) -> Regions:
    """Return the traces of each region: of a directory each file, of specifications with `::` between them each one.

    Raises UserError where the regions' traces do not go together.
    """
    specs = [part.strip() for part in spec.split(BETWEEN_REGIONS)]
    loaded = [load_spot(part, meaning=meaning, nodes=nodes) for part in specs]
    regions = tuple((trace,) for trace in loaded[0]) if len(loaded) == 1 else tuple(loaded)
    gaps = sorted({trace.gap for traces in regions for trace in traces})
    if len(gaps) > 1:
        raise UserError(f"{spec}: ticks of {' and '.join(map(str, gaps))} seconds; regions need the same")
    counts = sorted({len(traces) for traces in regions})
    if len(counts) > 1:
        raise UserError(f"{spec}: {' and '.join(map(str, counts))} windows; each region needs as many as the others")
    return regions
