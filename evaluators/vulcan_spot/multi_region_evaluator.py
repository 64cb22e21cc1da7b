"""The evaluator of the task `spot_multi`: availability in several regions and jobs in, dollars out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.evaluator import BaselineKind, Instance
from vulcan.kept import kept_metrics
from vulcan.task import Json, Metrics, Split
from vulcan_spot.evaluator import check_names, digest_of
from vulcan_spot.job import Job, Prices
from vulcan_spot.metrics import metrics_of
from vulcan_spot.plan import environments_of, instance_of, job_of, jobs_of, prices_of, runs_in
from vulcan_spot.simulate import BOUND, BOUND_VERSION
from vulcan_spot.simulate_regions import REGION_BASELINES, RegionRuns, RegionWindows, simulate_regions
from vulcan_spot.windows import Place, places_of
from vulcan_traces.spot import EMBEDDED_REGIONS, SpotTrace, load_spot

BETWEEN_REGIONS = "::"
"""Stands between the regions of an environment in a setting."""

_PROBED = 2
"""Windows of each searched instance whose decisions tell policies apart."""

_NAMED = 3
"""Regions whose names stand in an instance's name."""

Regions = tuple[tuple[SpotTrace, ...], ...]


class MultiRegionEvaluator:
    """An instance is a set of regions with a job: the same job is run in each window of time, from region 0 on.

    Windows are cut and divided among splits as in `vulcan_spot.evaluator.SpotEvaluator`, at the same times in all
    regions.
    """

    def __init__(self) -> None:
        self._regions: dict[tuple[str, str | None, int], Regions] = {}
        self._windows: dict[tuple[str, str], RegionWindows] = {}
        self._probes: tuple[tuple[RegionWindows, Job, Prices], ...] | None = None

    def instances(self, settings: Mapping[str, Json], split: Split) -> Sequence[Instance]:
        """See `vulcan.evaluator.Evaluator`."""
        given = cast(list[str], settings["trace"] or [])
        jobs = jobs_of(settings)
        prices_of(settings)
        longest = max(job.deadline for job in jobs)
        embedded = {part: [BETWEEN_REGIONS.join(specs) for specs in sets] for part, sets in EMBEDDED_REGIONS.items()}
        found = []
        for spec, part in environments_of(given, embedded, split):
            source: dict[str, Json] = {"trace": spec, "meaning": settings["meaning"], "nodes": settings["nodes"]}
            regions = self._load(source)
            count = runs_in(settings, part, bool(given))
            places = places_of(_shortest(regions), longest, count, part[1], part[2], spec)
            windows: list[Json] = [list(place) for place in places]
            digest = digest_of([trace for traces in regions for trace in traces])
            parameters = {**source, "regions": len(regions), "digest": digest, "windows": windows}
            found += [instance_of(_label(regions), part, job, settings, parameters) for job in jobs]
        check_names(found)
        return tuple(found)

    def prepare(self, instances: Sequence[Instance]) -> None:
        """See `vulcan.evaluator.Evaluator`."""
        from vulcan.anvil.jit import warm_up
        from vulcan_spot import regions_kernel  # noqa: F401 - compiles it, or loads it

        warm_up()
        for instance in instances:
            self._windows_of(instance)
        searched = [instance for instance in instances if instance.split == "train"] or instances
        probes = []
        for instance in searched:
            whole = self._windows_of(instance)
            few = RegionWindows(whole.gap, whole.available, whole.begins[:_PROBED], whole.ends[:_PROBED])
            probes.append((few, job_of(instance.parameters), prices_of(instance.parameters)))
        self._probes = tuple(probes)

    def evaluate(self, policy: Policy, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`; the metrics are those of `metrics_of`, and `moves`, the mean of a run."""
        return self._metrics(self._run(policy, instance), instance)

    def decisions(self, policy: Policy) -> str:
        """See `vulcan.evaluator.OffersDecisions`: a digest of what runs where in each tick of some of the windows."""
        if self._probes is None:
            raise ValueError("decisions are known only after prepare")
        digest = 0
        for windows, job, prices in self._probes:
            made = simulate_regions(policy, windows, job, prices).decisions
            assert made is not None
            digest = (digest * 6364136223846793005 + made + 1) % 2**64
        return f"{digest:016x}"

    def baselines(self) -> Mapping[str, BaselineKind]:
        """See `vulcan.evaluator.Evaluator`."""
        return {**dict.fromkeys(REGION_BASELINES, "baseline"), BOUND: "bound"}

    def evaluate_baseline(self, name: str, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`; the bound is kept on disk by availability, windows and job."""
        if name != BOUND:
            return self._metrics(self._run(name, instance), instance)
        of: dict[str, Json] = {k: v for k, v in instance.parameters.items() if k not in ("trace", "meaning")}
        return kept_metrics(
            ["spot regions", name, BOUND_VERSION, of], lambda: self._metrics(self._run(name, instance), instance)
        )

    def _run(self, who: Policy | str, instance: Instance) -> RegionRuns:
        p = instance.parameters
        return simulate_regions(who, self._windows_of(instance), job_of(p), prices_of(p))

    def _metrics(self, runs: RegionRuns, instance: Instance) -> Metrics:
        p = instance.parameters
        assert runs.moves is not None
        measured = metrics_of(runs, self._windows_of(instance).gap, job_of(p), prices_of(p))
        return {**measured, "moves": float(runs.moves.mean())}

    def _load(self, source: Mapping[str, Any]) -> Regions:
        key = (source["trace"], source["meaning"], source["nodes"])
        if key not in self._regions:
            self._regions[key] = load_regions(source["trace"], source["meaning"], source["nodes"])
        return self._regions[key]

    def _windows_of(self, instance: Instance) -> RegionWindows:
        p = cast(dict[str, Any], instance.parameters)
        key = (p["digest"], str(p["windows"]))
        if key not in self._windows:
            places = [cast(Place, tuple(place)) for place in p["windows"]]
            self._windows[key] = RegionWindows.of(self._load(p), places)
        return self._windows[key]


def load_regions(spec: str, meaning: str | None, nodes: int) -> Regions:
    """The traces of each region: of a directory each file, of specifications with `::` between them each one.

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


def _shortest(regions: Regions) -> tuple[SpotTrace, ...]:
    """Of every window the trace of the region in which it is shortest."""
    return tuple(min(together, key=lambda trace: trace.ticks) for together in zip(*regions, strict=True))


def _label(regions: Regions) -> str:
    names = [traces[0].name for traces in regions]
    if len(names) <= _NAMED:
        return "+".join(names)
    return "+".join(names[: _NAMED - 1]) + f"+{len(names) - _NAMED + 1}"
