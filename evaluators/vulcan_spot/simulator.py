"""The simulators of the two spot tasks: availability and jobs in, dollars out."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, ClassVar

import numpy as np

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.evaluator import BaselineKind, Instance
from vulcan.findings import EvaluatorFinding
from vulcan.simulator import Case, ExplainedSimulator, kinds_of, override, sources, with_folders
from vulcan.simulator.account import Account
from vulcan.simulator.plan import SPLITS
from vulcan.task import Json, Metrics, Split
from vulcan_spot.account import account
from vulcan_spot.job import SECONDS, USUAL_MULTI, USUAL_SINGLE, Prices, SpotJob, UsualJob, jobs_of, say_once
from vulcan_spot.least_cost import MAX_WORK, work_of
from vulcan_spot.runs import Counts, JobRuns, late_there_too
from vulcan_spot.simulate import BOUND, OF_ONE, OF_SEVERAL, simulate
from vulcan_spot.spec import BOTH, SpotSpec
from vulcan_spot.windows import BETWEEN_REGIONS, Regions, Windows, apart, load_regions, places_of, room
from vulcan_spot.workload import describe, hazards
from vulcan_traces.spot import EMBEDDED_REGIONS, EMBEDDED_SPOT, PRICED_REGIONS, SpotTrace, load_spot

MAX_RUNS = 10_000

_PROBED = 2
"""Windows of each searched instance whose decisions tell policies apart."""

_MULTIPLIER = 6364136223846793005


def public_score(cost: float, job: SpotJob, prices: Prices) -> float:
    """From 0 (the work done on demand) to 100 (all of it on spot, without a single start-up)."""
    on_demand, spot = (price * job.duration / SECONDS for price in (prices.on_demand, prices.spot))
    return 100 * min(1.0, max(0.0, (on_demand - cost) / (on_demand - spot))) if on_demand > spot else 0.0


@dataclass(frozen=True, slots=True)
class SpotResult:
    """Runs of an instance, and those under the published safety net if they count too."""

    runs: JobRuns
    published: JobRuns | None
    spec: SpotSpec
    gap: int

    @property
    def decisions(self) -> int:
        made = [runs.decisions or 0 for runs in (self.runs, self.published) if runs is not None]
        return made[0] if len(made) == 1 else (made[0] + 1) * _MULTIPLIER + made[1]

    def metrics(self) -> dict[str, float]:
        """Return means over all runs, of which none is left out, with `moves` where jobs may.

        Costs are in dollars; `std_cost` is the standard deviation over runs. `missed` is the share of runs that missed
        the deadline, `latest_h` by how many hours the worst did. Under the published rules, `public_score` is that of
        the public leaderboard, where a missed deadline costs nothing but the hours that it takes.
        """
        runs, job, hours = self.runs, self.spec.job, self.gap / SECONDS
        late = np.maximum(runs.finished - job.deadline, 0)
        metrics = {
            "mean_cost": float(runs.cost.mean()),
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
        if self.spec.regions > 0:
            metrics["moves"] = float(runs.moves.mean())
        if self.spec.net == "published":
            cost = float((runs.cost - self.spec.missed_cost * (late > 0)).mean())
            metrics |= {"public_score": public_score(cost, job, self.spec.costs), "public_missed": metrics["missed"]}
        return metrics


class WindowsSimulator(ExplainedSimulator[SpotSpec, Windows, SpotResult]):
    """An instance is an environment with a job: the same job is run in each of the environment's windows.

    A long trace is cut along time, and each split has windows from its own part of it; of ready-made windows each split
    has those that lie in its part. Windows are independent runs: nothing is carried from one to the next.
    """

    spec = SpotSpec
    kernels = ("vulcan_spot.kernels.engine",)
    unmeasured = ("trace", "meaning")

    migrates: ClassVar[bool] = False
    """Whether a job may move to another region."""

    usual_job: ClassVar[UsualJob]

    @abstractmethod
    def load_traces(self, source: str, meaning: str | None, nodes: int) -> Regions:
        """Return the traces of an environment. Raises UserError."""

    @abstractmethod
    def embedded(self, priced: bool) -> Mapping[str, Sequence[str]]:
        """Return the default environments, by split."""

    @abstractmethod
    def label(self, source: str, regions: Regions, folders: int | None = None) -> str:
        """Return a short name of an environment; a longer one, with so many directories, if that is not enough."""

    @override
    def cases(self, settings: Mapping[str, Json], split: Split) -> Iterable[Case[SpotSpec]]:
        s: Any = settings
        costs = Prices(s["on_demand_price"], s["spot_price"], s["missed_cost"])
        given, priced = s["trace"] or (), s.get("prices") == "regions"
        plan = sorted(sources(given, self.embedded(priced), split), key=lambda one: SPLITS.index(one[1]))
        environments = {source: self._traces(source, s["meaning"], s["nodes"]) for source, *_ in plan}
        shortest = {source: _shortest(regions) for source, regions in environments.items()}
        jobs = jobs_of(s, self.usual_job, min(room(shortest[source], *share) for source, _, share in plan))
        longest = max(job.deadline for job in jobs)
        labels = {source: self.label(source, regions) for source, regions in environments.items()}
        if not given and split.by == "none":  # embedded ones of several splits, which are one set now, share names
            labels = {source: f"{labels[source]}-{part}" for source, part, _ in plan}
        for source, part, share in plan:
            regions = environments[source]
            count = _runs_in(s["windows"], share)
            windows = places_of(shortest[source], longest, count, *share, source)
            digest = _digest(regions)
            prices = _digest_of_prices(regions, costs.on_demand, source) if priced else None
            for job in jobs:
                spec = SpotSpec(
                    trace=source,
                    meaning=s["meaning"],
                    nodes=s["nodes"],
                    regions=len(regions) if self.migrates else 0,
                    digest=digest,
                    windows=windows,
                    prices=prices,
                    duration_s=job.duration,
                    deadline_s=job.deadline,
                    overhead_s=job.overhead,
                    **{name: s[name] for name in ("on_demand_price", "spot_price", "missed_cost", "safety_net")},
                )
                hours = f"{job.deadline / SECONDS:.4g}h+{job.overhead / SECONDS:.4g}h"
                yield Case(f"{labels[source]}@{hours}", part, spec, source if given else "")

    @override
    def longer_name(self, case: Case[SpotSpec], folders: int) -> str:
        if not folders:
            return case.name
        regions = self._traces(case.path, case.spec.meaning, case.spec.nodes)
        return f"{self.label(case.path, regions, folders - 1)}@{case.name.rpartition('@')[2]}"

    @override
    def load(self, spec: SpotSpec) -> Windows:
        regions = self._traces(spec.trace, spec.meaning, spec.nodes)
        if spec.regions == 0:
            return Windows.of(regions[0], spec.windows)
        return Windows.of_regions(regions, spec.windows, spec.prices is not None)

    @override
    def source(self, spec: SpotSpec) -> object:
        return spec.digest, spec.windows, spec.prices

    @override
    def run(self, who: Policy | str, spec: SpotSpec, workload: Windows, seconds: Counts | None = None) -> SpotResult:
        """Run the job in each window; `seconds` as in `vulcan_spot.simulate.simulate`.

        Under `both` a run is late, and pays for it, where it would be under the published safety net.
        """
        job, costs = spec.job, spec.costs
        runs = simulate(who, workload, job, costs, spec.net, seconds)
        published = None
        if spec.safety_net == BOTH and who != BOUND:
            published = simulate(who, workload, job, costs, "published")
            runs = late_there_too(runs, published, job, costs)
        return SpotResult(runs, published, spec, workload.gap)

    @override
    def baselines_on(self, instances: Sequence[Instance]) -> Mapping[str, BaselineKind]:
        """Return the baselines without the oracle where that would take longer than a search; a log warning says so."""
        work = sum(work_of(windows, spec.job) for spec, windows in map(self.at, instances))
        if work <= MAX_WORK:
            return self.known
        say_once(
            f"{BOUND} is left out, for it would take {work / 6e10:,.0f} minutes or more; fewer --windows, regions or "
            "jobs have it"
        )
        return {name: kind for name, kind in self.known.items() if name != BOUND}

    @override
    def windows(self, instance: Instance, count: int) -> Sequence[Instance]:
        """Return windows that share no time: fewer than `count` where the job takes longer; none where one fits."""
        blocks = apart(self.spec_of(instance).windows, count)
        return [
            self.like(instance, f"{instance.name} window {n}", instance.split, windows=block)
            for n, block in enumerate(blocks, 1)
            if len(blocks) > 1
        ]

    @override
    def probe(self, spec: SpotSpec) -> SpotSpec:
        return replace(spec, windows=spec.windows[:_PROBED])

    @override
    def workload(self, instance: Instance) -> Sequence[EvaluatorFinding]:
        spec, windows = self.at(instance)
        return describe(windows, spec.job, spec.costs)

    @override
    def hazards(self, instance: Instance) -> Sequence[EvaluatorFinding]:
        spec, windows = self.at(instance)
        return hazards(windows, spec.job)

    @override
    def account_of(self, who: Policy | str, name: str, spec: SpotSpec, workload: Windows) -> Account:
        """Return the account of dollars by cause; of the least cost, which tells no causes, of all dollars."""
        from vulcan_spot.kernels.engine import USES

        if who == BOUND:
            return Account(name, "run", "dollars", {"at the least": self.run(who, spec, workload).runs.cost})
        seconds = np.zeros((len(workload.begins), USES), np.int64)
        runs = self.run(who, spec, workload, seconds).runs
        return account(name, runs, seconds, workload, spec.job, spec.costs)

    @override
    def quality(self, metrics: Metrics) -> float:
        return -metrics["mean_cost"]

    @override
    def beside(self, instance: Instance) -> Sequence[str]:
        """Return the least cost, if it can be computed."""
        spec, windows = self.at(instance)
        return [BOUND] if work_of(windows, spec.job) <= MAX_WORK else []

    def _traces(self, source: str, meaning: str | None, nodes: int) -> Regions:
        return self.once("traces", (source, meaning, nodes), lambda: self.load_traces(source, meaning, nodes))


class SpotSimulator(WindowsSimulator):
    """An environment is one region."""

    known = kinds_of(OF_ONE, (BOUND,))
    usual_job = USUAL_SINGLE
    caches_baselines = True

    @override
    def load_traces(self, source: str, meaning: str | None, nodes: int) -> Regions:
        return (load_spot(source, meaning=meaning, nodes=nodes),)

    @override
    def embedded(self, priced: bool) -> Mapping[str, Sequence[str]]:
        return EMBEDDED_SPOT

    @override
    def label(self, source: str, regions: Regions, folders: int | None = None) -> str:
        """Return the trace's; of several windows, the last telling part of the path."""
        (traces,) = regions
        return with_folders(source, traces[0].name if len(traces) == 1 else _folder_name(source), folders or 0)


