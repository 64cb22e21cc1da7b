"""The simulator of the task `prefix_cache`: prompts and cache sizes in, tokens served from the cache and times out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.evaluator import Instance, Sweep
from vulcan.findings import EvaluatorFinding
from vulcan.lessons import Lesson
from vulcan.simulator import Case, ExplainedSimulator, kinds_of, label_of, measured_range, override, parse_size, sources
from vulcan.simulator.account import Account
from vulcan.sizes import TOKENS
from vulcan.task import Json, Metrics, Split
from vulcan_prefix.account import Blocks, account, blocks_of, describe_prompts
from vulcan_prefix.lessons import lessons_of
from vulcan_prefix.simulate import BASELINES, BOUND, ServingResult, simulate, stretch
from vulcan_prefix.spec import PrefixSpec
from vulcan_traces.prompts import PROMPT_WORKLOADS, PromptTrace, load_prompts

_PROBED = 600
"""Requests of each training instance that tell policies apart, with a cache in proportion."""

_SERVER = ("token_us", "pair_ns", "overhead_ms", "decode_ms", "transfer_us")

_BEHIND = 0.05
"""Of the time that requests arrive in, the mean wait from which a server is overloaded."""


class PrefixSimulator(ExplainedSimulator[PrefixSpec, PromptTrace, ServingResult]):
    """An instance is a trace of prompts, a cache size and a measured range of requests, always from an empty cache.

    A trace of one's own is cut along time: the search is measured on its first requests, the winner chosen on the next,
    and the test on the last, each of the latter two with the cache as the earlier requests left it.
    """

    spec = PrefixSpec
    known = kinds_of(BASELINES, [BOUND])
    kernels = ("vulcan_prefix.kernels.engine",)
    caches_baselines = describes_before = True
    least_window = 60
    unmeasured = ("trace", "trace_format", "block_tokens")

    @override
    def cases(self, settings: Mapping[str, Json], split: Split) -> Iterable[Case[PrefixSpec]]:
        s: Any = settings
        for source, part, share in sources(s["trace"] or (), PROMPT_WORKLOADS, split):
            trace = self._trace(source, s["trace_format"], s["block_tokens"])
            start, stop = measured_range(share, trace.requests, source, "requests")
            for size in s["cache_size"]:
                spec = PrefixSpec(
                    trace=source,
                    trace_format=s["trace_format"],
                    block_tokens=s["block_tokens"],
                    digest=trace.digest,
                    capacity=size_in_tokens(size, trace, "cache size"),
                    host_capacity=size_in_tokens(s["host_size"], trace, "host size") if s["host_size"] else 0,
                    load=s["load"],
                    measure_from=start,
                    measure_to=stop,
                    **{name: s[name] for name in _SERVER},
                )
                yield Case(f"{label_of(trace.name)}@{size}", part, spec, source)

    @override
    def load(self, spec: PrefixSpec) -> PromptTrace:
        """Return the requests up to the last measured one."""
        return self._trace(spec.trace, spec.trace_format, spec.block_tokens).first(spec.measure_to)

    @override
    def source(self, spec: PrefixSpec) -> object:
        return spec.trace, spec.trace_format, spec.block_tokens, spec.measure_to

    @override
    def run(self, who: Policy | str, spec: PrefixSpec, workload: PromptTrace) -> ServingResult:
        return simulate(
            who,
            workload,
            spec.capacity,
            spec.server,
            decode_ms=spec.decode_ms,
            transfer_us=spec.transfer_us,
            host_capacity=spec.host_capacity,
            load=spec.load,
            measure_from=spec.measure_from,
        )

    @override
    def probe(self, spec: PrefixSpec) -> PrefixSpec:
        count = min(_PROBED, spec.measure_to)
        whole = self._trace(spec.trace, spec.trace_format, spec.block_tokens)
        first = whole.first(count)
        largest = int((first.prompt_tokens + first.output_tokens).max())
        least = min(spec.capacity, 2 * largest)
        capacity = max(round(spec.capacity * (first.footprint / whole.footprint)), least)
        return replace(spec, capacity=capacity, measure_from=0, measure_to=count)

    @override
    def why_indifferent(self, instance: Instance) -> str | None:
        """Return that a cache holds everything, or that no prompt begins as another request did."""
        spec, workload = self.at(instance)
        if workload.block_count == len(workload.blocks):
            return f"no two requests share a block of {workload.block_tokens} tokens, and no cache finds anything"
        if self.run("lru", spec, workload).decisions:
            return None
        return (
            f"the cache of {spec.capacity:,} tokens holds everything up to there, and nothing is ever evicted; choose "
            "a smaller --cache-size"
        )

    @override
    def notes(self, instance: Instance) -> Sequence[str]:
        """Return that the server falls behind, whatever leaves its cache, and by what."""
        spec, workload = self.at(instance)
        result = self.run("lru", spec, workload)
        span = float(workload.arrivals[-1]) * stretch(workload, spec.server, spec.load)
        wait = float(result.waits[spec.measure_from :].mean())
        if wait <= _BEHIND * span:
            return ()
        tokens = workload.prompt_tokens + workload.output_tokens
        held = float((tokens * (result.seconds + 1e-3 * spec.decode_ms * workload.output_tokens)).sum())
        return (
            f"{instance.name}: the server is overloaded, with lru a request waits {wait:,.0f} s for its first token on "
            f"average: prompts take {float(result.seconds.sum()) / span:.0%} of the time, and what runs needs "
            f"{held / span / spec.capacity:.0%} of the cache; give a larger --cache-size or a lower --load",
        )

    @override
    def sweep(self, instance: Instance) -> Sweep:
        """Return caches from an eighth of the instance's to four times it."""
        spec = self.spec_of(instance)
        trace = self._trace(spec.trace, spec.trace_format, spec.block_tokens)
        steps = tuple(
            (text, other)
            for text, other in self.swept(instance, "capacity")
            if trace.block_tokens <= self.spec_of(other).capacity < trace.footprint
        )
        return Sweep("cache size, tokens", "hit_share", steps)

    @override
    def workload(self, instance: Instance) -> Sequence[EvaluatorFinding]:
        spec, trace = self.at(instance)
        return describe_prompts(trace, self._blocks(spec, trace), spec.capacity, spec.load)

    @override
    def account_of(self, who: Policy | str, name: str, spec: PrefixSpec, workload: PromptTrace) -> Account:
        """Return the account of tokens computed, by what their blocks were."""
        return account(name, self.run(who, spec, workload), self._blocks(spec, workload))

    @override
    def quality(self, metrics: Metrics) -> float:
        return metrics["hit_share"] + metrics["host_share"]

    @override
    def beside(self, instance: Instance) -> Sequence[str]:
        return [BOUND]

    @override
    def lessons(self, instance: Instance, metric: str) -> Sequence[Lesson]:
        spec, workload = self.at(instance)
        return list(lessons_of(workload, stretch(workload, spec.server, spec.load), spec.capacity))

    def _blocks(self, spec: PrefixSpec, trace: PromptTrace) -> Blocks:
        of = replace(spec, capacity=0, host_capacity=0)
        return self.once(
            "blocks", of, lambda: blocks_of(trace, stretch(trace, spec.server, spec.load), spec.measure_from)
        )

    def _trace(self, source: str, format: str | None, block_tokens: int) -> PromptTrace:
        key = source, format, block_tokens
        return self.once("trace", key, lambda: load_prompts(source, format=format, block_tokens=block_tokens or None))


def size_in_tokens(text: str, trace: PromptTrace, what: str) -> int:
    """Return the number of tokens that the text means: tokens (`500000`, `500k`, `1.2M`) or a share of the footprint.

    Raises UserError, saying of `what`, where it is neither, or is less than one block.
    """
    hint = "tokens (500000, 500k, 1.2M) or a share (10%)"
    tokens = parse_size(text, TOKENS, what, hint, whole=trace.footprint)
    if tokens < trace.block_tokens:
        raise UserError(f"{what} {text!r} is less than one block of {trace.block_tokens} tokens of {trace.name}")
    return int(tokens)
