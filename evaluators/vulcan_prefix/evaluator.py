"""The evaluator of the task `prefix_cache`: prompts and cache sizes in, tokens served from the cache and times out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from vulcan.anvil import Policy
from vulcan.baseline_cache import cached_metrics
from vulcan.errors import UserError
from vulcan.evaluator import BaselineKind, Evaluator, Instance, SplitName, Sweep
from vulcan.findings import EvaluatorFinding
from vulcan.simulator.plan import shares_in_time
from vulcan.task import Json, Metrics, Split
from vulcan_prefix.findings import Blocks, Run, account, blocks_of, describe_prompts, differences, findings_of
from vulcan_prefix.server import Server
from vulcan_prefix.simulate import BASELINES, BOUND, ServingResult, simulate, stretch
from vulcan_traces.prompts import PROMPT_WORKLOADS, PromptTrace, load_prompts
from vulcan_traces.written_sizes import split_size

VERSION = 1
"""Version in the cache key of baselines: raise it when the same requests give other results."""

_PROBED = 600
"""Requests of each training instance that tell policies apart, with a cache in proportion."""

_SWEPT = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Sizes of a sweep, in those of the instance's cache."""

_SERVER = tuple(Server.__slots__)
_READING = ("trace", "trace_format", "block_tokens")
_TOKENS_PER_UNIT = {"": 1, "k": 1_000, "m": 1_000_000}


