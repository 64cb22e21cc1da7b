"""The simulator of the cache tasks: traces and cache sizes in, miss ratios out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.evaluator import BaselineKind, Instance, Rung, Sweep
from vulcan.findings import EvaluatorFinding
from vulcan.lessons import Lesson
from vulcan.robustness import GuardSource, SafePolicy
from vulcan.simulator import Case, ExplainedSimulator, label_of, measured_range, override, parse_size, sources
from vulcan.simulator.account import Account
from vulcan.sizes import BYTES
from vulcan.task import Json, Metrics, Split
from vulcan_cache import following
from vulcan_cache.account import Lookback, oracle_for
from vulcan_cache.baselines import BASELINES, REFUSING
from vulcan_cache.lessons import hazards, lessons_of
from vulcan_cache.probe import CacheProbe, ProbeScale
from vulcan_cache.remembered_run import RecentRuns
from vulcan_cache.simulate import CacheResult, check_sample_size, simulate
from vulcan_cache.spatial_sample import make_rungs, sample_of, sampled
from vulcan_cache.spec import CacheSpec, Requests
from vulcan_traces import EMBEDDED, Trace, load_trace
from vulcan_traces.notes import one_line

MIN_WINDOW = 250
"""Minimum requests of a window: in fewer, chance decides the difference of two policies."""

OPENING_SHARE = 0.2
"""The largest cache of an opening, as a share of the bytes that it asks for.

