"""The evaluator of the task `spot_single`: availability and jobs in, dollars out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, cast

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.evaluator import BaselineKind, Instance
from vulcan.kept import kept_metrics
from vulcan.task import Json, Metrics, Split
from vulcan_spot.job import Job, Prices
from vulcan_spot.metrics import metrics_of
from vulcan_spot.plan import environments_of, instance_of, job_of, jobs_of, prices_of, runs_in
from vulcan_spot.simulate import BASELINES, BOUND, BOUND_VERSION, Runs, simulate
from vulcan_spot.windows import Place, Windows, places_of
from vulcan_traces.spot import EMBEDDED_SPOT, SpotTrace, load_spot

_PROBED = 2
"""Windows of each searched instance whose decisions tell policies apart."""


class SpotEvaluator:
    """An instance is an environment with a job: the same job is run in each of the environment's windows.

    A long trace is cut along time, and each split has windows from its own part of it; of ready-made windows each split
    has those that lie in its part. Windows are independent runs: nothing is carried from one to the next.
    """

    def __init__(self) -> None:
        self._traces: dict[tuple[str, str | None, int], tuple[SpotTrace, ...]] = {}
        self._windows: dict[tuple[str, str], Windows] = {}
        self._probes: tuple[tuple[Windows, Job, Prices], ...] | None = None

    def instances(self, settings: Mapping[str, Json], split: Split) -> Sequence[Instance]:
        """See `vulcan.evaluator.Evaluator`."""
        given = cast(list[str], settings["trace"] or [])
        jobs = jobs_of(settings)
        prices_of(settings)
        longest = max(job.deadline for job in jobs)
        found = []
        for spec, part in environments_of(given, EMBEDDED_SPOT, split):
            source: dict[str, Json] = {"trace": spec, "meaning": settings["meaning"], "nodes": settings["nodes"]}
            traces = self._load(source)
            count = runs_in(settings, part, bool(given))
            places = places_of(traces, longest, count, part[1], part[2], spec)
            windows: list[Json] = [list(place) for place in places]
            parameters = {**source, "digest": digest_of(traces), "windows": windows}
            found += [instance_of(label_of(spec, traces), part, job, settings, parameters) for job in jobs]
        check_names(found)
        return tuple(found)

    def prepare(self, instances: Sequence[Instance]) -> None:
        """See `vulcan.evaluator.Evaluator`."""
        from vulcan.anvil.jit import warm_up
        from vulcan_spot import kernel  # noqa: F401 - compiles it, or loads it

        warm_up()
        for instance in instances:
            self._windows_of(instance)
        searched = [instance for instance in instances if instance.split == "train"] or instances
        probes = []
        for instance in searched:
            whole = self._windows_of(instance)
            few = Windows(whole.gap, whole.available, whole.begins[:_PROBED], whole.ends[:_PROBED])
            probes.append((few, job_of(instance.parameters), prices_of(instance.parameters)))
        self._probes = tuple(probes)

    def evaluate(self, policy: Policy, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`; the metrics are those of `metrics_of`."""
        return self._metrics(self._run(policy, instance), instance)

    def decisions(self, policy: Policy) -> str:
        """See `vulcan.evaluator.OffersDecisions`: a digest of what runs in each tick of some of the windows."""
        if self._probes is None:
            raise ValueError("decisions are known only after prepare")
        digest = 0
        for windows, job, prices in self._probes:
            made = simulate(policy, windows, job, prices).decisions
            assert made is not None
            digest = (digest * 6364136223846793005 + made + 1) % 2**64
        return f"{digest:016x}"

    def baselines(self) -> Mapping[str, BaselineKind]:
        """See `vulcan.evaluator.Evaluator`."""
        return {**dict.fromkeys(BASELINES, "baseline"), BOUND: "bound"}

    def evaluate_baseline(self, name: str, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`; the bound is kept on disk by availability, windows and job."""
        if name != BOUND:
            return self._metrics(self._run(name, instance), instance)
        of: dict[str, Json] = {k: v for k, v in instance.parameters.items() if k not in ("trace", "meaning")}
        return kept_metrics(
            ["spot", name, BOUND_VERSION, of], lambda: self._metrics(self._run(name, instance), instance)
        )

    def _run(self, who: Policy | str, instance: Instance) -> Runs:
        p = instance.parameters
        return simulate(who, self._windows_of(instance), job_of(p), prices_of(p))

    def _metrics(self, runs: Runs, instance: Instance) -> Metrics:
        p = instance.parameters
        return metrics_of(runs, self._windows_of(instance).gap, job_of(p), prices_of(p))

    def _load(self, source: Mapping[str, Any]) -> tuple[SpotTrace, ...]:
        key = (source["trace"], source["meaning"], source["nodes"])
        if key not in self._traces:
            self._traces[key] = load_spot(source["trace"], meaning=source["meaning"], nodes=source["nodes"])
        return self._traces[key]

    def _windows_of(self, instance: Instance) -> Windows:
        p = cast(dict[str, Any], instance.parameters)
        key = (p["digest"], str(p["windows"]))
        if key not in self._windows:
            places = [cast(Place, tuple(place)) for place in p["windows"]]
            self._windows[key] = Windows.of(self._load(p), places)
        return self._windows[key]


def label_of(spec: str, traces: Sequence[SpotTrace]) -> str:
    """A short name of an environment: the trace's; of several windows, the last telling part of the path."""
    if len(traces) == 1:
        return traces[0].name
    parts = [part for part in PurePosixPath(spec).parts if part not in ("/", "traces", "random_start")]
    return parts[-1] if parts else spec


def check_names(instances: Sequence[Instance]) -> None:
    """Raises UserError where two instances of a split share a name, for results are told apart by it."""
    seen = set()
    for instance in instances:
        if (instance.split, instance.name) in seen:
            raise UserError(
                f"two environments or jobs are called {instance.name!r}; "
                "give each once, and directories and files names of their own"
            )
        seen.add((instance.split, instance.name))


def digest_of(traces: Sequence[SpotTrace]) -> str:
    """A hash of the content of all of them, in their order."""
    return hashlib.sha256("".join(trace.digest for trace in traces).encode()).hexdigest()
