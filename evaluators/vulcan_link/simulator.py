"""The simulator of the task `congestion_control`: links in, throughput and delay out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.evaluator import Instance, Rung, SplitName
from vulcan.findings import EvaluatorFinding
from vulcan.lessons import Lesson
from vulcan.simulator import Case, ExplainedSimulator, kinds_of, override, shares_in_time, within
from vulcan.task import Json, Metrics, Split
from vulcan_link.account import LinkAccount, account, describe_path
from vulcan_link.algorithms import ALGORITHMS
from vulcan_link.lessons import lesson_of
from vulcan_link.result import LinkResult, completion_of, metrics_of
from vulcan_link.scenario import MAX_SHARE, Scenario
from vulcan_link.simulate import capacity, simulate
from vulcan_link.spec import LinkSpec
from vulcan_link.workloads import ENDLESS, MAX_FLOWS, NONE, OPTIONAL, WORKLOADS, Workload, buffer_in_packets
from vulcan_traces.links import LinkTrace, cut_link, load_link, repeated
from vulcan_traces.links.generator_spec import is_link_spec

FIXED_WINDOW = 40.0
"""Packets of the baseline `fixed`: a bandwidth-delay product of 12 Mbit/s and 40 ms."""

DELAY_MS, BUFFER = 20.0, "1bdp"
"""Defaults of a link named by the user; its other ones are those of `Workload`."""

MIN_RECORDED_BUFFER, MIN_GENERATED_BUFFER = 150, 20
"""Packets that the default buffer has at least, as generated cellular links do: 1bdp of a slow one would be two."""

MAX_WINDOWS = 32
"""Windows in which a part of a long trace is searched, if not told otherwise."""

MIN_WINDOW_BITS = 20 * 1500 * 8.0
"""What a window must carry to be one: in an outage every policy measures the same."""

PROBE_SECONDS, PROBE_LOSS = 2.0, 0.002
"""Of the runs that tell decisions apart: some packets are lost, so that what a policy does then is seen where no queue
is ever full."""

SHORT, KEEP, COST, MIN_SECONDS = 0.15, 0.15, 0.3, 2.0
"""Of the rung: its share of the time of a run, the share of candidates that continue to whole runs, its cost, which is
more as slow start is the busiest phase, and the least time, for a shorter run is little more than slow start.

Measured on 60 programs of the offline generator over the default links (20 s each, objective `power`): runs of 3 s
rank them as the whole runs do with Spearman's correlation of 0.98, and 0.97 among the better half; of the best six,
all are among the best six. Runs of 2 s have 0.97 and 0.96, of 8 s 0.99 and 0.99, at half of the cost of the whole. So
one rung does, and pays best: a second one costs more than it saves.
"""

MIN_BLOCK_S = 1.0
"""Of the blocks of a run that an interval is over."""

_AS_SET = ("link_format", "duration_s", "flows", "queue", "loss_seed", "called", "slow_start")
"""Settings that every instance repeats."""

_SECOND = 1e9
_MAX_DELAY_MS = 10_000.0


@dataclass(frozen=True, slots=True)
class _Path:
    """A link and what is around it, before settings make instances of it; the part is of the link's trace."""

    workload: Workload
    label: str
    link: LinkTrace
    split: SplitName
    part: tuple[int, int]
    min_buffer: int = 2


@dataclass(frozen=True, slots=True)
class LinkRun:
    """A run of an instance: what was simulated, and its result."""

    spec: LinkSpec
    scenario: Scenario
    result: LinkResult

    @property
    def decisions(self) -> int:
        return self.result.decisions

    def metrics(self) -> Metrics:
        """Return the metrics of `vulcan_link.result`."""
        spec, flows = self.spec, self.spec.own_flows
        share = spec.share_of(self.scenario, self.result)
        metrics = metrics_of(self.result, flows, self.scenario.flows[0].round_trip_ms, share)
        return metrics if spec.transfers == NONE else metrics | completion_of(self.scenario, self.result, flows)