A cache that is 10 % of a whole trace may hold all that a fifth of it asks for: then no policy evicts anything, and
trials cannot tell policies apart. Of 2, 5, 10, 20 and 30 % it chose best on training traces, each left out in turn.
"""

_OPENING = " first "
"""In the name of an opening."""

WARM_UP_EVENTS = 2000
"""Requests on which a new process warms up."""


class CacheSimulator(ExplainedSimulator[CacheSpec, Requests, CacheResult]):
    """An instance is a trace, a cache size and a measured range of requests, always from an empty cache.

    A trace is cut along time: the search is measured on its first requests, the winner chosen on the next, and the
    test on the last, each of the latter two with the cache as the earlier requests left it.
    """

    spec = CacheSpec
    known: Mapping[str, BaselineKind] = {name: baseline.kind for name, baseline in BASELINES.items()}
    kernels = ("vulcan_cache.kernels.ranking", "vulcan_cache.kernels.queues")
    explaining_kernels = ("vulcan_cache.kernels.attribution",)
    caches_baselines = describes_before = True
    least_window = MIN_WINDOW
    unmeasured = (
        "trace", "trace_format", "columns", "skip_bad_lines", "sample_size", "sample_seed", "told", "guard",
    )  # fmt: skip

    embedded: Mapping[str, Sequence[str]] = EMBEDDED
    """Default workloads, by split."""

    def __init__(self) -> None:
        super().__init__()
        self._probe: CacheProbe | None = None
        self._runs = RecentRuns()

    @override
    def cases(self, settings: Mapping[str, Json], split: Split) -> Iterable[Case[CacheSpec]]:
        s: Any = settings
        if "sample_size" in s:
            check_sample_size(s["sample_size"])
        columns = s["columns"]
        if s.get("page_size"):
            columns = ",".join(filter(None, (columns, f"page={s['page_size']}")))
        for source, part, share in sources(s["trace"] or (), self.embedded, split):
            whole = CacheSpec(source, s["trace_format"], columns, s["skip_bad_lines"], unit_sizes=bool(s["unit_sizes"]))
            trace = self.trace_of(whole)
            start, stop = measured_range(share, trace.requests, source, "requests")
            for size in s["cache_size"]:
                capacity = _unit_capacity(size, trace) if whole.unit_sizes else capacity_in_bytes(size, trace)
                spec = replace(
                    whole, digest=trace.digest, capacity=capacity, measure_from=start, measure_to=stop, **self.used(s)
                )
                yield Case(f"{label_of(trace.name)}@{size}", part, spec, source)

    def used(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields that settings of the mechanism give."""
        return {name: settings[name] for name in ("sample_size", "sample_seed") if name in settings}

    @override
    def source(self, spec: CacheSpec) -> object:
        return replace(spec, capacity=0, sample_size=None, sample_seed=None, told="", guard="")

    @override
    def load(self, spec: CacheSpec) -> Requests:
        trace, sizes = self.trace_of(spec), self._counted_sizes(spec)
        start, stop, times = spec.measure_from, spec.measure_to, None
        if spec.one_in > 1:
            start, stop = (int(at) for at in np.searchsorted(trace.times, (start, stop)))
            times = np.asarray(trace.times)[:stop]
        objects, following = np.asarray(trace.objects)[:stop], np.asarray(trace.next_access)[:stop]
        return Requests(objects, sizes[:stop], following, times, start, trace.object_count)

    def trace_of(self, spec: CacheSpec) -> Trace:
        """Return the trace, or a sample of it."""
        key = (spec.trace, spec.trace_format, spec.columns, spec.skip_bad_lines, spec.one_in)
        return self.once("trace", key, lambda: self._made(spec))

    def _made(self, spec: CacheSpec) -> Trace:
        if spec.one_in > 1:
            return sample_of(self.trace_of(replace(spec, one_in=1)), spec.one_in)
        return load_trace(
            spec.trace, format=spec.trace_format, columns=spec.columns, skip_bad_lines=bool(spec.skip_bad_lines)
        )

    def _counted_sizes(self, spec: CacheSpec) -> NDArray[np.int64]:
        trace = self.trace_of(spec)
        if not spec.unit_sizes:
            return np.asarray(trace.sizes)
        return self.once("sizes", trace.digest, lambda: np.ones_like(trace.sizes))

    @override
    def run(
        self, who: Policy | str, spec: CacheSpec, workload: Requests, record: NDArray[Any] | None = None
    ) -> CacheResult:
        """Run a policy or a baseline; `record` receives the history of `simulate`, of a baseline its misses."""
        r = workload
        if not isinstance(who, str):
            return simulate(
                who, r.objects, r.sizes, spec.capacity, **spec.drawn, measure_from=r.measure_from,
                object_count=r.object_count, times=r.times, weight=spec.one_in, history=record,
            )  # fmt: skip
        room = max(1, spec.capacity // spec.one_in)
        counts = BASELINES[who].run(r.objects, r.sizes, r.following, r.object_count, room, r.measure_from, record)
        measured = r.sizes[r.measure_from :]
        return CacheResult(len(measured), int(measured.sum(dtype=np.int64)), *counts)

    @override
    def version_of(self, baseline: str) -> Json:
        return BASELINES[baseline].source

    @override
    def measure(self, who: Policy | str, spec: CacheSpec, workload: Requests) -> Metrics:
        """Run and measure. A policy's latest runs are remembered request by request: a part of the same requests,
        such as a window of the instance, is counted there instead of run again.
        """
        if isinstance(who, str):
            return self.run(who, spec, workload).metrics()
        if spec.guard:
            result = following.simulate_guarded(
                who, spec.guard, workload.objects, workload.sizes, spec.capacity, how=spec.drawn,
                measure_from=workload.measure_from, object_count=workload.object_count,
            )  # fmt: skip
            return result.counts.metrics()
        return self._runs.counted(who, spec, workload, self.run).metrics()

    @override
    def baselines(self) -> Mapping[str, BaselineKind]:
        return {name: kind for name, kind in self.known.items() if name not in REFUSING.values()}

    @override
    def baselines_on(self, instances: Sequence[Instance]) -> Mapping[str, BaselineKind]:
        """Return the baselines; with sizes, the variants that refuse large objects too."""
        return self.baselines() if any(self.spec_of(i).unit_sizes for i in instances) else self.known

    @override
    def prepare(self, instances: Sequence[Instance]) -> None:
        super().prepare(instances)
        specs = [self.spec_of(instance) for instance in instances]
        training = [self.spec_of(i) for i in instances if i.split == "train" and not i.block_of]
        searched = [spec for spec in training if spec.one_in == 1] or specs
        self._probe = CacheProbe.of([self._scale(spec) for spec in searched], searched[0].drawn) if searched else None
        for safe in {spec.guard for spec in specs if spec.guard}:
            following.warm_up(safe)

    @override
    def decisions(self, policy: Policy) -> str:
        """Return a digest of the objects that the policy evicts, in order."""
        if self._probe is None:
            raise ValueError("decisions are known only after prepare")
        return self._probe.digest(policy)

    def _scale(self, spec: CacheSpec) -> ProbeScale:
        trace = self.trace_of(replace(spec, one_in=1))
        size = 1.0 if spec.unit_sizes else max(1.0, trace.footprint / trace.object_count)
        return ProbeScale(spec.measure_to, min(trace.object_count, spec.capacity / size), size)

    # Instances, and others made of them

    @override
    def why_indifferent(self, instance: Instance) -> str | None:
        """Return that a cache holds everything, or nothing, or nothing that is requested again."""
        spec, requests = self.at(instance)
        if not len(requests.objects):
            return None
        footprint, _ = _footprint(requests)
        if spec.capacity >= footprint:
            return (
                f"the cache of {spec.capacity:,} bytes holds all {footprint:,} bytes requested up to there, and "
                "nothing is ever evicted; choose a smaller --cache-size"
            )
        smallest = int(requests.sizes.min())
        if spec.capacity < smallest:
            return (
                f"no object fits into the cache of {spec.capacity:,} bytes, the smallest has {smallest:,}; choose a "
                "larger --cache-size (a number is bytes: 100obj for objects, 10% for a share of the footprint)"
            )
        if _first_requests(requests)[requests.measure_from :].all():
            return "no object that is measured was requested before, and every policy misses all; give a longer trace"
        return None

    @override
    def notes(self, instance: Instance) -> Sequence[str]:
        trace = self.trace_of(self.spec_of(instance))
        return [f"{trace.name}: {one_line(trace.notes)}"] if trace.notes else []

    @override
    def sweep(self, instance: Instance) -> Sweep:
        """Return caches from an eighth of the instance's to four times it."""
        steps = self.swept(instance, "capacity")
        able = tuple((text, other) for text, other in steps if self.why_indifferent(other) is None)
        return Sweep("cache size, bytes", "miss_ratio", able)

    @override
    def rungs(self, instances: Sequence[Instance]) -> Sequence[Rung]:
        """Return spatial samples of the traces."""
        return make_rungs(instances, [self._residents(instance) for instance in instances])

    def _residents(self, instance: Instance) -> float:
        """Return about how many objects the cache holds."""
        return self._scale(self.spec_of(instance)).residents

    @override
    def nearby(self, instance: Instance) -> Sequence[Instance]:
        """Return the later half of the requests, and on spatial samples caches of half and double the size."""
        spec = self.spec_of(instance)
        sizes = {"half the cache": max(1, spec.capacity // 2), "double the cache": 2 * spec.capacity}
        others = [self.like(instance, f"{instance.name}, {what}", capacity=size) for what, size in sizes.items()]
        found = [sampled(i, self._residents(i)) for i in others if self.why_indifferent(i) is None]
        middle = (spec.measure_from + spec.measure_to) // 2
        if spec.measure_to - middle >= MIN_WINDOW:
            found.insert(0, self.like(instance, f"{instance.name}, later half", measure_from=middle))
        return found

    @override
    def workload_setting(self) -> str:
        return "trace"

    def opening(self, instance: Instance, first: int) -> Instance:
        """Return one whose first half fills a cache of at most a fifth of what the requests are for."""
        spec = self.spec_of(instance)
        requests = min(first, spec.measure_to)
        _, at = np.unique(np.asarray(self.trace_of(spec).objects)[:requests], return_index=True)
        footprint = int(self._counted_sizes(spec)[at].sum(dtype=np.int64))
        capacity = min(spec.capacity, max(1, int(OPENING_SHARE * footprint)))
        changes = {"capacity": capacity, "measure_from": requests // 2, "measure_to": requests}
        return self.like(instance, f"{instance.name}{_OPENING}{first}", instance.split, **changes)

    @override
    def brief(self, instance: Instance) -> Instance:
        return self.opening(instance, WARM_UP_EVENTS)

    # Several policies in one cache

    @override
    def safe_policies(self) -> Mapping[str, SafePolicy]:
        return following.SAFE_POLICIES

    @override
    def guarded(self, instance: Instance, safe: str) -> Instance:
        return self.like(instance, f"{instance.name}, guarded by {safe}", instance.split, guard=safe)

    @override
    def guard_source(self) -> GuardSource:
        return following.guard_source()

    @override
    def follow(self, policies: Sequence[tuple[Policy, Instance]], metric: str) -> Metrics:
        """Return the metrics of a cache that follows the policies, and `switches`."""
        spec, r = self.at(policies[0][1])
        result = following.simulate_following(
            [(policy, self.spec_of(own).drawn) for policy, own in policies], r.objects, r.sizes, spec.capacity,
            by_bytes=metric == following.BYTES, measure_from=r.measure_from, object_count=r.object_count,
        )  # fmt: skip
        return {**result.counts.metrics(), "switches": float(result.switches)}

    @override
    def following_source(self) -> GuardSource:
        return following.following_source()

    # Findings

    @override
    def workload(self, instance: Instance) -> Sequence[EvaluatorFinding]:
        from vulcan_cache.workload import describe  # with the kernels of fingerprints
        from vulcan_traces.fingerprint import fingerprint

        spec = self.spec_of(instance)
        found = fingerprint(self.trace_of(replace(spec, one_in=1)), first=spec.measure_to)
        described = describe(found, spec.capacity, is_unit=spec.unit_sizes)
        return [*described, *self.hazards(instance)]

    @override
    def hazards(self, instance: Instance) -> Sequence[EvaluatorFinding]:
        spec, requests = self.at(instance)
        return hazards(requests, spec.capacity)

    @override
    def lessons(self, instance: Instance, metric: str) -> Sequence[Lesson]:
        """Return how soon objects come back, by what a policy knows of them."""
        spec, requests = self.at(instance)
        return list(lessons_of(requests, spec.capacity, by_bytes=metric == following.BYTES))

    @override
    def prepare_findings(self, instances: Sequence[Instance]) -> None:
        super().prepare_findings([i for i in instances if self.spec_of(i).one_in == 1])

    @override
    def account_of(self, who: Policy | str, name: str, spec: CacheSpec, workload: Requests) -> Account:
        """Return the account of misses: of a policy by cause, of what left the cache too early or was kept too long."""
        seen = self.once("seen", spec.measured, lambda: self._looked_back(spec, workload))
        if isinstance(who, str):
            return seen.account(name, self._missed(who, spec, workload))
        history = np.zeros(len(workload.objects), np.uint32)
        self.run(who, spec, workload, history)
        return seen.attributed(name, history)

    def _looked_back(self, spec: CacheSpec, requests: Requests) -> Lookback:
        missed = self._missed(oracle_for(requests.sizes), spec, requests)
        return Lookback.of(requests, spec.capacity, _object_size(requests), missed)

    def _missed(self, name: str, spec: CacheSpec, requests: Requests) -> NDArray[np.uint8]:
        record = np.zeros(len(requests.objects), np.uint8)
        self.run(name, spec, requests, record)
        return record

    @override
    def quality(self, metrics: Metrics) -> float:
        return -metrics["misses"]

    @override
    def best_baseline(self, instance: Instance, quality: Callable[[Metrics], float]) -> str:
        """Return that of the highest quality; of an opening, that of an instance before, for to look takes files."""
        look = partial(super().best_baseline, instance, quality)
        if _OPENING in instance.name:
            return self.once("baseline", None, look)
        best = look()
        self.once("baseline", None, lambda: best)
        return best

    @override
    def beside(self, instance: Instance) -> Sequence[str]:
        """Return the oracle."""
        return [oracle_for(self.at(instance)[1].sizes)]


def _unit_capacity(size: str, trace: Trace) -> int:
    """With unit sizes an object is one byte, so that bytes and objects are the same."""
    if size.endswith("%"):
        share = capacity_in_bytes(size, trace) / trace.footprint
        return max(1, round(share * trace.object_count))
    return capacity_in_bytes(size.removesuffix("objects").removesuffix("obj"), trace)


def capacity_in_bytes(text: str, trace: Trace) -> int:
    """Return the capacity in bytes that the text denotes for this trace.

    Bytes (`1000000`, `64MiB`), a share of the trace's footprint (`10%`), or a number of objects of its mean size
    (`1000obj`). Raises UserError where it is none of these, or is less than one byte.
    """
    mean = trace.footprint / trace.object_count
    hint = "bytes (64MiB), a share (10%) or objects (1000obj)"
    size = parse_size(text, {**BYTES, "obj": mean, "objects": mean}, "cache size", hint, whole=trace.footprint)
    if size < 1:
        share = f"; a share is written {100 * size:g}%" if text.strip()[-1:].isdecimal() else ""
        raise UserError(
            f"cache size {text!r} is less than one byte of {trace.name}, whose footprint is {trace.footprint:,} "
            f"bytes{share}"
        )
    return int(size)


def _footprint(requests: Requests) -> tuple[int, int]:
    """Return the bytes of the objects requested up to the last request measured, and their number."""
    is_first = _first_requests(requests)
    return int(requests.sizes[is_first].sum(dtype=np.int64)), int(is_first.sum())


def _first_requests(requests: Requests) -> NDArray[np.bool_]:
    newest = np.maximum.accumulate(requests.objects)  # objects are numbered in order of their first request
    return np.concatenate(([True], newest[1:] > newest[:-1]))


def _object_size(requests: Requests) -> float:
    """Return the mean size of those objects: what comes later is not looked at."""
    footprint, count = _footprint(requests)
    return max(1.0, footprint / count)
