"""Bottleneck of the emulated link: delivery opportunities and a drop-tail queue, with Mahimahi's semantics.

Nothing here reads a clock or a device: packets and times are given. `emulator` joins it to the real ones.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np
from numpy.typing import NDArray

from vulcan_traces.links import OPPORTUNITY_BYTES, LinkTrace, repeated

# What a TUN device puts before a packet
HEADER_BYTES = 4
# Of packets without data: headers and options
_MAX_CONTROL_BYTES = 120
_NEVER = 1 << 62
_MS = 1_000_000


@dataclass(slots=True)
class LinkLog:
    """Event log of the bottleneck; times in ns since the link began, bytes include the TUN header's four."""

    arrived: list[tuple[int, int]] = field(default_factory=list)  # when, bytes
    dropped: list[tuple[int, int]] = field(default_factory=list)  # when, bytes
    departed: list[tuple[int, int, int]] = field(default_factory=list)  # when, bytes, when it had arrived; in order
    opportunities: int = 0
    lost: int = 0  # at random, before they came to the queue


class Bottleneck:
    """Bottleneck with delivery opportunities, as in Mahimahi's `mm-link` (Netravali et al., USENIX ATC 2015).

    Each opportunity carries up to 1,504 bytes: what a packet leaves of it goes to the next one that waits, a packet
    that does not fit continues in the next opportunity, and an opportunity with nothing waiting is lost. An arrival
    is dropped where `packets` wait already; one that is partly sent waits no longer.

    Args:
        opportunities: when each comes, in ns, nondecreasing. The link ends with the last one.
        packets: how many may wait.
        loss: the probability that a packet of data is lost on its way to the queue, drawn from `seed`.
        policer: bytes a second, and of its bucket, beyond which packets are dropped as they come; None for no policer.
    """

    def __init__(
        self,
        opportunities: Sequence[int],
        packets: int,
        loss: float = 0.0,
        seed: int = 1,
        *,
        policer: tuple[float, int] | None = None,
    ) -> None:
        self.log = LinkLog()
        self._policer = policer
        self._tokens, self._tokens_at = float(policer[1] if policer else 0), 0
        self._loss, self._random = loss, Random(seed)
        self._times = [*opportunities, _NEVER]
        self._next = 0
        self._packets = packets
        self._queue: deque[tuple[int, bytes]] = deque()
        self._in_transit: tuple[int, bytes] | None = None
        self._bytes_left = 0

    @property
    def waiting(self) -> int:
        """Packets that wait; one that is partly sent does not count."""
        return len(self._queue)

    @property
    def next_event(self) -> int | None:
        """The next opportunity (ns), where there is something for it to carry."""
        if self._in_transit is None and not self._queue:
            return None
        return self._times[self._next]

    def arrive(self, now: int, packet: bytes) -> None:
        """Take a packet, after `advance(now)`."""
        size = len(packet) + HEADER_BYTES
        if self._loss and len(packet) > _MAX_CONTROL_BYTES and self._random.random() < self._loss:
            self.log.lost += 1
            return
        self.log.arrived.append((now, size))
        if not self._conforms(now, len(packet)) or len(self._queue) >= self._packets:
            self.log.dropped.append((now, size))
        else:
            self._queue.append((now, packet))

    def _conforms(self, now: int, size: int) -> bool:
        """Take a packet's tokens out of the policer's bucket, which is full at first."""
        if self._policer is None:
            return True
        rate, burst = self._policer
        self._tokens = min(burst, self._tokens + (now - self._tokens_at) * 1e-9 * rate)
        self._tokens_at = now
        if self._tokens < size:
            return False
        self._tokens -= size
        return True

    def advance(self, now: int) -> list[bytes]:
        """Uses every opportunity up to `now` (ns); the packets that have crossed, in order."""
        times, queue, number = self._times, self._queue, self._next
        crossed: list[bytes] = []
        while times[number] <= now:
            when = times[number]
            number += 1
            room = OPPORTUNITY_BYTES
            while room:
                if self._in_transit is None:
                    if not queue:
                        break
                    self._in_transit = queue.popleft()
                    self._bytes_left = len(self._in_transit[1]) + HEADER_BYTES
                sent = min(room, self._bytes_left)
                room -= sent
                self._bytes_left -= sent
                if not self._bytes_left:
                    arrived, packet = self._in_transit
                    self._in_transit = None
                    self.log.departed.append((when, len(packet) + HEADER_BYTES, arrived))
                    crossed.append(packet)
        self.log.opportunities += number - self._next
        self._next = number
        return crossed

    def drain(self) -> None:
        """Carries what still waits by the opportunities to come; the log counts the packets, not the opportunities."""
        opportunities = self.log.opportunities
        while self.next_event is not None and self.next_event != _NEVER:
            self.advance(self.next_event)
        self.log.opportunities = opportunities


