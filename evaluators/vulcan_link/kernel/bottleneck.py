"""The bottleneck of the emulated link: delivery opportunities and a drop-tail queue, with Mahimahi's meaning.

Nothing here reads a clock or a device: packets and times are given. `emulator` joins it to the real ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

# What one opportunity carries: a packet of 1,500 bytes and the four that a TUN device puts before it
OPPORTUNITY_BYTES = 1504
HEADER_BYTES = 4
_NEVER = 1 << 62


@dataclass(slots=True)
class LinkLog:
    """What happened at the bottleneck; times in ns since the link began, bytes with the TUN header's four."""

    arrived: list[tuple[int, int]] = field(default_factory=list)  # when, bytes
    dropped: list[tuple[int, int]] = field(default_factory=list)  # when, bytes
    departed: list[tuple[int, int, int]] = field(default_factory=list)  # when, bytes, when it had arrived; in order
    opportunities: int = 0


class Bottleneck:
    """Carries packets by opportunities, as Mahimahi's `mm-link` does (Netravali et al., USENIX ATC 2015).

    Each opportunity carries up to 1,504 bytes: what a packet leaves of it goes to the next one that waits, a packet
    that does not fit continues in the next opportunity, and an opportunity with nothing waiting is lost. An arrival
    is dropped where `packets` wait already; one that is partly sent waits no longer.

    Args:
        opportunities: when each comes, in ns, nondecreasing. The link ends with the last one.
        packets: how many may wait.
    """

    def __init__(self, opportunities: Sequence[int], packets: int) -> None:
        self.log = LinkLog()
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
        """A packet comes, after `advance(now)`."""
        size = len(packet) + HEADER_BYTES
        self.log.arrived.append((now, size))
        if len(self._queue) >= self._packets:
            self.log.dropped.append((now, size))
        else:
            self._queue.append((now, packet))

    def advance(self, now: int) -> list[bytes]:
        """Uses every opportunity up to `now` (ns); the packets that have crossed, in order."""
        times, queue, number = self._times, self._queue, self._next
        crossed = []
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
    """Holds packets for a fixed time (ns), in order."""

    def __init__(self, delay: int) -> None:
        self._delay = delay
        self._held: deque[tuple[int, bytes]] = deque()

    @property
    def next_event(self) -> int | None:
        """When the next packet comes out (ns)."""
        return self._held[0][0] if self._held else None

    def arrive(self, now: int, packet: bytes) -> None:
        """A packet comes."""
        self._held.append((now + self._delay, packet))

    def advance(self, now: int) -> list[bytes]:
        """The packets whose time has come by `now`."""
        out = []
        while self._held and self._held[0][0] <= now:
            out.append(self._held.popleft()[1])
        return out
