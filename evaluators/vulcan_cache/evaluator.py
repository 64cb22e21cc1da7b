"""Evaluator of the cache tasks: traces and cache sizes in, miss ratios out."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.baseline_cache import cached_metrics
from vulcan.errors import UserError
from vulcan.evaluator import BaselineKind, Instance, Rung, SplitName, Sweep
from vulcan.robustness import GuardSource, SafePolicy
from vulcan.simulator.plan import equal_windows, shares_in_time
from vulcan.task import Json, Metrics, Split
from vulcan_cache import following, guard, shifts
from vulcan_cache.baselines import BASELINES, REFUSING
from vulcan_cache.findings.evaluator import CacheFindings, InstanceRequests
from vulcan_cache.mechanisms import MECHANISMS
from vulcan_cache.openings import fingerprint_of, opening_of
from vulcan_cache.probe import CacheProbe, ProbeScale
from vulcan_cache.remembered_run import LastRun
from vulcan_cache.simulate import CacheResult, check_sample_size, simulate
from vulcan_cache.spatial_sample import make_rungs, sample_of
from vulcan_traces import EMBEDDED, Trace, load_trace
from vulcan_traces.notes import one_line
from vulcan_traces.written_sizes import BYTES_PER_UNIT, split_size

log = logging.getLogger(__name__)

HOW = ("sample_size", "sample_seed")
"""The settings that say how objects are drawn for a policy of the mechanism `sample`."""

MIN_WINDOW = 250
"""Minimum requests of a window: in fewer, chance decides the difference of two policies."""


_SWEPT = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Sizes of a sweep, in those of the instance's cache."""


WARM_UP_EVENTS = 2000
"""Requests on which a new process warms up."""