class DelayLine:
    """Delay line: holds packets for a fixed time (ns), those of a flow in order.

    Args:
        delay: of all flows but those in `delays`, by the sender's port.
        noise: what is added at random, for each millisecond anew and for all flows the same.
        batch: packets but those that open a connection come out on its multiples, 0 for at once.
        late: the share of packets with data that come out late, drawn from `seed`, and by how many ns; others overtake
            them.
    """

    def __init__(
        self,
        delay: int,
        *,
        delays: Mapping[int, int] | None = None,
        noise: Sequence[int] = (0,),
        batch: int = 0,
        late: tuple[float, int] = (0.0, 0),
        seed: int = 1,
    ) -> None:
        self._late, self._random = late, Random(seed)
        self._delay, self._delays, self._noise, self._batch = delay, delays or {}, noise, batch
        self._held: list[tuple[int, int, bytes]] = []
        self._latest: dict[int, int] = {}
        self._count = 0

    @property
    def next_event(self) -> int | None:
        """Return the time at which the next packet leaves (ns)."""
        return self._held[0][0] if self._held else None

    def arrive(self, now: int, packet: bytes) -> None:
        """Take a packet."""
        flow = sender_port(packet)
        when = now + self._delays.get(flow, self._delay) + self._noise[now // _MS % len(self._noise)]
        if self._batch and not opens_connection(packet):
            when += -when % self._batch
        when = max(when, self._latest.get(flow, 0))
        if len(packet) > _MAX_CONTROL_BYTES and self._random.random() < self._late[0]:
            when += self._late[1]
        else:
            self._latest[flow] = when
        heapq.heappush(self._held, (when, self._count, packet))
        self._count += 1

    def advance(self, now: int) -> list[bytes]:
        """Return the packets whose time has come by `now`."""
        out = []
        while self._held and self._held[0][0] <= now:
            out.append(heapq.heappop(self._held)[2])
        return out


# TCP over IPv4, without options of IP, as the kernel sends it.

_PORTS, _FLAGS, _SYN = slice(20, 24), 33, 2


def sender_port(packet: bytes) -> int:
    """Return the sender's port of a TCP packet, whichever way it goes: the lower one is the receiver's."""
    ports = packet[_PORTS]
    return max(int.from_bytes(ports[:2], "big"), int.from_bytes(ports[2:], "big"))


def opens_connection(packet: bytes) -> bool:
    """Check whether a TCP packet has the flag SYN."""
    return len(packet) > _FLAGS and bool(packet[_FLAGS] & _SYN)


# Delivery opportunities of a link trace.

# A full packet: 1,500 bytes on the wire
_PACKET_BITS = 1500 * 8.0


def opportunity_times(trace: LinkTrace, until: int) -> NDArray[np.int64]:
    """Return every delivery opportunity of a trace up to `until` (ns), nondecreasing int64 ns; the trace repeats.

    A trace of rates gives an opportunity whenever the link has had the time for one more 1,500-byte packet.
    """
    trace = repeated(trace, until)
    if trace.kind == "opportunities":
        return trace.times[trace.times <= until]
    edges = np.append(trace.times, trace.period).astype(np.float64)
    carried = np.concatenate(([0.0], np.cumsum(trace.rates * np.diff(edges) * 1e-9)))
    packets = np.arange(1, int(carried[-1] // _PACKET_BITS) + 1) * _PACKET_BITS
    # The first stretch at whose end the link has carried so much; its rate is above 0
    stretch = np.searchsorted(carried, packets, "left") - 1
    when = edges[stretch] + (packets - carried[stretch]) / trace.rates[stretch] * 1e9
    times: NDArray[np.int64] = np.ceil(when - 1e-3).astype(np.int64)
    return times[times <= until]