_NAMED = 3
"""Regions whose names stand in an instance's name."""


def _joined(sets_by_part: Mapping[str, Sequence[Sequence[str]]]) -> Mapping[str, Sequence[str]]:
    return {part: [BETWEEN_REGIONS.join(specs) for specs in sets] for part, sets in sets_by_part.items()}


_EMBEDDED, _PRICED = _joined(EMBEDDED_REGIONS), _joined(PRICED_REGIONS)


class RegionsSimulator(WindowsSimulator):
    """An environment is a set of regions: windows are cut at the same times in all, and a job begins in region 0."""

    migrates = True
    known = kinds_of(OF_SEVERAL, (BOUND,))
    usual_job = USUAL_MULTI
    caches_baselines = True

    @override
    def load_traces(self, source: str, meaning: str | None, nodes: int) -> Regions:
        return load_regions(source, meaning, nodes)

    @override
    def embedded(self, priced: bool) -> Mapping[str, Sequence[str]]:
        return _PRICED if priced else _EMBEDDED

    @override
    def label(self, source: str, regions: Regions, folders: int | None = None) -> str:
        """Return the names of the first regions, and how many more there are; of a longer label, those of all."""
        names = [traces[0].name for traces in regions]
        places = [part.strip() for part in source.split(BETWEEN_REGIONS)]
        if len(regions[0]) > 1:  # windows, named by numbers
            names = [_folder_name(place) for place in places]
        if folders is not None:
            if len(places) == 1:  # a directory with a file for each region
                places = [f"{source}/{name}" for name in names]
            names = [with_folders(place, name, folders) for place, name in zip(places, names, strict=True)]
        elif len(names) > _NAMED:
            return "+".join(names[: _NAMED - 1]) + f"+{len(names) - _NAMED + 1}"
        return "+".join(names)


