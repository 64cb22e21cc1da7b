"""The links that a search is measured on where none is named: generated, so that a first search needs no file.

Each resembles a path that senders meet, and they call for different windows: wired links with small and with bloated
buffers, rates that step, cellular links whose rate wanders, links that stop for a while, links shared with CUBIC or
Reno, slow cellular ones with deep queues (3G recordings have 0.3 to 5 Mbit/s in the mean), Wi-Fi that acknowledges in
batches, a satellite's that loses packets and changes its rate every few seconds, and 5G's. The three parts are of the
same kinds with other rates, delays and buffers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from vulcan.errors import UserError, did_you_mean
from vulcan.evaluator import SplitName
from vulcan_link.algorithms import ALGORITHMS
from vulcan_link.scenario import MAX_LATE_MS
from vulcan_traces.links import LinkTrace

NONE = "none"


@dataclass(frozen=True, slots=True)
class Workload:
    """A generated link (see `vulcan_traces.links`) and what is around it, written as in the settings."""

    name: str
    link: str
    delay_ms: float
    buffer: str
    competing: str = NONE
    jitter_ms: float = 0.5
    ack_batch_ms: float = 0.0
    loss: float = 0.0
    competing_delay_ms: float | None = None


WORKLOADS: Mapping[SplitName, tuple[Workload, ...]] = {
    "train": (
        Workload("wired", "constant:rate=12", 20.0, "1bdp"),
        Workload("fast", "constant:rate=40", 8.0, "2bdp", jitter_ms=0.0),
        Workload("bloated", "constant:rate=6", 30.0, "6bdp"),
        Workload("steps", "steps:rates=24-6-16-3,every=3", 25.0, "2bdp", loss=0.001),
        Workload("cellular", "markov:low=1.5,high=20,states=10,dwell=0.25,seed=1,seconds=60", 20.0, "150", NONE, 2.0),
        Workload("outages", "outage:rate=10,every=5,length=0.4,seed=1,seconds=60", 30.0, "2bdp", ack_batch_ms=5.0),
        Workload("shared", "constant:rate=20", 15.0, "2bdp", "cubic", competing_delay_ms=25.0),
        Workload("slow", "markov:low=0.3,high=5,states=10,dwell=0.5,seed=4,seconds=60", 20.0, "150", jitter_ms=2.0),
        Workload("wifi", "markov:low=10,high=60,states=8,dwell=0.1,seed=5,seconds=60", 10.0, "300", ack_batch_ms=6.0),
        Workload("satellite", "steps:rates=50-80-30-60,every=5", 40.0, "1bdp", jitter_ms=3.0, loss=0.002),
        Workload("5g", "markov:low=20,high=150,states=12,dwell=0.3,seed=6,seconds=60", 12.0, "800", ack_batch_ms=2.0),
    ),
    "validation": (
        Workload("wired", "constant:rate=18", 35.0, "0.5bdp"),
        Workload("bloated", "constant:rate=9", 15.0, "8bdp"),
        Workload("steps", "steps:rates=8-30-12-20,every=4", 12.0, "1bdp", loss=0.0005),
        Workload("cellular", "markov:low=2,high=30,states=12,dwell=0.4,seed=2,seconds=60", 25.0, "200", NONE, 2.0, 4.0),
        Workload("outages", "outage:rate=16,every=4,length=0.25,seed=2,seconds=60", 20.0, "1bdp"),
        Workload("shared", "constant:rate=15", 25.0, "1bdp", "cubic", competing_delay_ms=10.0),
        Workload("slow", "markov:low=0.5,high=3,states=8,dwell=1,seed=7,seconds=60", 35.0, "200", jitter_ms=2.0),
        Workload("wifi", "markov:low=5,high=40,states=8,dwell=0.2,seed=8,seconds=60", 15.0, "200", ack_batch_ms=8.0),
        Workload("satellite", "steps:rates=20-45-70,every=4", 30.0, "1.5bdp", jitter_ms=2.0, loss=0.001),
        Workload("5g", "markov:low=10,high=100,states=12,dwell=0.5,seed=9,seconds=60", 15.0, "600", jitter_ms=1.0),
    ),
    "test": (
        Workload("wired", "constant:rate=30", 25.0, "1bdp", jitter_ms=0.0),
        Workload("bloated", "constant:rate=5", 20.0, "10bdp"),
        Workload("steps", "steps:rates=5-25-2-14,every=3.5", 30.0, "3bdp", loss=0.002),
        Workload("cellular", "markov:low=1,high=12,states=9,dwell=0.15,seed=3,seconds=60", 35.0, "100", jitter_ms=2.0),
        Workload("outages", "outage:rate=8,every=6,length=0.6,seed=3,seconds=60", 15.0, "3bdp", ack_batch_ms=8.0),
        Workload("shared", "constant:rate=24", 20.0, "3bdp", "reno", competing_delay_ms=40.0),
        Workload("slow", "markov:low=0.2,high=4,states=9,dwell=0.7,seed=10,seconds=60", 25.0, "150", jitter_ms=2.0),
        Workload("wifi", "markov:low=8,high=50,states=8,dwell=0.15,seed=11,seconds=60", 8.0, "250", ack_batch_ms=5.0),
        Workload("satellite", "steps:rates=40-20-60-90,every=6", 50.0, "1bdp", jitter_ms=4.0, loss=0.003),
        Workload("5g", "markov:low=30,high=200,states=12,dwell=0.4,seed=12,seconds=60", 10.0, "1000", jitter_ms=1.0),
    ),
}


# Competing flows: `cubic`, `cubic:2`, `bbr:1@5-15` (from 5 s to 15 s), or `none`.

_COMPETITORS_SPEC = re.compile(
    r"(?P<algorithm>[a-z][a-z0-9_-]*)(?::(?P<count>[0-9]{1,4}))?"
    r"(?:@(?P<start>[0-9]+(?:\.[0-9]+)?)(?:-(?P<stop>[0-9]+(?:\.[0-9]+)?))?)?\Z"
)
ENDLESS = "endless"
OPTIONAL: Mapping[str, str] = {
    "application": ENDLESS, "policer": NONE, "reordering": NONE, "transfers": NONE
}  # fmt: skip
"""Settings of what few paths have, and what each is where it is not set."""

MAX_COMPETITORS = 100
"""Flows that may share a link."""


@dataclass(frozen=True, slots=True)
class Competitors:
    """`count` flows of one algorithm, from `start_s` until `stop_s` (None: the end)."""

    algorithm: str
    count: int
    start_s: float = 0.0
    stop_s: float | None = None


def parse_competitors(spec: str) -> Competitors:
    """Parse flows of the setting. Raises UserError for an invalid value."""
    match = _COMPETITORS_SPEC.match(spec)
    if match is None:
        raise UserError(f"competing flows {spec!r}: an algorithm, how many and when, such as cubic:2 or cubic:1@5-15")
    known = [name for name in ALGORITHMS if name != "policy"]
    if match["algorithm"] not in known:
        name = match["algorithm"]
        raise UserError(
            f"competing flows {spec!r}: no algorithm {name!r}{did_you_mean(name, known)} (known: {', '.join(known)})"
        )
    count = int(match["count"] or 1)
    start, stop = float(match["start"] or 0), float(match["stop"]) if match["stop"] else None
    if not 1 <= count <= MAX_COMPETITORS:
        raise UserError(f"competing flows {spec!r}: from 1 to {MAX_COMPETITORS} flows")
    if stop is not None and stop <= start:
        raise UserError(f"competing flows {spec!r}: they stop before they start")
    return Competitors(match["algorithm"], count, start, stop)


def fair_share(flows: int, competitors: Sequence[Competitors], stop_s: float, start_s: float = 0.0) -> float:
    """Return the share of a constant link that each of `flows` flows gets if active flows always share it evenly."""
    ends = [stop_s if c.stop_s is None else min(c.stop_s, stop_s) for c in competitors]
    changes = [min(c.start_s, stop_s) for c in competitors] + ends
    moments = sorted({start_s, stop_s, *(moment for moment in changes if moment > start_s)})
    share = 0.0
    for begin, end in pairwise(moments):
        others = sum(c.count for c, last in zip(competitors, ends, strict=True) if c.start_s <= begin and end <= last)
        share += (end - begin) / (stop_s - start_s) * flows / (flows + others)
    return share


# Pairs of numbers: `20/100`.

_PAIR = re.compile(r"([0-9]+(?:\.[0-9]+)?)/([0-9]+(?:\.[0-9]+)?)\Z")
MIN_WRITE_MS, MAX_WRITE_MS, MAX_WRITE_PACKETS = 0.1, 100_000.0, 999_999
MAX_POLICER_KB = 1e9

MAX_FLOWS = 100
"""Flows that a policy may control."""


def _pair(what: str, text: str, fits: Callable[[float, float], bool], hint: str) -> tuple[float, float]:
    match = _PAIR.match(text)
    pair = (float(match[1]), float(match[2])) if match else (0.0, 0.0)
    if not fits(*pair):
        raise UserError(f"{what} {text!r}: {hint}")
    return pair


def _packets_every(what: str, text: str, between: str, example: str) -> tuple[int, float]:
    packets, ms = _pair(
        what,
        text,
        lambda packets, ms: (
            1 <= packets <= MAX_WRITE_PACKETS and packets == int(packets) and MIN_WRITE_MS <= ms <= MAX_WRITE_MS
        ),
        f"packets and the {MIN_WRITE_MS:g} to {MAX_WRITE_MS:,.0f} milliseconds between {between}, such as {example}",
    )
    return int(packets), ms


def parse_writes(spec: str) -> tuple[int, float]:
    """Return the packets of a write and the ms between writes; 0 packets for `endless` data. Raises UserError."""
    if spec == ENDLESS:
        return 0, 100.0
    return _packets_every("application", spec, "writes", f"20/100, or {ENDLESS}")


def parse_transfers(spec: str) -> tuple[int, float]:
    """Return the packets of a transfer and the ms between their starts; 0 packets for `none`. Raises UserError."""
    if spec == NONE:
        return 0, 100.0
    return _packets_every("transfers", spec, "starts", f"100/500, or {NONE}")


def transfer_starts(every_ms: float, duration_s: float) -> list[float]:
    """Return when transfers start, in seconds: as many as start in the time, and at least one."""
    return [1e-3 * every_ms * number for number in range(max(1, math.ceil(1e3 * duration_s / every_ms - 1e-9)))]


def parse_policer(spec: str) -> tuple[float, int]:
    """Return the rate in Mbit/s and the bucket in bytes; 0 and 0 for `none`. Raises UserError."""
    if spec == NONE:
        return 0.0, 0
    hint = f"Mbit/s and the bucket in kilobytes, such as 8/64, or {NONE}"
    mbps, kilobytes = _pair("policer", spec, lambda mbps, kilobytes: mbps > 0 and kilobytes <= MAX_POLICER_KB, hint)
    return mbps, round(1000 * kilobytes)


def parse_reordering(spec: str) -> tuple[float, float]:
    """Return the share of packets that come late, and by how many ms; 0 and 0 for `none`. Raises UserError."""
    if spec == NONE:
        return 0.0, 0.0
    hint = f"the share of packets that come late, below 1, and by how many milliseconds, such as 0.01/10, or {NONE}"
    return _pair("reordering", spec, lambda share, ms: 0 < share < 1 and 0 < ms <= MAX_LATE_MS, hint)


# Buffer sizes.

PACKET_BITS = 1500 * 8
MAX_BUFFER_PACKETS = 1_000_000

_BUFFER_SPEC = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>bdp)?\Z")


def buffer_in_packets(spec: str, link: LinkTrace, delay_ms: float) -> int:
    """`100` packets, or `1.5bdp`: 1.5 times what the link sends at its mean rate in a round-trip time without a queue.

    At least 2 packets. Raises UserError for anything else, and for more than a million packets.
    """
    match = _BUFFER_SPEC.match(spec.strip().lower())
    if match is None:
        raise UserError(f"buffer {spec!r}: packets (100) or multiples of the bandwidth-delay product (1bdp)")
    number = float(match["number"])
    if match["unit"]:
        packets = round(number * link.mean_rate * 2 * delay_ms / 1e3 / PACKET_BITS)
    elif number == math.floor(number):
        packets = int(number)
    else:
        raise UserError(f"buffer {spec!r}: a whole number of packets, or multiples of the BDP as {spec}bdp")
    if not (number > 0 and packets <= MAX_BUFFER_PACKETS):
        raise UserError(f"buffer {spec!r}: from 1 to {MAX_BUFFER_PACKETS} packets, and this would be {packets}")
    return max(2, packets)
