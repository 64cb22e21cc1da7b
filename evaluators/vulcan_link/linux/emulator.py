"""Data path of the emulated link: from one TUN device through the bottleneck and the delay to the other."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from vulcan_link.linux.bottleneck import Bottleneck, DelayLine

CLOCK = 1_000_000
"""Of Mahimahi: times are read, and waits last, in whole milliseconds (ns)."""
OVERSLEPT = 55_000
"""By how many ns an ordinary process, as Mahimahi's are, sleeps longer than this one: its timers may slip by 50 us.

A sleep of a millisecond was measured to last 106 us too long at the median, and 52 us in real time, as here."""
_MAX_PACKET = 65_536
_LATE = 1_000_000


@dataclass(frozen=True, slots=True)
class WakeupLateness:
    """Lateness of the data path's wake-ups: the time since the event that each was for."""

    wakeups: Annotated[int, "events at which the link had to act"]
    late: Annotated[int, "those at which it was late by over 1 ms"]
    worst_ms: Annotated[float, "the largest delay"]
    real_time: Annotated[bool, "whether it was scheduled before every ordinary process"]


class Stage:
    """Bottleneck or delay line on Mahimahi's clock, or with an `exact` one on that of the host.

    Mahimahi reads its clock in whole milliseconds and sleeps for whole milliseconds: a stage that last did something
    at 7.4 ms and next has an event at 9 ms sleeps for 2 ms, oversleeps a little, and wakes near 9.5 ms; in time it is a
    millisecond behind, and then takes two opportunities at once. The figures are those of the rounded times. But what
    comes out comes in small bursts, which HyStart and congestion controls that measure rates do notice.
    """

    def __init__(self, part: Bottleneck | DelayLine, *, exact: bool = False) -> None:
        self._part, self._exact = part, exact
        self.wakes: int | None = None

    def pass_on(self, now: int, arriving: list[bytes]) -> list[bytes]:
        """Packets come in at `now` (ns); those that leave by then."""
        if not arriving and (self.wakes is None or now < self.wakes):
            return []
        phase = 0 if self._exact else now % CLOCK
        leaving = self._part.advance(now - phase)
        for packet in arriving:
            self._part.arrive(now - phase, packet)
        event = self._part.next_event
        overslept = 0 if self._exact else OVERSLEPT
        self.wakes = None if event is None else max(event, now - phase) + phase + overslept
        return leaving


def emulate(
    sender: int,
    receiver: int,
    bottleneck: Bottleneck,
    forth: DelayLine,
    back: DelayLine,
    begins: int,
    duration: int,
    *,
    exact: bool = False,
) -> WakeupLateness:
    """Forward packets between two TUN devices until `duration` (ns) after `begins` (ns of the monotonic clock).

    What the sender's side gives crosses the bottleneck and then the delay `forth`; what the receiver's side gives
    crosses the delay `back` alone. The bottleneck's log holds what happened, and when what waits at the end would have
    crossed: without it a link's last outage would shorten the delays.

    Args:
        sender, receiver: file descriptors of the TUN devices, non-blocking; packets without a TUN header.
        exact: whether the clock is exact, or has Mahimahi's milliseconds.
    """
    link, forward, backward = (Stage(part, exact=exact) for part in (bottleneck, forth, back))
    wakeups = late = worst = 0
    while (now := time.monotonic_ns() - begins) < 0:
        time.sleep(min(-now, 1_000_000) * 1e-9)
    while now < duration:
        due = min([stage.wakes for stage in (link, forward, backward) if stage.wakes is not None], default=duration)
        ready, _, _ = select.select([sender, receiver], [], [], max(min(due, duration) - now, 0) * 1e-9)
        now = time.monotonic_ns() - begins
        if now >= due:
            wakeups += 1
            worst = max(worst, now - due)
            late += now - due > _LATE
        leaving = _packets(sender) if sender in ready else []
        returning = _packets(receiver) if receiver in ready else []
        for packet in forward.pass_on(now, link.pass_on(now, leaving)):
            _write(receiver, packet)
        for packet in backward.pass_on(now, returning):
            _write(sender, packet)
    bottleneck.advance(duration)
    bottleneck.drain()
    return WakeupLateness(wakeups, late, worst * 1e-6, os.sched_getscheduler(0) == os.SCHED_FIFO)


def _packets(device: int) -> list[bytes]:
    """Return the packets waiting on a device; IPv4 only, as the kernel sends its own IPv6 messages on every device."""
    found: list[bytes] = []
    while True:
        try:
            packet = os.read(device, _MAX_PACKET)
        except BlockingIOError:
            return found
        if packet[0] >> 4 == 4:
            found.append(packet)


def _write(device: int, packet: bytes) -> None:
    with suppress(BlockingIOError):  # the device's own queue is full: as on any link, the packet is lost
        os.write(device, packet)