def _folder_name(spec: str) -> str:
    """Return the name of a directory of windows: its last part that says something."""
    parts = [part for part in PurePosixPath(spec).parts if part not in ("/", "traces", "random_start")]
    return parts[-1] if parts else spec


def _runs_in(count: int, share: tuple[float, float]) -> int:
    """Return how many windows a share of an environment has. Raises UserError for too many in all."""
    if not 1 <= count <= MAX_RUNS:
        raise UserError(f"{count} windows: from 1 to {MAX_RUNS:,} are needed")
    return max(1, round(count * (share[1] - share[0])))


def _shortest(regions: Regions) -> tuple[SpotTrace, ...]:
    """Return for every window the trace of the region in which it is shortest."""
    return tuple(min(together, key=lambda trace: trace.ticks) for together in zip(*regions, strict=True))


def _digest_of_prices(regions: Regions, on_demand: float, source: str) -> str:
    """Return a hash of the traces' prices. Raises UserError where one has none, or spot costs more than on-demand."""
    content = hashlib.sha256()
    for trace in (trace for traces in regions for trace in traces):
        if trace.prices is None:
            raise UserError(f"{source}: {trace.name} has no prices; use traces that have them, or --prices one")
        if trace.prices.max() > on_demand:
            raise UserError(
                f"{source}: spot costs {trace.prices.max():g} dollars an hour in {trace.name}, more than on-demand "
                f"with {on_demand:g}; raise --on-demand-price, or use --prices one"
            )
        content.update(trace.prices.tobytes())
    return content.hexdigest()


def _digest(regions: Regions) -> str:
    """Return a hash of the content of all traces, in their order."""
    return hashlib.sha256("".join(trace.digest for traces in regions for trace in traces).encode()).hexdigest()