class PrefixEvaluator(Evaluator):
    """An instance is a trace of prompts, a cache size and a measured range of requests, always from an empty cache.

    A trace of one's own is cut along time: the search is measured on its first requests, the winner chosen on the next,
    and the test on the last, each of the latter two with the cache as the earlier requests left it.
    """

    def __init__(self) -> None:
        self._traces: dict[str, PromptTrace] = {}
        self._probes: tuple[Instance, ...] | None = None
        self._references: dict[str, tuple[Run, Run]] = {}
        self._blocks: dict[str, Blocks] = {}

    def instances(self, settings: Mapping[str, Json], split: Split) -> Sequence[Instance]:
        """See `vulcan.evaluator.Evaluator`."""
        s = cast(dict[str, Any], settings)
        Server(**{name: s[name] for name in _SERVER})
        if not 0 <= s["load"] <= 100:
            raise UserError(f"load {s['load']}: must be from 0, as recorded, to 100")
        given = cast(list[str], s["trace"] or [])
        if given:
            plan = [(spec, part, bounds) for spec in given for part, bounds in shares_in_time(split)]
        else:
            plan = [(spec, cast(SplitName, p), (0.0, 1.0)) for p, specs in PROMPT_WORKLOADS.items() for spec in specs]
        return tuple(
            self._instance(spec, part, bounds, size, s)
            for spec, part, bounds in plan
            for size in cast(list[str], s["cache_size"])
        )

    def _instance(
        self, spec: str, part: SplitName, bounds: tuple[float, float], size: str, s: Mapping[str, Any]
    ) -> Instance:
        parameters = {**{name: s[name] for name in _READING}, "trace": spec}
        trace = self._trace(parameters)
        start, stop = (round(bound * trace.requests) for bound in bounds)
        if stop <= start:
            raise UserError(f"{spec}: {trace.requests} requests are too few to cut into parts; use --split none")
        return Instance(
            name=f"{_label(trace.name)}@{size}",
            split=part,
            parameters={
                **parameters,
                "digest": trace.digest,
                "capacity": size_in_tokens(size, trace, "cache size"),
                "host_capacity": size_in_tokens(s["host_size"], trace, "host size") if s["host_size"] else 0,
                "load": s["load"],
                "measure_from": start,
                "measure_to": stop,
                **{name: s[name] for name in _SERVER},
            },
        )

    def why_indifferent(self, instance: Instance) -> str | None:
        """See `vulcan.evaluator.Evaluator`: a cache that holds everything."""
        result = self._run("lru", instance.parameters)
        if result.decisions:
            return None
        return (
            f"the cache of {instance.parameters['capacity']:,} tokens holds everything up to there, and nothing is "
            "ever evicted; choose a smaller --cache-size"
        )

    def sweep(self, instance: Instance) -> Sweep:
        """See `vulcan.evaluator.Evaluator`: caches from an eighth of the instance's to four times it."""
        trace, given = self._trace(instance.parameters), cast(int, instance.parameters["capacity"])
        sizes = [(factor, round(factor * given)) for factor in _SWEPT]
        return Sweep(
            "cache size, tokens",
            "hit_share",
            tuple(
                (f"{size:,} ({factor:g} x)",
                 Instance(f"{instance.name} x {factor:g}", "train", {**instance.parameters, "capacity": size}))
                for factor, size in sizes
                if trace.block_tokens <= size < trace.footprint
            ),
        )  # fmt: skip

    def prepare(self, instances: Sequence[Instance]) -> None:
        """See `vulcan.evaluator.Evaluator`."""
        from vulcan.anvil.native.jit import warm_up
        from vulcan_prefix.kernels import engine  # noqa: F401 - compiles the kernel, or loads it

        warm_up()
        for instance in instances:
            self._trace(instance.parameters)
        searched = [i for i in instances if i.split == "train"] or list(instances)
        self._probes = tuple(self._probe(instance) for instance in searched)

    def evaluate(self, policy: Policy, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`; the metrics are those of `vulcan_prefix.ServingResult`."""
        return self._measured(policy, instance)

    def decisions(self, policy: Policy) -> str:
        """See `vulcan.evaluator.Evaluator`: a digest of what is evicted at the beginning of the traces."""
        if self._probes is None:
            raise ValueError("decisions are known only after prepare")
        digest = 0
        for probe in self._probes:
            digest = (digest * 6364136223846793005 + self._run(policy, probe.parameters).decisions + 1) % 2**64
        return f"{digest:016x}"

    def baselines(self) -> Mapping[str, BaselineKind]:
        """See `vulcan.evaluator.Evaluator`."""
        return {**dict.fromkeys(BASELINES, "baseline"), BOUND: "oracle"}

    def evaluate_baseline(self, name: str, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`; a result is cached on disk by all that it depends on."""
        of: dict[str, Json] = {key: value for key, value in instance.parameters.items() if key not in _READING}
        return cached_metrics(["prefix", name, VERSION, of], lambda: self._measured(name, instance))

    def workload(self, instance: Instance) -> Sequence[EvaluatorFinding]:
        """See `vulcan.evaluator.Evaluator`."""
        p = cast(dict[str, Any], instance.parameters)
        return describe_prompts(self.run("lru", instance), p["capacity"], p["load"])

    def prepare_findings(self, instances: Sequence[Instance]) -> None:
        """See `vulcan.evaluator.Evaluator`."""
        for instance in instances:
            self._compared_with(instance)

    def findings(self, policy: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        """See `vulcan.evaluator.Evaluator`: prompt tokens found and lost, by what their blocks were."""
        return findings_of(self.run(policy, instance), *self._compared_with(instance))

    def compare(self, first: Policy, second: Policy, instance: Instance) -> Sequence[EvaluatorFinding]:
        """See `vulcan.evaluator.Evaluator`."""
        return differences(self.run(first, instance), self.run(second, instance))

    def run(self, who: Policy | str, instance: Instance) -> Run:
        """Return a run with its account, the numbers behind `findings`."""
        p = cast(dict[str, Any], instance.parameters)
        result = self._run(who, p)
        name = who if isinstance(who, str) else "policy"
        return Run(name, result, account(result, self._blocks_of(instance)), result.metrics(p["measure_from"]))

    def _blocks_of(self, instance: Instance) -> Blocks:
        p = cast(dict[str, Any], instance.parameters)
        key = json.dumps([p[name] for name in (*_READING, *_SERVER, "load", "measure_from", "measure_to")])
        if key not in self._blocks:
            trace = _first(self._trace(p), p["measure_to"])
            factor = stretch(trace, Server(**{name: p[name] for name in _SERVER}), p["load"])
            self._blocks[key] = blocks_of(trace, factor, p["measure_from"])
        return self._blocks[key]

    def _compared_with(self, instance: Instance) -> tuple[Run, Run]:
        """Return the baseline that finds most tokens, and the oracle."""
        key = json.dumps(dict(instance.parameters), sort_keys=True)
        if key not in self._references:
            found = {name: self.evaluate_baseline(name, instance) for name in BASELINES}
            best = max(BASELINES, key=lambda name: found[name]["hit_share"] + found[name]["host_share"])
            self._references[key] = self.run(best, instance), self.run(BOUND, instance)
        return self._references[key]

    def _measured(self, who: Policy | str, instance: Instance) -> Metrics:
        return self._run(who, instance.parameters).metrics(cast(int, instance.parameters["measure_from"]))

    def _run(self, who: Policy | str, parameters: Mapping[str, Json]) -> ServingResult:
        p = cast(dict[str, Any], parameters)
        trace = self._trace(p)
        server = Server(**{name: p[name] for name in _SERVER})
        first = _first(trace, p["measure_to"])
        return simulate(
            who,
            first,
            p["capacity"],
            server,
            host_capacity=p["host_capacity"],
            load=p["load"],
        )

    def _trace(self, parameters: Mapping[str, Json]) -> PromptTrace:
        p = cast(dict[str, Any], parameters)
        key = json.dumps([p[name] for name in _READING])
        if key not in self._traces:
            self._traces[key] = load_prompts(
                p["trace"], format=p["trace_format"], block_tokens=p["block_tokens"] or None
            )
        return self._traces[key]

    def _probe(self, instance: Instance) -> Instance:
        p = cast(dict[str, Any], instance.parameters)
        trace = self._trace(p)
        count = min(_PROBED, p["measure_to"])
        share = _first(trace, count).footprint / trace.footprint
        largest = int((trace.prompt_tokens + trace.output_tokens)[:count].max())
        capacity = max(round(p["capacity"] * share), min(p["capacity"], 2 * largest))
        smaller = {"capacity": capacity, "measure_from": 0, "measure_to": count}
        return Instance(instance.name, instance.split, {**p, **smaller})


def _first(trace: PromptTrace, count: int) -> PromptTrace:
    """Return the first requests of a trace."""
    if count >= trace.requests:
        return trace
    return replace(
        trace,
        starts=trace.starts[: count + 1],
        blocks=trace.blocks[: trace.starts[count]],
        **{
            name: getattr(trace, name)[:count]
            for name in (
                "arrivals",
                "prompt_tokens",
                "output_tokens",
                "prompt_blocks",
                "sessions",
                "turns",
                "kinds",
                "priorities",
            )
        },
    )


def _label(name: str) -> str:
    """Return a file's name without its endings; a generated trace's unchanged."""
    return name if ":" in name else name.split(".", maxsplit=1)[0] or name


def size_in_tokens(text: str, trace: PromptTrace, what: str) -> int:
    """Return the number of tokens that the text means: tokens (`500000`, `500k`, `1.2M`) or a share of the footprint.

    Raises UserError, saying of `what`, where it is neither, or is less than one block.
    """
    written = split_size(text, "%")
    number, unit = written if written is not None else (0.0, "")
    if unit not in ("%", *_TOKENS_PER_UNIT) or number <= 0:
        raise UserError(f"{what} {text!r} is not a size: write tokens (500000, 500k, 1.2M) or a share (10%)")
    tokens = number / 100 * trace.footprint if unit == "%" else number * _TOKENS_PER_UNIT[unit]
    if tokens < trace.block_tokens:
        raise UserError(f"{what} {text!r} is less than one block of {trace.block_tokens} tokens of {trace.name}")
    if tokens > 2**53:
        raise UserError(f"{what} {text!r} is over 2^53 tokens")
    return int(tokens)
