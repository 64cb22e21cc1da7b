"""The evaluator of the task `memory_tiering`: page counts and machines in, running times out."""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.baseline_cache import cached_metrics
from vulcan.errors import UserError
from vulcan.evaluator import BaselineKind, Instance, Rung, SplitName
from vulcan.simulator.plan import equal_windows, shares_in_time
from vulcan.task import Json, Metrics, Split
from vulcan_tiering.baselines import BASELINES
from vulcan_tiering.baselines.run import run_baseline
from vulcan_tiering.findings import Inputs, TieringFindings
from vulcan_tiering.machine import TIERS, Machine
from vulcan_tiering.page_sample import make_rungs, sample_of
from vulcan_tiering.simulate import AccessSamples, TieringResult, sample_accesses, simulate
from vulcan_traces.memory import MEMORY_WORKLOADS, PageCounts, load_page_counts
from vulcan_traces.written_sizes import BYTES_PER_UNIT, split_size

log = logging.getLogger(__name__)

PROBE_PAGES = 256
"""About as many pages of each training instance tell policies apart by what they move."""


class TieringEvaluator(TieringFindings):
    """An instance is a workload and a machine; a run always starts with no page mapped.

    A trace of one's own is cut along time: the search is measured on its first intervals, the winner chosen on the
    next, and the test on the last, each of the latter two with pages where the earlier intervals left them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[tuple[str, int], PageCounts] = {}
        self._sampled: dict[str, tuple[PageCounts, AccessSamples]] = {}
        self._probes: tuple[Instance, ...] | None = None

    def instances(self, settings: Mapping[str, Json], split: Split) -> Sequence[Instance]:
        """See `vulcan.evaluator.Evaluator`."""
        _check(settings)
        given = cast(list[str], settings["trace"] or [])
        if given:
            plan = [(spec, part, bounds) for spec in given for part, bounds in shares_in_time(split)]
        else:
            sizes_of_pages = cast(list[str], settings.get("workloads", ["small-pages"]))  # as before there was a choice
            plan = [
                (spec, part, (0.0, 1.0))
                for part in ("train", "validation", "test")
                for size in sizes_of_pages
                for spec in MEMORY_WORKLOADS[size][part]
            ]
        sizes = cast(list[str], settings["fast_size"])
        several = {name: _listed(settings[name]) for name in _SEVERAL}
        found = []
        for (spec, part, bounds), size, *chosen in itertools.product(plan, sizes, *several.values()):
            one = dict(zip(several, chosen, strict=True))
            told = "".join(f",{value}" for name, value in one.items() if len(several[name]) > 1)
            found.append(self._instance(spec, part, bounds, size, {**settings, **one}, told))
        return tuple(found)

    def _instance(
        self,
        spec: str,
        part: SplitName,
        bounds: tuple[float, float],
        size: str,
        settings: Mapping[str, Json],
        told: str,
    ) -> Instance:
        page_size = size_in_bytes(cast(str, settings["page_size"]), "page size")
        counts = self._load(spec, page_size)
        page_size = counts.page_size
        start, stop = (round(bound * counts.intervals) for bound in bounds)
        if stop <= start:
            raise UserError(f"{spec}: {counts.intervals} intervals are too few to cut into parts; use --split none")
        capacity = size_in_pages(size, counts.pages, page_size, "fast size")
        limit = size_in_pages(cast(str, settings["migration_limit"]), capacity, page_size, "migration limit")
        return Instance(
            name=f"{_label(counts.name)}@{size}{told}",
            split=part,
            parameters={
                "trace": spec,
                "page_size": page_size,
                "digest": counts.digest,
                "capacity": capacity,
                "limit": limit,
                "measure_from": start,
                "measure_to": stop,
                "one_in": 1,
                **{name: settings[name] for name in _MACHINE + _SAMPLING},
                "sample_cost": settings.get("sample_cost", 0.0),  # a run from before it was a setting has none
            },
        )

    def prepare(self, instances: Sequence[Instance]) -> None:
        """See `vulcan.evaluator.Evaluator`."""
        from vulcan.anvil.native.jit import warm_up
        from vulcan_tiering.kernels import ranking  # noqa: F401 - compiles the kernel, or loads it

        warm_up()
        for instance in instances:
            self._evidence(instance.parameters)
        searched = [i for i in instances if i.split == "train" and i.parameters["one_in"] == 1] or instances
        self._probes = tuple(self._probe(instance) for instance in searched)
        for probe in self._probes:
            self._evidence(probe.parameters)

    def evaluate(self, policy: Policy, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`; the metrics are those of `metrics_of`."""
        return self._with_sampling(metrics_of(self._run(policy, instance.parameters)), instance.parameters)

    def rungs(self, instances: Sequence[Instance]) -> Sequence[Rung]:
        """See `vulcan.evaluator.Evaluator`: spatial samples of the pages."""
        return make_rungs(instances, [cast(int, instance.parameters["capacity"]) for instance in instances])

    def windows(self, instance: Instance, count: int) -> Sequence[Instance]:
        """See `vulcan.evaluator.Evaluator`: ranges of intervals of equal length."""
        return equal_windows(instance, count)

    def decisions(self, policy: Policy) -> str:
        """See `vulcan.evaluator.Evaluator`: a digest of the pages that move on small samples, in order."""
        if self._probes is None:
            raise ValueError("decisions are known only after prepare")
        moves = [self._run(policy, probe.parameters).moves for probe in self._probes]
        return hashlib.sha256(repr(moves).encode()).hexdigest()[:16]

    def baselines(self) -> Mapping[str, BaselineKind]:
        """See `vulcan.evaluator.Evaluator`."""
        return {name: baseline.kind for name, baseline in BASELINES.items()}

    def evaluate_baseline(self, name: str, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`; a result is cached on disk by all that it depends on."""
        of: dict[str, Json] = {key: value for key, value in instance.parameters.items() if key != "trace"}
        return cached_metrics(["tiering", name, BASELINES[name].version, of], lambda: self._measured(name, instance))

    def _measured(self, name: str, instance: Instance) -> Metrics:
        p = cast(dict[str, Any], instance.parameters)
        e = self._evidence(p)
        metrics = metrics_of(run_baseline(name, e.counts, e.samples, e.capacity, **_how(p, e)))
        return metrics if name in UNSAMPLED else self._with_sampling(metrics, p)

    def inputs(self, instance: Instance) -> tuple[Inputs, Machine]:
        return self._evidence(instance.parameters), _machine(instance.parameters)

    def place(self, who: Policy | str, instance: Instance, history: NDArray[np.uint8]) -> Metrics:
        e = self._evidence(instance.parameters)
        given = (e.counts, e.samples, e.capacity)
        how = _how(instance.parameters, e)
        if isinstance(who, str):
            metrics = metrics_of(run_baseline(who, *given, **how, history=history))
            return metrics if who in UNSAMPLED else self._with_sampling(metrics, instance.parameters)
        return self._with_sampling(metrics_of(simulate(who, *given, **how, history=history)), instance.parameters)

    def _with_sampling(self, metrics: Metrics, parameters: Mapping[str, Json]) -> dict[str, float]:
        """Add the time that taking samples costs, which is shared by the threads and does not depend on placement."""
        p = cast(dict[str, Any], parameters)
        if not p["sample_cost"]:
            return dict(metrics)
        e = self._evidence(p)
        measured = slice(p["measure_from"], p["measure_to"])
        taken = e.weight * sum(
            int(table[measured].sum(dtype=np.int64)) for table in (e.samples.reads, e.samples.writes)
        )
        return {**metrics, "seconds": metrics["seconds"] + 1e-9 * p["sample_cost"] * taken / p["threads"]}

    def _run(self, policy: Policy, parameters: Mapping[str, Json]) -> TieringResult:
        p = cast(dict[str, Any], parameters)
        e = self._evidence(p)
        return simulate(policy, e.counts, e.samples, e.capacity, **_how(p, e))

    def _evidence(self, parameters: Mapping[str, Json]) -> Inputs:
        p = cast(dict[str, Any], parameters)
        one_in = p["one_in"]
        key = json.dumps([p["trace"], p["page_size"], p["sample_period"], p["sample_seed"], one_in])
        if key not in self._sampled:
            if one_in > 1:
                whole = self._evidence({**p, "one_in": 1})
                self._sampled[key] = sample_of(whole.counts, whole.samples, one_in)
            else:
                counts = self._load(p["trace"], p["page_size"])
                self._sampled[key] = counts, sample_accesses(counts, p["sample_period"], p["sample_seed"])
        capacity, limit = (max(1, p[name] // one_in) for name in ("capacity", "limit"))
        return Inputs(*self._sampled[key], capacity, limit, one_in)

    def _load(self, spec: str, page_size: int) -> PageCounts:
        key = (spec, page_size)
        if key not in self._counts:
            self._counts[key] = load_page_counts(spec, page_size)
        return self._counts[key]

    def _probe(self, instance: Instance) -> Instance:
        one_in = max(1, self._evidence(instance.parameters).counts.pages // PROBE_PAGES)
        return Instance(instance.name, instance.split, {**instance.parameters, "one_in": one_in})


_MACHINE = ("fast_tier", "slow_tier", "threads", "migration_stall")
_SAMPLING = ("sample_period", "sample_seed")
_SEVERAL = ("slow_tier", "sample_period")
"""Settings of which there may be several, each with an instance of its own."""
UNSAMPLED = ("first-touch", "static-oracle", "omniscient")
"""Baselines that need no samples, and do not pay for them."""


def _listed(value: Json) -> list[Any]:
    return value if isinstance(value, list) else [value]


def metrics_of(result: TieringResult) -> dict[str, float]:
    """`seconds` of the program, the `fast_share` of accesses, `migrations` of pages and bytes of `slow_traffic`."""
    return {
        "seconds": result.seconds,
        "fast_share": result.hit_share,
        "migrations": result.migrations,
        "promotions": result.promotions,
        "demotions": result.demotions,
        "slow_traffic": result.slow_bytes,
        "accesses": result.accesses,
    }


def _machine(p: Mapping[str, Any]) -> Machine:
    return Machine(TIERS[p["fast_tier"]], TIERS[p["slow_tier"]], p["threads"], p["migration_stall"])


def _how(p: Mapping[str, Any], inputs: Inputs) -> dict[str, Any]:
    """Return the arguments that simulations of policies and of baselines have in common."""
    return {
        "migration_limit": inputs.limit,
        "machine": _machine(p),
        "measure_from": p["measure_from"],
        "measure_to": p["measure_to"],
        "weight": inputs.weight,
    }


def _check(settings: Mapping[str, Json]) -> None:
    s = cast(dict[str, Any], settings)
    for name in ("fast_tier", "slow_tier"):
        for tier in _listed(s[name]):
            if tier not in TIERS:
                raise UserError(f"no memory {tier!r} for the {name.replace('_', ' ')} (known: {', '.join(TIERS)})")
    if not set(s.get("workloads", ["small-pages"])) & set(MEMORY_WORKLOADS):
        raise UserError(f"workloads: name at least one of {', '.join(MEMORY_WORKLOADS)}")
    for name in _SEVERAL:
        if not _listed(s[name]) or len(set(_listed(s[name]))) < len(_listed(s[name])):
            raise UserError(f"{name.replace('_', ' ')}: give each value once, and at least one")
    if not 0 <= s.get("sample_cost", 0.0) <= 1e6:
        raise UserError(f"sample cost {s['sample_cost']}: must be from 0 to 1e6 nanoseconds")
    if not 1 <= s["threads"] <= 4096:
        raise UserError(f"threads is {s['threads']}: must be from 1 to 4096")
    if not 0 <= s["migration_stall"] <= 1e9:
        raise UserError(f"migration stall {s['migration_stall']}: must be from 0 to 1e9 nanoseconds")
    if not 0 <= s["sample_seed"] < 2**63:
        raise UserError(f"sample seed {s['sample_seed']}: from 0 to 2^63 - 1 are possible")


def _label(name: str) -> str:
    """Return a file's name without its ending; a generated workload's as it is."""
    return name if ":" in name else name.removesuffix(".npz")


def size_in_pages(text: str, whole: int, page_size: int, what: str) -> int:
    """Return the number of pages that the text means.

    Bytes (`1000000`, `64MiB`), a share of the `whole`, which is in pages (`10%`), or pages (`1000pages`); rounded down.
    Raises UserError, saying of `what`, where it is none of these or is less than one page.
    """
    written = split_size(text, "%", "page", "pages")
    if written is None:
        raise UserError(f"{what} {text!r} is not a size: write bytes (64MiB), a share (10%) or pages (1000pages)")
    number, unit = written
    if unit == "%":
        pages = number / 100 * whole
    elif unit in ("page", "pages"):
        pages = number
    else:
        pages = number * BYTES_PER_UNIT[unit] / page_size
    if pages < 1:
        raise UserError(f"{what} {text!r} is less than one page of {page_size:,} bytes")
    if pages > 2**40:
        raise UserError(f"{what} {text!r} is over 2^40 pages")
    return int(pages)


def size_in_bytes(text: str, what: str) -> int:
    """Raises UserError where the text is not a whole number of bytes, such as `4096` or `2MiB`."""
    written = split_size(text)
    if written is None:
        raise UserError(f"{what} {text!r} is not a number of bytes: write 4096, 4KiB or 2MiB")
    size = written[0] * BYTES_PER_UNIT[written[1]]
    if size < 1 or size > 2**53 or size != int(size):
        raise UserError(f"{what} {text!r} is not a whole number of bytes above 0")
    return int(size)