class LinkSimulator(ExplainedSimulator[LinkSpec, LinkTrace, LinkRun]):
    """An instance is a link, its path and the flows that share it.

    Without a named link there are generated ones, others for training, validation and test. The trace of a named link
    is cut along time: the search is measured on the first part, the winner chosen on the next, and the test on the
    last; each part repeats as the whole would, and a run lasts as long as the setting says.
    """

    spec = LinkSpec
    known = kinds_of([a.name for a in ALGORITHMS.values() if a.name != "policy" and not a.is_offline], ["bdp-oracle"])
    kernels = ("vulcan_link.kernels.engine",)
    caches_baselines = True
    unmeasured = ("link", "link_format")

    def __init__(self) -> None:
        super().__init__()
        self._short: list[Scenario] = []

    @override
    def cases(self, settings: Mapping[str, Json], split: Split) -> Iterable[Case[LinkSpec]]:
        s: Any = settings
        within(
            s, duration_s=(1e-3, 100_000), flows=(1, MAX_FLOWS), loss=(0, MAX_SHARE), delay_ms=(1e-3, _MAX_DELAY_MS),
            jitter_ms=(0, _MAX_DELAY_MS), ack_batch_ms=(0, _MAX_DELAY_MS), competing_delay_ms=(0, _MAX_DELAY_MS),
            windows=(1, 1e6),
        )  # fmt: skip
        paths = [path for link in s["link"] or () for path in self._named(link, s, split)] or self._generated(s)
        for path in paths:
            yield from self._cases_of(path, s)

    @override
    def notes(self, instance: Instance) -> Sequence[str]:
        """Return that a link is shorter than a run, and repeated."""
        spec = self.spec_of(instance)
        link = self._trace(spec.link, spec.link_format)
        if is_link_spec(spec.link) or spec.repeated_ns <= link.period:
            return ()
        lasts, becomes = link.period / _SECOND, spec.repeated_ns / _SECOND
        return [f"{link.name} lasts {lasts:.3g} s, and is repeated to {becomes:.3g} s: its parts are not independent"]

    def _named(self, name: str, s: Any, split: Split) -> list[_Path]:
        """Return the parts of a link that the user names, cut along time."""
        link = self._trace(name, s["link_format"])
        if split.by == "time":
            link = repeated(link, round(s["duration_s"] * _SECOND))
        label = link.name if ":" not in name or "name=" in name else name
        recorded = not is_link_spec(name)
        floor = MIN_RECORDED_BUFFER if recorded else MIN_GENERATED_BUFFER
        workload = Workload(name, name, DELAY_MS, BUFFER)
        return [
            _Path(
                workload,
                label if window == part else f"{label} @{window[0] / _SECOND:.0f}s",
                link,
                of_split,
                window,
                2 if s["buffer"] else floor,
            )
            for of_split, (start, stop) in shares_in_time(split)
            for part in [(round(start * link.period), round(stop * link.period))]
            for window in _windows(link, part, s, MAX_WINDOWS if recorded else 1)
        ]

    def _generated(self, s: Any) -> list[_Path]:
        if s["link_format"] is not None:
            raise UserError("--link-format is for link traces, and no --link is given")
        paths = []
        for part, workloads in WORKLOADS.items():
            for workload in workloads:
                link = self._trace(workload.link, None)
                label = f"{workload.name}-{link.mean_rate / 1e6:.3g}mbps"
                paths.append(_Path(workload, label, link, part, (0, link.period)))
        return paths

    def _cases_of(self, path: _Path, s: Any) -> Iterator[Case[LinkSpec]]:
        """Return the instances of a path: what is not set is as the workload has it."""
        workload, link = path.workload, path.link
        delays, buffers, competing, jitters = (
            s[name] or [getattr(workload, name)] for name in ("delay_ms", "buffer", "competing", "jitter_ms")
        )
        loss, batch, other_delay = (
            getattr(workload, name) if s[name] is None else s[name]
            for name in ("loss", "ack_batch_ms", "competing_delay_ms")
        )
        given: dict[str, Any] = {
            **{name: s[name] for name in _AS_SET},
            **{name: s.get(name) or default for name, default in OPTIONAL.items()},
        }
        beside = tuple(one for one in competing if one != NONE)
        for delay, buffer, jitter in product(map(float, delays), buffers, jitters):
            packets = buffer_in_packets(buffer, link, delay)
            shown = buffer if packets >= path.min_buffer else f"{path.min_buffer}"
            shown += " packets" if shown.isdigit() else ""
            name = f"{'+'.join((path.label, *beside))} {delay:g}ms {shown}"
            spec = LinkSpec(
                link=workload.link,
                digest=link.digest,
                repeated_ns=link.period,
                from_ns=path.part[0],
                to_ns=path.part[1],
                delay_ms=delay,
                buffer_packets=max(packets, path.min_buffer),
                competing=beside,
                ecn=bool(s["ecn"]),
                loss=loss or 0.0,
                ack_batch_ms=batch or 0.0,
                competing_delay_ms=other_delay,
                handshake=s["handshake"] == "measured",
                jitter_ms=jitter,
                **given,
            )
            spec.scenario(self.workload_of(spec), "policy")  # which refuses what makes no sense
            name += f" jitter {jitter:g}ms" if len(jitters) > 1 else ""
            yield Case(name, path.split, spec, workload.link)

    def _trace(self, name: str, format: str | None) -> LinkTrace:
        return self.once("trace", (name, format), lambda: load_link(name, format=format))

    @override
    def load(self, spec: LinkSpec) -> LinkTrace:
        whole = repeated(self._trace(spec.link, spec.link_format), spec.repeated_ns)
        if whole.digest != spec.digest:
            raise UserError(f"{spec.link}: the trace has changed since the instances were made")
        return cut_link(whole, spec.from_ns, spec.to_ns)

    @override
    def source(self, spec: LinkSpec) -> object:
        return spec.digest, spec.from_ns, spec.to_ns

    @override
    def run(self, who: Policy | str, spec: LinkSpec, workload: LinkTrace, log: bool = False) -> LinkRun:
        algorithm, policy = (who, None) if isinstance(who, str) else ("policy", who)
        scenario = spec.scenario(workload, algorithm, FIXED_WINDOW if who == "fixed" else 0.0)
        return LinkRun(spec, scenario, simulate(scenario, policy, log=log))

    @override
    def prepare(self, instances: Sequence[Instance]) -> None:
        """Choose the probe besides: what most flows share, and the narrowest and the widest path, for a short time.

        A policy's constants mean the same there.
        """
        super().prepare(instances)
        searched = [i for i in instances if i.split == "train"] or instances
        scenarios = [spec.scenario(link, "policy") for spec, link in map(self.at, searched)]
        by_width = sorted(scenarios, key=lambda s: s.link.mean_rate * s.flows[0].round_trip_ms)
        chosen = [max(scenarios, key=lambda s: len(s.flows)), by_width[0], by_width[-1]]
        self._short = [
            replace(s, measure_from_s=0.0, duration_s=min(s.duration_s, PROBE_SECONDS), loss=max(s.loss, PROBE_LOSS))
            for s in {id(s): s for s in chosen}.values()
        ]

    @override
    def decisions(self, policy: Policy) -> str:
        """Return a hash of the windows that the policy chooses in the probe, in order, and of the packets sent."""
        if not self._short:
            raise ValueError("decisions are known only after prepare")
        digest = hashlib.sha256()
        for scenario in self._short:
            for flow in simulate(scenario, policy).flows:
                digest.update(f"{flow.decisions} {flow.sent} {flow.delivered} {flow.calls}\n".encode())
        return digest.hexdigest()[:16]

    @override
    def rungs(self, instances: Sequence[Instance]) -> Sequence[Rung]:
        """Return shorter runs of the same links; none where all of them are short."""
        seconds = [SHORT * self.spec_of(instance).duration_s for instance in instances]
        cheaper = tuple(
            self.like(i, f"{i.name} {s:g}s", duration_s=s) if s >= MIN_SECONDS else i
            for i, s in zip(instances, seconds, strict=True)
        )
        return () if cheaper == tuple(instances) else (Rung(f"{SHORT:.0%} of the time", cheaper, KEEP, cost=COST),)

    @override
    def windows(self, instance: Instance, count: int) -> Sequence[Instance]:
        """Return blocks of the run's time; none of transfers, which begin by the length of the run."""
        spec = self.spec_of(instance)
        if spec.duration_s < MIN_BLOCK_S * count or spec.transfers != NONE:
            return ()
        ends = [spec.duration_s * n / count for n in range(count + 1)]
        return [
            self.like(instance, f"{instance.name} window {n}", instance.split, measure_from_s=start, duration_s=end)
            for n, (start, end) in enumerate(pairwise(ends), 1)
        ]

    @override
    def lessons(self, instance: Instance, metric: str) -> Sequence[Lesson]:
        """Return the lesson of a link that carries one flow as fast as it can; of others it carries their share."""
        spec, link = self.at(instance)
        if spec.own_flows > 1 or spec.competing or spec.application != ENDLESS or spec.policer != NONE:
            return ()
        return (lesson_of(spec, link),)

    @override
    def workload(self, instance: Instance) -> Sequence[EvaluatorFinding]:
        spec, link = self.at(instance)
        return describe_path(spec.scenario(link, "policy"), spec.competing)

    @override
    def account_of(self, who: Policy | str, name: str, spec: LinkSpec, workload: LinkTrace) -> LinkAccount:
        """Return the account of idle link, delay and losses by cause and by part of the run."""
        run = self.run(who, spec, workload, log=True)
        return account(name, run.scenario, run.result, spec.own_flows, _factors(run.metrics()))

    @override
    def quality(self, metrics: Metrics) -> float:
        return metrics["power"]


