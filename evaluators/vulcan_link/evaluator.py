"""Evaluator of the task `congestion_control`: links in, throughput and delay out."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, cast

from vulcan.anvil import Policy
from vulcan.baseline_cache import cached_metrics
from vulcan.errors import UserError
from vulcan.evaluator import BaselineKind, Instance, Rung, SplitName
from vulcan.simulator.plan import shares_in_time
from vulcan.task import Json, Metrics, Split
from vulcan_link import shifts
from vulcan_link.baselines import BASELINES, simulator_digest
from vulcan_link.findings.sender import BY_GOODPUT, LinkFindings
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.short_runs import LinkProbe, make_rungs
from vulcan_link.simulate import capacity, simulate
from vulcan_link.workloads import (
    ENDLESS,
    MAX_FLOWS,
    NONE,
    WORKLOADS,
    Competitors,
    LinkWorkload,
    buffer_in_packets,
    parse_competitors,
    parse_policer,
    parse_reordering,
    parse_transfers,
    parse_writes,
    transfer_starts,
)
from vulcan_traces.links import LinkTrace, cut_link, load_link, repeated, scaled_link
from vulcan_traces.links.generator_spec import is_link_spec

log = logging.getLogger(__name__)

DELAY_MS = 20.0
BUFFER = "1bdp"
JITTER_MS = 0.5
"""Defaults of a link named by the user."""

MIN_RECORDED_BUFFER = 150
MIN_GENERATED_BUFFER = 20
"""Packets that the default buffer has at least, as generated cellular links do: 1bdp of a slow one would be two."""

MAX_WINDOWS = 32
"""Windows in which a part of a long trace is searched, if not told otherwise."""

MIN_WINDOW_BITS = 20 * 1500 * 8.0
"""What a window must carry to be one: in an outage every policy measures the same."""

_SECOND = 1e9
_MAX_DELAY_MS = 10_000.0
_HOW = ("queue", "loss_seed", "called", "slow_start")
"""The settings that every instance repeats."""


@dataclass(frozen=True, slots=True)
class _Path:
    """A link and what is around it, before settings make instances of it; the part is of the link's trace."""

    label: str
    link: LinkTrace
    spec: str
    split: SplitName
    part: tuple[int, int]
    delays: tuple[float, ...]
    buffers: tuple[str, ...]
    competing: tuple[str, ...]
    noise: Mapping[str, Json]
    jitters: tuple[float, ...] = (0.0,)
    min_buffer: int = 2


