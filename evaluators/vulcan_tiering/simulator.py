"""The simulator of the task `memory_tiering`: page counts and machines in, running times out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.evaluator import Instance, Rung
from vulcan.findings import EvaluatorFinding
from vulcan.lessons import Lesson
from vulcan.simulator import Case, ExplainedSimulator, measured_range, override, parse_size, sources, within
from vulcan.simulator.account import Account
from vulcan.simulator.plan import SPLITS
from vulcan.sizes import BYTES, parse_bytes
from vulcan.task import Json, Metrics, Split
from vulcan_tiering.account import Inputs, account, describe, hot_pages
from vulcan_tiering.lessons import lessons_of
from vulcan_tiering.page_sample import KEEP, MIN_FAST_PAGES, ONE_IN, sample_of
from vulcan_tiering.simulate import KNOWN, AccessSamples, History, TieringResult, sample_accesses, simulate
from vulcan_tiering.spec import TieringSpec
from vulcan_traces.memory import MEMORY_WORKLOADS, PageCounts, load_page_counts

PROBE_PAGES = 256
"""About as many pages of each training instance tell policies apart by what they move."""

BOUND = "omniscient"

UNSAMPLED = ("first-touch", "static-oracle", BOUND)
"""Baselines that need no samples, and do not pay for them."""

_SEVERAL = ("slow_tier", "sample_period")
"""Settings of which there may be several, each with an instance of its own."""

Workload = tuple[PageCounts, AccessSamples]


class TieringSimulator(ExplainedSimulator[TieringSpec, Workload, TieringResult]):
    """An instance is a workload and a machine; a run always starts with no page mapped.

    A trace of one's own is cut along time: the search is measured on its first intervals, the winner chosen on the
    next, and the test on the last, each of the latter two with pages where the earlier intervals left them.
    """

    spec = TieringSpec
    known = KNOWN
    kernels = ("vulcan_tiering.kernels.ranking",)
    caches_baselines = True
    least_window = 1
    unmeasured = ("trace",)

    @override
    def cases(self, settings: Mapping[str, Json], split: Split) -> Iterable[Case[TieringSpec]]:
        s: Any = settings
        _check(s)
        embedded: dict[str, list[str]] = {
            part: [one for size in s["workloads"] for one in MEMORY_WORKLOADS[size][part]] for part in SPLITS
        }
        several = [s[name] for name in _SEVERAL]
        plan = sources(s["trace"] or (), embedded, split)
        for (source, part, share), size, slow_tier, period in product(plan, s["fast_size"], *several):
            counts = self._counts(source, parse_bytes(s["page_size"], "page size"))
            start, stop = measured_range(share, counts.intervals, source, "intervals")
            capacity = size_in_pages(size, counts.pages, counts.page_size, "fast size")
            chosen = zip(several, (slow_tier, period), strict=True)
            named = "".join(f",{value}" for values, value in chosen if len(values) > 1)
            spec = TieringSpec(
                trace=source,
                page_size=counts.page_size,
                digest=counts.digest,
                capacity=capacity,
                limit=size_in_pages(s["migration_limit"], capacity, counts.page_size, "migration limit"),
                measure_from=start,
                measure_to=stop,
                one_in=1,
                fast_tier=s["fast_tier"],
                slow_tier=slow_tier,
                threads=s["threads"],
                migration_stall=s["migration_stall"],
                sample_period=period,
                sample_seed=s["sample_seed"],
                sample_cost=s["sample_cost"],
            )
            label = counts.name if ":" in counts.name else counts.name.removesuffix(".npz")
            yield Case(f"{label}@{size}{named}", part, spec, source)

    @override
    def load(self, spec: TieringSpec) -> Workload:
        if spec.one_in > 1:
            return sample_of(*self.workload_of(replace(spec, one_in=1)), spec.one_in)
        counts = self._counts(spec.trace, spec.page_size)
        return counts, sample_accesses(counts, spec.sample_period, spec.sample_seed)

    @override
    def source(self, spec: TieringSpec) -> object:
        return spec.trace, spec.page_size, spec.sample_period, spec.sample_seed, spec.one_in

    @override
    def run(
        self, who: Policy | str, spec: TieringSpec, workload: Workload, history: History | None = None
    ) -> TieringResult:
        """Run a policy or a baseline, and record the history if it is given (`simulate`).

        Taking samples costs time that the threads share, and that does not depend on placement.
        """
        inputs = inputs_of(spec, workload)
        result = simulate(
            who, inputs.counts, inputs.samples, inputs.capacity, migration_limit=inputs.limit, machine=spec.machine,
            measure_from=spec.measure_from, measure_to=spec.measure_to, weight=inputs.weight, history=history,
        )  # fmt: skip
        if not spec.sample_cost or who in UNSAMPLED:
            return result
        measured = slice(spec.measure_from, spec.measure_to)
        tables = (inputs.samples.reads, inputs.samples.writes)
        taken = inputs.weight * sum(int(table[measured].sum(dtype=np.int64)) for table in tables)
        return replace(result, seconds=result.seconds + 1e-9 * spec.sample_cost * taken / spec.threads)

    @override
    def probe(self, spec: TieringSpec) -> TieringSpec | None:
        if spec.one_in > 1:
            return None
        return replace(spec, one_in=max(1, self.workload_of(spec)[0].pages // PROBE_PAGES))

    @override
    def rungs(self, instances: Sequence[Instance]) -> Sequence[Rung]:
        """Return spatial samples of the pages; none where no sample is large enough."""
        large = [self.spec_of(instance).capacity >= ONE_IN * MIN_FAST_PAGES for instance in instances]
        cheaper = [self.sampled(i, ONE_IN) if is_large else i for i, is_large in zip(instances, large, strict=True)]
        return (Rung(f"R={1 / ONE_IN:g}", tuple(cheaper), KEEP),) if any(large) else ()

    def sampled(self, instance: Instance, one_in: int) -> Instance:
        """Return the instance on a sample of one page in N."""
        return self.like(instance, f"{instance.name} R={1 / one_in:g}", instance.split, one_in=one_in)

    @override
    def workload(self, instance: Instance) -> Sequence[EvaluatorFinding]:
        spec, workload = self.at(instance)
        return describe(inputs_of(spec, workload), spec.machine, spec.measure_from, spec.measure_to)

    @override
    def lessons(self, instance: Instance, metric: str) -> Sequence[Lesson]:
        spec, workload = self.at(instance)
        return list(lessons_of(*workload, spec.measure_from, spec.measure_to))

    @override
    def account_of(self, who: Policy | str, name: str, spec: TieringSpec, workload: Workload) -> Account:
        """Return the account of time by page class, with migrations; of the bound, which places nothing, its time."""
        inputs, measured = inputs_of(spec, workload), spec.measure_to - spec.measure_from
        if who == BOUND:
            seconds = self.run(who, spec, workload).seconds
            return Account(name, "interval", "ms", {"at the least": np.full(measured, 1e3 * seconds / measured)})
        hot = self.once("hot", replace(spec, limit=0), lambda: hot_pages(inputs.counts, inputs.capacity))
        history = np.zeros(hot.shape, np.uint8), np.zeros((len(hot), 3))
        seconds = self.run(who, spec, workload, history).seconds
        return account(name, inputs, spec.machine, history, hot, spec.measure_from, spec.measure_to, seconds)

    @override
    def quality(self, metrics: Metrics) -> float:
        return -metrics["seconds"]

    @override
    def beside(self, instance: Instance) -> Sequence[str]:
        return [BOUND]

    def _counts(self, source: str, page_size: int) -> PageCounts:
        return self.once("counts", (source, page_size), lambda: load_page_counts(source, page_size))


def inputs_of(spec: TieringSpec, workload: Workload) -> Inputs:
    """Return what a simulation reads: where pages stand for several, the fast tier holds so many fewer."""
    capacity, limit = (max(1, pages // spec.one_in) for pages in (spec.capacity, spec.limit))
    return Inputs(*workload, capacity, limit, spec.one_in)


def _check(s: Mapping[str, Any]) -> None:
    if not s["workloads"]:
        raise UserError(f"workloads: name at least one of {', '.join(MEMORY_WORKLOADS)}")
    for name in _SEVERAL:
        if not s[name] or len(set(s[name])) < len(s[name]):
            raise UserError(f"{name.replace('_', ' ')}: give each value once, and at least one")
    within(s, sample_cost=(0, 1e6), threads=(1, 4096), migration_stall=(0, 1e9), sample_seed=(0, 2**63 - 1))


def size_in_pages(text: str, whole: int, page_size: int, what: str) -> int:
    """Return the number of pages that the text means.

    Bytes (`1000000`, `64MiB`), a share of the `whole`, which is in pages (`10%`), or pages (`1000pages`); rounded down.
    Raises UserError, saying of `what`, where it is none of these or is less than one page.
    """
    units = {unit: size / page_size for unit, size in BYTES.items()} | {"page": 1, "pages": 1}
    hint = "bytes (64MiB), a share (10%) or pages (1000pages)"
    pages = parse_size(text, units, what, hint, whole=whole, most=2**40)
    if pages < 1:
        raise UserError(f"{what} {text!r} is less than one page of {page_size:,} bytes")
    return int(pages)