def _factors(metrics: Metrics) -> str:
    delay = metrics["base_rtt_ms"] / max(metrics["base_rtt_ms"] + metrics["queueing_delay_avg_ms"], 1e-9)
    return (
        f"power {metrics['power']:.3f} = share of the link {min(1.0, metrics['share']):.3f} x delay factor {delay:.3f} "
        f"x drop discount {metrics['drop_discount']:.3f}; {metrics['share']:.2f} of the fair share, "
        f"{int(metrics['timeouts'])} timeouts"
    )


def _windows(link: LinkTrace, part: tuple[int, int], s: Any, auto: int) -> list[tuple[int, int]]:
    """Return the windows of a part of the trace in which runs take place, evenly spread: as many as do not overlap.

    At most `auto`, unless the setting says how many at most. A window that carries next to nothing is left out.
    """
    start, stop = part
    length = round(s["duration_s"] * _SECOND)
    wanted = min(s["windows"] or auto, (stop - start) // length)
    if wanted <= 1:
        return [part]
    places = [start + round(k * (stop - start - length) / (wanted - 1)) for k in range(wanted)]
    bits = [capacity(link, at / _SECOND, (at + length) / _SECOND) * length / _SECOND for at in places]
    return [(at, at + length) for at, carried in zip(places, bits, strict=True) if carried >= MIN_WINDOW_BITS] or [part]
