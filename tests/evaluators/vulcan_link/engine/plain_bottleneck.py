"""The bottleneck in plain Python, straight from its description: what the compiled one is compared with."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass
class Packet:
    flow: int
    size: int
    arrived: int


@dataclass
class Outcome:
    departures: list[tuple[int, int, int]] = field(default_factory=list)  # time, flow, queueing delay
    dropped: list[int] = field(default_factory=list)  # flows


class CoDel:
    """The pseudocode of RFC 8289, section 5, line by line."""

    def __init__(self, queue: deque[Packet], outcome: Outcome, target: int, interval: int) -> None:
        self.queue, self.outcome, self.target, self.interval = queue, outcome, target, interval
        self.first_above_time = self.drop_next = self.count = self.lastcount = 0
        self.dropping = False

    def dodequeue(self, now: int) -> tuple[Packet | None, bool]:
        if not self.queue:
            self.first_above_time = 0
            return None, False
        packet = self.queue.popleft()
        if now - packet.arrived < self.target or sum(p.size for p in self.queue) <= 1504:
            self.first_above_time = 0
        elif self.first_above_time == 0:
            self.first_above_time = now + self.interval
        elif now >= self.first_above_time:
            return packet, True
        return packet, False

    def control_law(self, t: int, count: int) -> int:
        return t + int(self.interval / math.sqrt(count))

    def dequeue(self, now: int) -> Packet | None:
        packet, ok_to_drop = self.dodequeue(now)
        if self.dropping:
            if not ok_to_drop:
                self.dropping = False
            while now >= self.drop_next and self.dropping:
                assert packet is not None
                self.outcome.dropped.append(packet.flow)
                self.count += 1
                packet, ok_to_drop = self.dodequeue(now)
                if not ok_to_drop:
                    self.dropping = False
                else:
                    self.drop_next = self.control_law(self.drop_next, self.count)
        elif ok_to_drop:
            assert packet is not None
            self.outcome.dropped.append(packet.flow)
            packet, _ = self.dodequeue(now)
            self.dropping = True
            delta = self.count - self.lastcount
            self.count = 1
            if delta > 1 and now - self.drop_next < 16 * self.interval:
                self.count = delta
            self.drop_next = self.control_law(now, self.count)
            self.lastcount = self.count
        return packet


def bottleneck(
    arrivals: list[Packet],
    link: object,
    *,
    packets: int | None,
    size: int | None,
    codel: tuple[int, int] | None,
    until: int,
) -> Outcome:
    """What becomes of these packets, in order of arrival; `link` is a LinkTrace, `codel` its target and interval."""
    outcome = Outcome()
    queue: deque[Packet] = deque()
    controller = CoDel(queue, outcome, *codel) if codel else None
    waiting = deque(arrivals)

    def take(now: int) -> Packet | None:
        if controller:
            return controller.dequeue(now)
        return queue.popleft() if queue else None

    def admit(packet: Packet) -> None:
        full = packets is not None and len(queue) >= packets
        heavy = size is not None and sum(p.size for p in queue) + packet.size > size
        if full or heavy:
            outcome.dropped.append(packet.flow)
        else:
            queue.append(packet)

    if link.kind == "opportunities":
        cycle = 0
        transit: Packet | None = None
        left_of_packet = 0
        while True:
            for offset in link.times:
                now = cycle * link.period + int(offset)
                while waiting and waiting[0].arrived < now:  # one that arrives at this very time comes too late
                    admit(waiting.popleft())
                if now > until:
                    return outcome
                left = 1504
                while left > 0:
                    if transit is None:
                        transit = take(now)
                        if transit is None:
                            break
                        left_of_packet = transit.size + 4
                    used = min(left, left_of_packet)
                    left -= used
                    left_of_packet -= used
                    if left_of_packet == 0:
                        outcome.departures.append((now, transit.flow, now - transit.arrived))
                        transit = None
            cycle += 1
    free = 0  # when the link has carried what it has
    while waiting or queue:
        if not queue:
            now = max(free, waiting[0].arrived)
            packet = waiting.popleft()
            # what arrives at an idle link is carried at once, and takes no room
            queue.append(packet)
        else:
            now = free
        while waiting and waiting[0].arrived < now:
            admit(waiting.popleft())
        if now > until:
            return outcome
        packet_or_none = take(now)
        if packet_or_none is None:
            continue
        end = transmitted(link, now, packet_or_none.size)
        while waiting and waiting[0].arrived < end:
            admit(waiting.popleft())
        if end > until:
            return outcome
        outcome.departures.append((end, packet_or_none.flow, now - packet_or_none.arrived))
        free = end
    return outcome


def transmitted(link: object, now: int, size: int) -> int:
    """When a packet is through whose transmission begins now: the integral of the rates reaches its bits."""
    bits = Fraction(size * 8 * 10**9)
    starts = [int(t) for t in link.times]
    at = Fraction(now)
    while True:
        cycle, within = divmod(at, link.period)
        index = max(i for i, start in enumerate(starts) if start <= within)
        end = cycle * link.period + (starts[index + 1] if index + 1 < len(starts) else link.period)
        rate = Fraction(float(link.rates[index]))
        if rate * (end - at) >= bits:
            return math.ceil(at + bits / rate)
        bits -= rate * (end - at)
        at = Fraction(end)