class LinkEvaluator(LinkFindings):
    """Evaluator whose instances are a link, its path and the flows that share it; no state is kept between instances.

    Without a named link there are generated ones, others for training, validation and test. The trace of a named link
    is cut along time: the search is measured on the first part, the winner chosen on the next, and the test on the
    last; each part repeats as the whole would, and a run lasts as long as the setting says.
    """

    def __init__(self) -> None:
        super().__init__()
        self._links: dict[tuple[str, str | None], LinkTrace] = {}
        self._parts: dict[tuple[str, int, int], LinkTrace] = {}
        self._probe: LinkProbe | None = None

    def instances(self, settings: Mapping[str, Json], split: Split) -> Sequence[Instance]:
        """See `vulcan.evaluator.Evaluator`."""
        _check(settings)
        given = cast(list[str], settings["link"] or [])
        paths = [path for spec in given for path in self._named(spec, settings, split)] or self._generated(settings)
        return tuple(
            self._instance(path, delay, buffer, jitter, settings)
            for path in _with_distinct_labels(paths)
            for delay, buffer, jitter in product(path.delays, path.buffers, path.jitters)
        )

    def prepare(self, instances: Sequence[Instance]) -> None:
        """See `vulcan.evaluator.Evaluator`."""
        from vulcan.anvil.native.jit import warm_up

        warm_up()
        scenarios = [(instance, _scenario(instance, "policy", self._link(instance))) for instance in instances]
        link = load_link("constant:rate=1,seconds=1")
        simulate(Scenario(link, Queue(packets=10), (Flow("reno"),), duration_s=0.2))  # compiles the kernel, or loads it
        searched = [s for instance, s in scenarios if instance.split == "train"] or [s for _, s in scenarios]
        self._probe = LinkProbe.of(searched)

    def evaluate(self, policy: Policy, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`; the metrics are those of `vulcan_link.result`."""
        return self.measured(instance, "policy", policy=policy)

    def rungs(self, instances: Sequence[Instance]) -> Sequence[Rung]:
        """See `vulcan.evaluator.Evaluator`: shorter runs."""
        return make_rungs(instances)

    def shifted(self, instance: Instance) -> Sequence[Instance]:
        """See `vulcan.evaluator.Evaluator`: beside CUBIC, and slow and noisy."""
        return shifts.shifted(instance)

    def decisions(self, policy: Policy) -> str:
        """See `vulcan.evaluator.Evaluator`: a digest of the windows that the policy chooses."""
        if self._probe is None:
            raise ValueError("decisions are known only after prepare")
        return self._probe.digest(policy)

    def baselines(self) -> Mapping[str, BaselineKind]:
        """See `vulcan.evaluator.Evaluator`."""
        return {name: baseline.kind for name, baseline in BASELINES.items()}

    def evaluate_baseline(self, name: str, instance: Instance) -> Metrics:
        """See `vulcan.evaluator.Evaluator`; a result is cached on disk by all that it depends on."""
        baseline = BASELINES[name]
        of: dict[str, Json] = {k: v for k, v in instance.parameters.items() if k not in ("link", "link_format")}
        return cached_metrics(
            ["link", name, baseline.parameter, simulator_digest(), of],
            lambda: self.measured(instance, baseline.algorithm, baseline.parameter),
        )

    def scenario(self, instance: Instance, algorithm: str, parameter: float = 0.0) -> Scenario:
        """See `LinkFindings`."""
        return _scenario(instance, algorithm, self._link(instance), parameter)

    def _named(self, spec: str, settings: Mapping[str, Json], split: Split) -> list[_Path]:
        """Return a link that the user names, cut along time."""
        link = self._loaded(spec, cast("str | None", settings["link_format"]))
        whole = repeated(link, round(cast(float, settings["duration_s"]) * _SECOND)) if split.by == "time" else link
        label = link.name if ":" not in spec or "name=" in spec else spec
        recorded = not is_link_spec(spec)
        floor = MIN_RECORDED_BUFFER if recorded else MIN_GENERATED_BUFFER
        return [
            _Path(
                label=label if window == part else f"{label} @{window[0] / _SECOND:.0f}s",
                link=whole,
                spec=spec,
                split=name,
                part=window,
                delays=_delays(settings, DELAY_MS),
                buffers=_texts(settings, "buffer", BUFFER),
                competing=_texts(settings, "competing", NONE),
                noise=_noise(settings),
                jitters=_jitters(settings, JITTER_MS),
                min_buffer=floor if _has_noise(settings) and not settings["buffer"] else 2,
            )
            for name, (start, stop) in shares_in_time(split)
            for part in [(round(start * whole.period), round(stop * whole.period))]
            for window in _windows(whole, part, settings, MAX_WINDOWS if recorded else 1)
        ]

    def _generated(self, settings: Mapping[str, Json]) -> list[_Path]:
        return [self._of(workload, part, settings) for part, known in WORKLOADS.items() for workload in known]

    def _of(self, workload: LinkWorkload, part: SplitName, settings: Mapping[str, Json]) -> _Path:
        if settings["link_format"] is not None:
            raise UserError("--link-format is for link traces, and no --link is given")
        link = self._loaded(workload.link, None)
        return _Path(
            label=f"{workload.name}-{link.mean_rate / 1e6:.3g}mbps",
            link=link,
            spec=workload.link,
            split=part,
            part=(0, link.period),
            delays=_delays(settings, workload.delay_ms),
            buffers=_texts(settings, "buffer", workload.buffer),
            competing=_texts(settings, "competing", workload.competing),
            noise=_noise(settings, workload),
            jitters=_jitters(settings, workload.jitter_ms),
        )

    def _instance(
        self, path: _Path, delay_ms: float, buffer: str, jitter_ms: float, settings: Mapping[str, Json]
    ) -> Instance:
        competing = [spec for spec in path.competing if parse_competitors(spec) is not None]
        beside = "".join(f"+{spec}" for spec in competing)
        noise = dict(path.noise)
        if _has_noise(settings):
            noise["jitter_ms"] = jitter_ms
        packets = buffer_in_packets(buffer, path.link, delay_ms)
        if packets < path.min_buffer:
            packets, buffer = path.min_buffer, f"{path.min_buffer}"
        jittered = f" jitter {jitter_ms:g}ms" if len(path.jitters) > 1 else ""
        self._parts[path.link.digest, *path.part] = cut_link(path.link, *path.part)
        return Instance(
            name=f"{path.label}{beside} {delay_ms:g}ms {buffer}{jittered}",
            split=path.split,
            parameters={
                "link": path.spec,
                "link_format": settings["link_format"],
                "digest": path.link.digest,
                "repeated_ns": path.link.period,
                "from_ns": path.part[0],
                "to_ns": path.part[1],
                "delay_ms": delay_ms,
                "buffer_packets": packets,
                "duration_s": settings["duration_s"],
                "flows": settings["flows"],
                "competing": cast(Json, competing),
                **{name: settings[name] for name in _HOW},
                "ecn": bool(settings["ecn"]),
                **_beyond_noise(settings),
                **noise,
            },
        )

    def _loaded(self, spec: str, format: str | None) -> LinkTrace:
        if (spec, format) not in self._links:
            self._links[spec, format] = load_link(spec, format=format)
        return self._links[spec, format]

    def _link(self, instance: Instance) -> LinkTrace:
        """Return the part of the link's trace that the instance is measured on."""
        p = cast(dict[str, Any], instance.parameters)
        key = (p["digest"], p["from_ns"], p["to_ns"])
        if key not in self._parts:
            whole = repeated(self._loaded(p["link"], p["link_format"]), p["repeated_ns"])
            if whole.digest != p["digest"]:
                raise UserError(f"{p['link']}: the trace has changed since the instances were made")
            self._parts[key] = cut_link(whole, p["from_ns"], p["to_ns"])
        return scaled_link(self._parts[key], p.get("rate_share", 1.0))


def _scenario(instance: Instance, algorithm: str, link: LinkTrace, parameter: float = 0.0) -> Scenario:
    p = cast(dict[str, Any], instance.parameters)
    packets_written, write_ms = parse_writes(p.get("application", ENDLESS))
    policer_mbps, policer_bytes = parse_policer(p.get("policer", NONE))
    late_share, late_ms = parse_reordering(p.get("reordering", NONE))
    own = Flow(
        algorithm,
        delay_ms=p["delay_ms"],
        ecn=p["ecn"],
        parameter=parameter,
        called=p["called"],
        slow_start=p["slow_start"],
        write_packets=packets_written,
        write_ms=write_ms,
    )
    others = [
        Flow(
            c.algorithm,
            delay_ms=p.get("competing_delay_ms") or p["delay_ms"],
            start_s=c.start_s,
            stop_s=c.stop_s,
            ecn=p["ecn"],
        )
        for spec in p["competing"]
        if (c := parse_competitors(spec)) is not None
        for _ in range(c.count)
    ]
    transfer_packets, every_ms = parse_transfers(p.get("transfers", NONE))
    mine = [own]
    if transfer_packets:
        once = replace(own, write_packets=transfer_packets, write_ms=1e9, stop_s=p["duration_s"])
        mine = [replace(once, start_s=start) for start in transfer_starts(every_ms, p["duration_s"])]
    packets = p["buffer_packets"]
    marks = max(1, packets // 2) if p["ecn"] and p["queue"] == "droptail" else None
    return Scenario(
        link=link,
        queue=Queue(kind=p["queue"], packets=packets, ecn=p["ecn"], mark_packets=marks),
        flows=(*mine * p["flows"], *others),
        duration_s=p["duration_s"],
        loss=p["loss"],
        seed=p["loss_seed"],
        jitter_us=1e3 * p.get("jitter_ms", 0.0),
        ack_batch_ms=p.get("ack_batch_ms", 0.0),
        handshake=p.get("handshake", False),
        policer_mbps=policer_mbps,
        policer_bytes=policer_bytes,
        late_share=late_share,
        late_ms=late_ms,
        reverse=Flow(p["reverse"], delay_ms=p["delay_ms"]) if "reverse" in p else None,
    )


def _beyond_noise(settings: Mapping[str, Json]) -> dict[str, Json]:
    """Return what is set of what few links have; runs recorded before these settings existed know of none of them."""
    given = {
        "application": settings.get("application") or ENDLESS,
        "policer": settings.get("policer") or NONE,
        "reverse": settings.get("reverse") or NONE,
        "reordering": settings.get("reordering") or NONE,
        "transfers": settings.get("transfers") or NONE,
    }
    return {name: value for name, value in given.items() if value not in (ENDLESS, NONE)}


def _has_noise(settings: Mapping[str, Json]) -> bool:
    """Check whether the settings know of noise; those of runs recorded before do not, and are measured as then."""
    return "jitter_ms" in settings


def _noise(settings: Mapping[str, Json], workload: LinkWorkload | None = None) -> dict[str, Json]:
    """Return the parameters of what disturbs a path besides jitter: as set, else as the generated link has it."""
    loss = settings["loss"]
    if not _has_noise(settings):
        return {"loss": loss}
    batch, others = settings["ack_batch_ms"], settings["competing_delay_ms"]
    if workload is not None:
        loss = workload.loss if loss is None else loss
        batch = workload.ack_batch_ms if batch is None else batch
        others = workload.competing_delay_ms if others is None else others
    return {
        "loss": loss or 0.0,
        "ack_batch_ms": batch or 0.0,
        "competing_delay_ms": others,
        "handshake": settings["handshake"] == "measured",
        "measured_by": BY_GOODPUT,
    }


def _jitters(settings: Mapping[str, Json], default: float) -> tuple[float, ...]:
    return tuple(cast(list[float], settings["jitter_ms"] or [default])) if _has_noise(settings) else (0.0,)


def _windows(link: LinkTrace, part: tuple[int, int], settings: Mapping[str, Json], auto: int) -> list[tuple[int, int]]:
    """Return the windows of a part of the trace in which runs take place: as many as cover it, evenly spread.

    Where the part is longer than that many runs, `auto` of them are spread over it, unless the setting says how many.
    A window that carries next to nothing is left out.
    """
    start, stop = part
    length = round(cast(float, settings["duration_s"]) * _SECOND)
    if not _has_noise(settings) or stop - start <= length:
        return [part]
    wanted = cast("int | None", settings["windows"]) or min(auto, -(-(stop - start) // length))
    if wanted == 1:
        return [part]
    places = [start + round(k * (stop - start - length) / (wanted - 1)) for k in range(wanted)]
    bits = [capacity(link, at / _SECOND, (at + length) / _SECOND) * length / _SECOND for at in places]
    return [(at, at + length) for at, carried in zip(places, bits, strict=True) if carried >= MIN_WINDOW_BITS] or [part]


def _check(settings: Mapping[str, Json]) -> None:
    """Check settings whose errors the simulator would report less clearly."""
    duration, flows, loss = (cast(Any, settings[name]) for name in ("duration_s", "flows", "loss"))
    loss = loss or 0.0
    if not 0 < duration <= 100_000:
        raise UserError(f"duration {duration} s: above 0 and at most 100000")
    if not 1 <= flows <= MAX_FLOWS:
        raise UserError(f"flows {flows}: from 1 to {MAX_FLOWS} flows can be the policy's")
    if not 0 <= loss < 1:
        raise UserError(f"loss {loss}: a share from 0, and below 1")
    parse_writes(cast("str | None", settings.get("application")) or ENDLESS)
    parse_policer(cast("str | None", settings.get("policer")) or NONE)
    transfers = cast("str | None", settings.get("transfers")) or NONE
    packets, every_ms = parse_transfers(transfers)
    if packets:
        count = flows * len(transfer_starts(every_ms, duration))
        if count > MAX_FLOWS:
            raise UserError(f"transfers {transfers}: {count} flows in {duration:g} s; at most {MAX_FLOWS} are possible")
        if settings.get("application"):
            raise UserError("transfers and an application: give one of them, for a transfer is what one writes")
    parse_reordering(cast("str | None", settings.get("reordering")) or NONE)
    if (reverse := settings.get("reverse") or NONE) != NONE and parse_competitors(f"{reverse}") != Competitors(
        f"{reverse}", 1
    ):
        raise UserError(f"reverse traffic {reverse!r}: an algorithm, such as cubic")
    for name in ("jitter_ms", "ack_batch_ms", "competing_delay_ms"):
        given = cast(Any, settings.get(name))
        for value in given if isinstance(given, list) else [given or 0.0]:
            if not 0 <= value <= _MAX_DELAY_MS:
                raise UserError(
                    f"{name.removesuffix('_ms').replace('_', ' ')} {value:g} ms: from 0 to {_MAX_DELAY_MS:g} ms"
                )
    windows = cast("int | None", settings.get("windows"))
    if windows is not None and windows < 1:
        raise UserError(f"windows {windows}: at least 1; without the option there are as many as cover the trace")


def _delays(settings: Mapping[str, Json], default: float) -> tuple[float, ...]:
    delays = tuple(float(d) for d in cast(list[float], settings["delay_ms"] or [default]))
    for delay in delays:
        if not 0 < delay <= _MAX_DELAY_MS:
            raise UserError(f"delay {delay:g} ms: above 0 and at most {_MAX_DELAY_MS:g} ms")
    return delays


def _texts(settings: Mapping[str, Json], name: str, default: str) -> tuple[str, ...]:
    return tuple(cast(list[str], settings[name] or [default]))


def _with_distinct_labels(paths: Sequence[_Path]) -> list[_Path]:
    """Links of the same name in one part are distinguished by the folders that they lie in."""
    specs: dict[tuple[str, str], set[str]] = {}
    for path in paths:
        specs.setdefault((path.label, path.split), set()).add(path.spec)
    return [
        replace(path, label=f"{Path(path.spec).parent.name}/{path.label}")
        if len(specs[path.label, path.split]) > 1
        else path
        for path in paths
    ]
