"""The bottleneck in plain Python, straight from its description: what the compiled one is compared with."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
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

    def __init__(
        self,
        queue: deque[Packet],
        outcome: Outcome,
        target: int,
        interval: int,
        backlog: Callable[[], int] | None = None,
    ) -> None:
        self.queue, self.outcome, self.target, self.interval = queue, outcome, target, interval
        self.backlog = backlog or (lambda: sum(p.size for p in queue))
        self.first_above_time = self.drop_next = self.count = self.lastcount = 0
        self.dropping = False

    def dodequeue(self, now: int) -> tuple[Packet | None, bool]:
        if not self.queue:
            self.first_above_time = 0
            return None, False
        packet = self.queue.popleft()
        if now - packet.arrived < self.target or self.backlog() <= 1504:
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


class FqCoDel:
    """RFC 8290, section 4, with a queue for each flow."""

    def __init__(self, outcome: Outcome, packets: int | None, target: int, interval: int) -> None:
        self.outcome, self.packets = outcome, packets
        self.queues: dict[int, deque[Packet]] = {}
        self.codels: dict[int, CoDel] = {}
        self.credit: dict[int, int] = {}
        self.new: list[int] = []
        self.old: list[int] = []
        self.codel = target, interval

    def bytes_of(self, flow: int) -> int:
        return sum(p.size for p in self.queues[flow])

    def backlog(self) -> int:
        return sum(map(self.bytes_of, self.queues))

    def admit(self, packet: Packet, limited: bool = True) -> None:
        f = packet.flow
        if f not in self.queues:
            self.queues[f] = deque()
            self.codels[f] = CoDel(self.queues[f], self.outcome, *self.codel, self.backlog)
        self.queues[f].append(packet)
        if f not in self.new and f not in self.old:
            self.credit[f] = 1514
            self.new.append(f)
        while limited and self.packets is not None and sum(map(len, self.queues.values())) > self.packets:
            fat = max(sorted(self.queues), key=self.bytes_of)
            self.outcome.dropped.append(self.queues[fat].popleft().flow)

    def dequeue(self, now: int) -> Packet | None:
        while self.new or self.old:
            which = self.new or self.old
            f = which[0]
            if self.credit[f] <= 0:
                self.credit[f] += 1514
                self.old.append(which.pop(0))
                continue
            packet = self.codels[f].dequeue(now)
            if packet is not None:
                self.credit[f] -= packet.size
                return packet
            was_new = which is self.new
            which.pop(0)
            if was_new and self.old:
                self.old.append(f)
        return None


def bottleneck(
    arrivals: list[Packet],
    link: object,
    *,
    packets: int | None,
    codel: tuple[int, int] | None,
    until: int,
    fair: bool = False,
) -> Outcome:
    """What becomes of these packets, in order of arrival; `link` is a LinkTrace, `codel` its target and interval."""
    outcome = Outcome()
    queue: deque[Packet] = deque()
    controller = CoDel(queue, outcome, *codel) if codel else None
    flows = FqCoDel(outcome, packets, *codel) if fair and codel else None
    waiting = deque(arrivals)

    def take(now: int) -> Packet | None:
        if flows:
            return flows.dequeue(now)
        if controller:
            return controller.dequeue(now)
        return queue.popleft() if queue else None

    def admit(packet: Packet) -> None:
        if flows:
            flows.admit(packet)
            return
        if packets is not None and len(queue) >= packets:
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
    while waiting or queue or (flows and flows.backlog()):
        if not queue and not (flows and flows.backlog()):
            now = max(free, waiting[0].arrived)
            packet = waiting.popleft()
            # what arrives at an idle link is carried at once, and takes no room
            if flows:
                flows.admit(packet, limited=False)
            else:
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
