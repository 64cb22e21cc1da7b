"""A queue manager in plain Python over the reference interpreter, which the simulator's kernel calls for each packet.

Slow, and simple enough to be seen right. The kernel's own manager is compared with it in whole runs, whose congestion
control answers to every drop.
"""

from __future__ import annotations

import ctypes
import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan_link import engine_state as m
from vulcan_link.aqm import layout as q
from vulcan_link.aqm.manager import QueueManager
from vulcan_link.kernels.bottleneck import ADMIT, DEPARTURE, DROP, MARK, OVERFLOW
from vulcan_link.result import LinkResult
from vulcan_link.scenario import Scenario
from vulcan_link.simulate import simulate

_CALLED = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 4)
DRAIN_BYTES = 16 * 1024


class PlainQueueManager:
    """`saves_draws` draws no number where the probability is 0 or 1, as the kernel's own PIE does."""

    def __init__(self, policy: Policy, seed: int = 1, saves_draws: bool = False) -> None:
        self.run = policy.reference(seed)
        self.handles = bool(policy.program.handlers)
        self.initial = QueueManager("policy", policy, seed)
        self.saves_draws = saves_draws
        self.timer = 0.0 if any(h.name == "on_timer" for h in policy.program.handlers) else math.inf
        self.shown = {f"queue.{name}": 0.0 for name in q.SHOWN}
        self.delay = self.drain = self.drops = self.last_drop = self.empty_since = 0.0
        self.busy: tuple[float, float] | None = None
        self.failed: BaseException | None = None
        self.called = _CALLED(self.manage)

    def install(self, settings: NDArray[np.int64], rate_bps: float, limit: int) -> NDArray[np.float64]:
        """Stand in for `QueueManager.install`."""
        self.state = self.initial.install(settings, rate_bps, limit)
        self.shown |= {"queue.limit_packets": self.state[q.LIMIT], "queue.packet_bytes": self.state[q.PACKET]}
        settings[m.MANAGER] = ctypes.cast(self.called, ctypes.c_void_p).value
        settings[m.MANAGER_DROP] = 1
        return self.state

    def manage(self, link: int, settings: int, state: int, now: int, event: int, number: int, capable: int) -> int:
        try:
            return self.decide(_array(link, m.LINK_SLOTS), now / 1e6, event, number, capable)
        except BaseException as error:  # noqa: BLE001 - ctypes would print it and go on
            self.failed = self.failed or error
            return ADMIT

    def look(self, link: Any, now: float, leaving: int = 0) -> None:
        packets = link[m.TAIL] - link[m.HEAD] + leaving
        size = link[m.WAITING_BYTES] + leaving * link[m.CURRENT + m.Q_BYTES]
        if packets == 0:
            self.delay = 0.0
        self.shown |= {
            "queue.now_ms": now,
            "queue.packets": float(packets),
            "queue.bytes": float(size),
            "queue.delay_ms": self.delay,
            "queue.drain_bps": self.drain,
            "queue.expected_delay_ms": size * 8e3 / self.drain if self.drain > 0 else 0.0,
            "queue.idle_ms": now - self.empty_since if self.empty_since >= 0 else 0.0,
            "queue.since_drop_ms": now - self.last_drop,
            "queue.drops": self.drops,
        }

    def handle(self, event: str, now: float) -> bool:
        """Call the policy's handler; return whether it drops the packet."""
        controls = self.run.handle(event, self.shown)
        if (asked := controls.get("queue.timer_ms", 0.0)) > 0:
            self.timer = now + max(asked, 1.0)
        return controls.get("packet.drop", 0.0) > 0

    def show_packet(self, size: int, sojourn: float, capable: int, marked: bool, overflow: bool) -> None:
        values = (size, sojourn, capable, marked, overflow)
        self.shown |= {f"packet.{name}": float(value) for name, value in zip(q.PACKET_SHOWN, values, strict=True)}

    def decide(self, link: Any, now: float, event: int, number: int, capable: int) -> int:
        while self.timer <= now:
            at, self.timer = self.timer, math.inf
            self.look(link, at, leaving=event == DEPARTURE)
            self.handle("on_timer", at)
        self.look(link, now)
        if event == DEPARTURE:
            return self.departs(link, now, number, capable)
        self.shown["queue.packet_bytes"] = float(number)
        if event == OVERFLOW:
            self.show_packet(number, 0.0, capable, False, True)
            self.handle("on_drop", now)
            return DROP
        drop = self.drawn()
        self.show_packet(number, 0.0, capable, drop and bool(capable), False)
        self.handle("on_drop" if drop and not capable else "on_enqueue", now)
        if not drop:
            self.empty_since = -1.0
            return ADMIT
        self.last_drop, self.drops = now, self.drops + 1
        return MARK if capable else DROP

    def drawn(self) -> bool:
        self.run.observe(None, self.shown)
        probability = min(max(self.run(self.shown), 0.0), 1.0)
        self.hashed(math.floor(probability * 1e6))
        self.state[q.CALLS] += 1
        if self.saves_draws and probability in (0.0, 1.0):
            return probability == 1.0
        self.state[q.RANDOM] = self.state[q.RANDOM] * 48271.0 % 2147483647.0
        return bool((self.state[q.RANDOM] - 1.0) / 2147483646.0 < probability)

    def hashed(self, decision: float) -> None:
        self.state[q.DECISIONS] = (self.state[q.DECISIONS] * 31.0 + decision) % 9007199254740881.0

    def departs(self, link: Any, now: float, waited: int, capable: int) -> int:
        size = int(link[m.CURRENT + m.Q_BYTES])
        self.show_packet(size, waited / 1e6, capable, bool(link[m.CURRENT + m.Q_MARK]), False)
        if self.handles:
            self.run.observe_occasion("departure", self.shown)
        drop = self.handle("on_dequeue", now)
        if drop:
            self.hashed(waited % 1000003 + 2e6)
            if not capable:
                self.handle("on_drop", now)
            self.last_drop, self.drops = now, self.drops + 1
        waiting = link[m.TAIL] - link[m.HEAD]
        sent = not drop or capable
        if waiting == 0:
            self.delay, self.empty_since, self.busy = 0.0, now, None
        elif sent:
            self.delay = waited / 1e6
            self.measure(now, size)
        return ADMIT if not drop else MARK if capable else DROP

    def measure(self, now: float, size: int) -> None:
        if self.busy is None:
            self.busy = (now, 0.0)
            return
        since, carried = self.busy[0], self.busy[1] + size
        self.busy = (since, carried)
        if carried >= DRAIN_BYTES and now > since:
            rate = carried * 8e3 / (now - since)
            self.drain = rate if self.drain == 0 else 0.5 * (self.drain + rate)
            self.busy = (now, 0.0)


def _array(address: int, slots: int) -> Any:
    return np.frombuffer((ctypes.c_int64 * slots).from_address(address), np.int64)


def plain_run(scenario: Scenario, manager: PlainQueueManager) -> LinkResult:
    """Return the result of a run whose queue the plain manager manages."""
    result = simulate(scenario, manager=cast(QueueManager, manager))
    if manager.failed is not None:
        raise manager.failed
    return result


def unmanaged(result: LinkResult) -> LinkResult:
    """Return the result without the hash of the manager's decisions."""
    return replace(result, management=0)