class CacheEvaluator(CacheFindings):
    """Evaluator whose instances are a trace, a cache size and a measured range of requests, always from an empty cache.

    A trace is cut along time: the search is measured on its first requests, the winner chosen on the next, and the
    test on the last, each of the latter two with the cache as the earlier requests left it.
    """

    embedded: Mapping[str, Sequence[str]] = EMBEDDED
    """Default workloads, by split."""

    def __init__(self) -> None:
        super().__init__()
        self._traces: dict[str, Trace] = {}
        self._sizes: dict[tuple[str, bool], NDArray[np.int64]] = {}
        self._probe: CacheProbe | None = None
        self._last_run = LastRun()

    def instances(self, settings: Mapping[str, Json], split: Split) -> Sequence[Instance]:
        """See `vulcan.evaluator.Evaluator`."""
        if "sample_size" in settings:
            check_sample_size(cast(int, settings["sample_size"]))
        given = cast(list[str], settings["trace"] or [])
        if given:
            plan = [(spec, part, bounds) for spec in given for part, bounds in shares_in_time(split)]
        else:
            embedded = cast(Mapping[SplitName, Sequence[str]], self.embedded)
            plan = [(spec, part, (0.0, 1.0)) for part, specs in embedded.items() for spec in specs]
        found = [
            self._instance(spec, part, bounds, size, settings)
            for spec, part, bounds in plan
            for size in cast(list[str], settings["cache_size"])
        ]
        return tuple(found)

    def mechanism_parameters(self, settings: Mapping[str, Json]) -> dict[str, Json]:
        """Return the mechanism parameters stored in an instance."""
        return _chosen(settings)

    def _instance(
        self, spec: str, part: SplitName, bounds: tuple[float, float], size: str, settings: Mapping[str, Json]
    ) -> Instance:
        source: dict[str, Json] = {
            "trace": spec,
            **{name: settings[name] for name in ("trace_format", "columns", "skip_bad_lines")},
        }
        if settings.get("page_size"):
            source["columns"] = ",".join(
                filter(None, (cast("str | None", source["columns"]), f"page={settings['page_size']}"))
            )
        trace = self._trace(source)
        unit = bool(settings["unit_sizes"])
        start, stop = (round(bound * trace.requests) for bound in bounds)
        if stop <= start:
            raise UserError(f"{spec}: {trace.requests} requests are too few to cut into parts; use --split none")
        capacity = capacity_in_bytes(size, trace) if not unit else _unit_capacity(size, trace)
        return Instance(
            name=f"{_label(trace.name)}@{size}",
            split=part,
            parameters={
                **source,
                "digest": trace.digest,
                "unit_sizes": unit,
                "capacity": capacity,
                "measure_from": start,
                "measure_to": stop,
                "one_in": 1,
                **self.mechanism_parameters(settings),
            },
        )

    def why_indifferent(self, instance: Instance) -> str | None:
        """See `vulcan.evaluator.Evaluator`: a cache that holds everything, or nothing."""
        p = cast(dict[str, Any], instance.parameters)
        requests = self._requests(instance)
        if not len(requests.objects):
            return None
        newest = np.maximum.accumulate(requests.objects)  # objects are numbered in order of their first request
        is_first = np.concatenate(([True], newest[1:] > newest[:-1]))
        footprint = int(requests.sizes[is_first].sum(dtype=np.int64))
        if p["capacity"] >= footprint:
            return (
                f"the cache of {p['capacity']:,} bytes holds all {footprint:,} bytes requested up to there, and "
                "nothing is ever evicted; choose a smaller --cache-size"
            )
        smallest = int(requests.sizes.min())
        if p["capacity"] < smallest:
            return (
                f"no object fits into the cache of {p['capacity']:,} bytes, the smallest has {smallest:,}; choose a "
                "larger --cache-size (a number is bytes: 100obj for objects, 10% for a share of the footprint)"
            )
        return None

    def notes(self, instance: Instance) -> Sequence[str]:
        """See `vulcan.evaluator.Evaluator`."""
        trace = self._trace(instance.parameters)
        return [f"{trace.name}: {one_line(trace.notes)}"] if trace.notes else []

    def sweep(self, instance: Instance) -> Sweep:
        """See `vulcan.evaluator.Evaluator`: caches from an eighth of the instance's to four times it."""
        steps = []
        for factor in _SWEPT:
            capacity = max(1, round(factor * cast(int, instance.parameters["capacity"])))
            other = Instance(f"{instance.name} x {factor:g}", "train", {**instance.parameters, "capacity": capacity})
            if self.why_indifferent(other) is None:
                steps.append((f"{capacity:,} ({factor:g} x)", other))
        return Sweep("cache size, bytes", "miss_ratio", tuple(steps))

    def prepare(self, instances: Sequence[Instance]) -> None:
        """See `vulcan.evaluator.Evaluator`."""
        from vulcan.anvil.native.jit import warm_up

        warm_up()
        for mechanism in MECHANISMS.values():
            mechanism.kernel()
        for instance in instances:
            self._requests(instance)
        self._probe = self._make_probe(instances)
        for safe in {str(i.parameters["guard"]) for i in instances if "guard" in i.parameters}:
            guard.warm_up(safe)

    def evaluate(self, policy: Policy, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`; the metrics are those of `metrics_of`.

        The last run is remembered request by request: a part of the same requests, such as a window of the instance, is
        counted there instead of run again.
        """
        if "guard" in instance.parameters:
            return metrics_of(self.run_guarded(policy, instance).counts)
        if cast(int, instance.parameters["one_in"]) > 1:
            return metrics_of(self.run(policy, instance))
        return metrics_of(self._last_run.counted(policy, instance, self._requests(instance), self.run))

    def run(self, policy: Policy, instance: Instance, history: NDArray[np.uint32] | None = None) -> CacheResult:
        """Run the policy on the instance, and record the history if an array is given (`simulate`)."""
        p = cast(dict[str, Any], instance.parameters)
        requests = self._requests(instance)
        return simulate(
            policy,
            requests.objects,
            requests.sizes,
            p["capacity"],
            **_chosen(p),
            measure_from=requests.measure_from,
            object_count=self._trace(p).object_count,
            times=requests.times,
            weight=p["one_in"],
            history=history,
        )

    def run_guarded(
        self, policy: Policy, instance: Instance, outcome: NDArray[np.uint32] | None = None
    ) -> guard.GuardedResult:
        """Run the policy on an instance that `guarded` gave, and record outcomes if an array is given."""
        p = cast(dict[str, Any], instance.parameters)
        requests = self._requests(instance)
        return guard.simulate_guarded(
            policy,
            p["guard"],
            requests.objects,
            requests.sizes,
            p["capacity"],
            measure_from=requests.measure_from,
            object_count=self._trace(p).object_count,
            outcome=outcome,
            **_chosen(p),
        )

    def shifted(self, instance: Instance) -> Sequence[Instance]:
        """See `vulcan.evaluator.Evaluator`."""
        return shifts.shifted(instance)

    def safe_policies(self) -> Mapping[str, SafePolicy]:
        """See `vulcan.evaluator.Evaluator`."""
        return guard.SAFE_POLICIES

    def guarded(self, instance: Instance, safe: str) -> Instance:
        """See `vulcan.evaluator.Evaluator`."""
        name = f"{instance.name}, guarded by {safe}"
        return replace(instance, name=name, parameters={**instance.parameters, "guard": safe})

    def guard_source(self) -> GuardSource:
        """See `vulcan.evaluator.Evaluator`."""
        return guard.source()

    def follow(self, policies: Sequence[tuple[Policy, Instance]], metric: str) -> Metrics:
        """See `vulcan.evaluator.Evaluator`; the metrics are those of `metrics_of`, and `switches`."""
        instance = policies[0][1]
        p = cast(dict[str, Any], instance.parameters)
        requests = self._requests(instance)
        result = following.simulate_following(
            [(policy, _chosen(own.parameters)) for policy, own in policies],
            requests.objects,
            requests.sizes,
            p["capacity"],
            by_bytes=metric == following.BYTES,
            measure_from=requests.measure_from,
            object_count=self._trace(p).object_count,
        )
        return {**metrics_of(result.counts), "switches": float(result.switches)}

    def following_source(self) -> GuardSource:
        """See `vulcan.evaluator.Evaluator`."""
        return following.source()

    def rungs(self, instances: Sequence[Instance]) -> Sequence[Rung]:
        """See `vulcan.evaluator.Evaluator`: spatial samples of the traces."""
        return make_rungs(instances, [self._scale(instance).residents for instance in instances])

    def windows(self, instance: Instance, count: int) -> Sequence[Instance]:
        """See `vulcan.evaluator.Evaluator`: ranges of requests of equal length."""
        return equal_windows(instance, count, MIN_WINDOW)

    def decisions(self, policy: Policy) -> str:
        """See `vulcan.evaluator.Evaluator`: a digest of the objects that the policy evicts, in order."""
        if self._probe is None:
            raise ValueError("decisions are known only after prepare")
        return self._probe.digest(policy)

    def workload_setting(self) -> str:
        """See `vulcan.evaluator.Evaluator`."""
        return "trace"

    def fingerprint(self, instance: Instance, first: int) -> Mapping[str, float]:
        """See `vulcan.evaluator.Evaluator`: of the first requests (`vulcan_cache.online_fingerprint`)."""
        trace = self._trace(instance.parameters)
        return fingerprint_of(
            instance, trace, self._counted_sizes(trace, bool(instance.parameters["unit_sizes"])), first
        )

    def opening(self, instance: Instance, first: int) -> Instance:
        """See `vulcan.evaluator.Evaluator`: with a cache of at most a fifth of what the requests are for."""
        trace = self._trace(instance.parameters)
        return opening_of(instance, trace, self._counted_sizes(trace, bool(instance.parameters["unit_sizes"])), first)

    def brief(self, instance: Instance) -> Instance:
        """See `vulcan.evaluator.Evaluator`."""
        return self.opening(instance, WARM_UP_EVENTS)

    def events(self, instance: Instance) -> int:
        """See `vulcan.evaluator.Evaluator`."""
        return cast(int, instance.parameters["measure_to"])

    def baselines(self) -> Mapping[str, BaselineKind]:
        """See `vulcan.evaluator.Evaluator`."""
        return {name: baseline.kind for name, baseline in BASELINES.items() if name not in REFUSING}

    def baselines_on(self, instances: Sequence[Instance]) -> Mapping[str, BaselineKind]:
        """See `vulcan.evaluator.Evaluator`: with sizes, the variants that refuse large objects too."""
        if not any(i.parameters["unit_sizes"] for i in instances):
            return {name: baseline.kind for name, baseline in BASELINES.items()}
        return self.baselines()

    def evaluate_baseline(self, name: str, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`; a result is cached on disk by trace, cache size and measured requests."""
        identity = [name, BASELINES[name].version, *self.identity(instance)]
        return cached_metrics(identity, lambda: metrics_of(self.run_baseline(name, instance)))

    def run_baseline(self, name: str, instance: Instance, missed: NDArray[np.uint8] | None = None) -> CacheResult:
        p = cast(dict[str, Any], instance.parameters)
        requests = self._requests(instance)
        misses, missed_bytes, bypassed = BASELINES[name].kernel()(
            requests.objects,
            requests.sizes,
            requests.following,
            self._trace(p).object_count,
            max(1, p["capacity"] // p["one_in"]),
            requests.measure_from,
            missed,
        )
        measured = requests.sizes[requests.measure_from :]
        total = int(measured.sum(dtype=np.int64))
        return CacheResult(len(measured), total, int(misses), int(missed_bytes), int(bypassed))

    def _trace(self, source: Mapping[str, Json]) -> Trace:
        """Return the trace, or what an instance's parameters say is made of it: a perturbed trace, a sample."""
        one_in = cast(int, source.get("one_in", 1))
        shift = cast("str | None", source.get("shift"))
        key = json.dumps(
            [source[name] for name in ("trace", "trace_format", "columns", "skip_bad_lines")]
            + [one_in, shift, source.get("shift_to")]
        )
        if key not in self._traces:
            self._traces[key] = (
                sample_of(self._trace({**source, "one_in": 1}), one_in)
                if one_in > 1
                else shifts.shifted_trace(
                    self._trace({**source, "shift": None, "shift_to": None}), shift, cast(int, source["shift_to"])
                )
                if shift is not None
                else load_trace(
                    cast(str, source["trace"]),
                    format=cast("str | None", source["trace_format"]),
                    columns=cast("str | None", source["columns"]),
                    skip_bad_lines=bool(source["skip_bad_lines"]),
                )
            )
        return self._traces[key]

    def _requests(self, instance: Instance) -> InstanceRequests:
        p = cast(dict[str, Any], instance.parameters)
        trace = self._trace(p)
        start, stop = p["measure_from"], p["measure_to"]
        is_sample = p["one_in"] > 1
        if is_sample:
            start, stop = np.searchsorted(trace.times, (start, stop))
        return InstanceRequests(
            np.asarray(trace.objects)[:stop],
            self._counted_sizes(trace, p["unit_sizes"])[:stop],
            np.asarray(trace.next_access)[:stop],
            np.asarray(trace.times)[:stop] if is_sample else None,
            int(start),
        )

    def _counted_sizes(self, trace: Trace, unit: bool) -> NDArray[np.int64]:
        key = (trace.digest, unit)
        if key not in self._sizes:
            self._sizes[key] = np.ones_like(trace.sizes) if unit else np.asarray(trace.sizes)
        return self._sizes[key]

    def _scale(self, instance: Instance) -> ProbeScale:
        p = cast(dict[str, Any], instance.parameters)
        trace = self._trace({**p, "one_in": 1})
        size = 1.0 if p["unit_sizes"] else max(1.0, trace.footprint / trace.object_count)
        return ProbeScale(p["measure_to"], min(trace.object_count, p["capacity"] / size), size)

    def _make_probe(self, instances: Sequence[Instance]) -> CacheProbe | None:
        """At the scale of the instances that are searched on."""
        searched = [i for i in instances if i.split == "train" and i.parameters["one_in"] == 1] or instances
        if not searched:
            return None
        return CacheProbe.of([self._scale(instance) for instance in searched], _chosen(searched[0].parameters))


def metrics_of(result: CacheResult) -> dict[str, float]:
    """`miss_ratio` and `byte_miss_ratio` (shares of 1) with the counts behind them."""
    return {
        "miss_ratio": result.miss_ratio,
        "byte_miss_ratio": result.byte_miss_ratio,
        "requests": float(result.requests),
        "bytes": float(result.bytes),
        "misses": float(result.misses),
        "missed_bytes": float(result.missed_bytes),
        "bypassed": float(result.bypassed),
    }


def _label(name: str) -> str:
    """Return a trace file's name without endings such as `.oracleGeneral.bin.zst`; a generated trace's unchanged."""
    return name if ":" in name else name.split(".", maxsplit=1)[0] or name


def _unit_capacity(size: str, trace: Trace) -> int:
    """With unit sizes an object is one byte, so that bytes and objects are the same."""
    if size.endswith("%"):
        share = capacity_in_bytes(size, trace) / trace.footprint
        return max(1, round(share * trace.object_count))
    return capacity_in_bytes(size.removesuffix("objects").removesuffix("obj"), trace)


def _chosen(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: settings[name] for name in HOW if name in settings}


def capacity_in_bytes(text: str, trace: Trace) -> int:
    """Return the capacity in bytes that the text denotes for this trace.

    Bytes (`1000000`, `64MiB`), a share of the trace's footprint (`10%`), or a number of objects of its mean size
    (`1000obj`). Raises UserError where it is none of these, or is less than one byte.
    """
    written = split_size(text, "%", "obj", "objects")
    if written is None:
        raise UserError(f"cache size {text!r} is not a size: write bytes (64MiB), a share (10%) or objects (1000obj)")
    number, unit = written
    if number <= 0:
        raise UserError(f"cache size {text!r} is not above 0")
    if unit == "%":
        size = number / 100 * trace.footprint
    elif unit in ("obj", "objects"):
        size = number * trace.footprint / trace.object_count
    else:
        size = number * BYTES_PER_UNIT[unit]
    if size < 1:
        raise UserError(
            f"cache size {text!r} is less than one byte of {trace.name}, whose footprint is {trace.footprint:,} bytes"
        )
    if size > 2**53:
        raise UserError(f"cache size {text!r} is over 2^53 bytes")
    return int(size)
