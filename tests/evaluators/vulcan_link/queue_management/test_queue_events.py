"""Policies that keep state and handle the queue's events: CoDel and PIE, and random ones against plain Python."""

from __future__ import annotations

import ctypes
import math
from dataclasses import replace
from random import Random
from typing import Any, cast

import numpy as np
import pytest
from effort import examples, slow
from numpy.typing import NDArray
from stateful_programs import stateful_programs

from vulcan.anvil import Policy, check
from vulcan.registry import find_task
from vulcan_link import engine_state as m
from vulcan_link.aqm import layout as q
from vulcan_link.aqm.manager import QueueManager
from vulcan_link.kernels.bottleneck import ADMIT, DEPARTURE, DROP, MARK, OVERFLOW
from vulcan_link.result import LinkResult
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import simulate
from vulcan_traces.links import load_link

_CALLED = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 4)
DRAIN_BYTES = 16 * 1024


class PlainQueueManager:
    """`saves_draws` draws no number where the probability is 0 or 1, as the kernel's own PIE does."""

    def __init__(self, policy: Policy, seed: int = 1, saves_draws: bool = False) -> None:
        self.run = policy.reference(seed)
        self.handles = bool(policy.program.handlers)
        self.initial = QueueManager(policy, seed)
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


TASK = find_task("active_queue_management")
POLICIES = {name: check(source, TASK) for name, source in TASK.seed_policies().items()}
LINKS = (
    "constant:rate=24",
    "steps:rates=24-6-16-3,every=3",
    "markov:low=1,high=12,states=9,dwell=0.15,seed=3,seconds=60",
)
DECISION = "def drop_probability(queue):\n    return {}\n"


def scenario(
    link: str, flows: int, *, kind: str = "droptail", ecn: bool = False, seconds: float = 10.0, packets: int = 300
) -> Scenario:
    """Flows of which every third, with ECN, is not capable of it."""
    return Scenario(
        load_link(link),
        Queue(kind=kind, packets=packets, ecn=ecn),  # type: ignore[arg-type]
        tuple(
            Flow(("cubic", "reno")[i % 2], delay_ms=20.0, ecn=ecn and i % 3 != 2, start_s=0.05 * i)
            for i in range(flows)
        ),
        duration_s=seconds,
        measure_from_s=min(2.0, seconds / 2),
    )


@pytest.mark.parametrize("ecn", [False, True])
@pytest.mark.parametrize("link", LINKS)
def test_codel_written_as_a_policy_is_the_kernels_own_packet_by_packet(link: str, ecn: bool) -> None:
    """Every count and every delay is the same, to the bit."""
    for flows in (1, 5, 20):
        own = simulate(scenario(link, flows, kind="codel", ecn=ecn))
        policy = simulate(scenario(link, flows, ecn=ecn), manager=QueueManager(POLICIES["codel"]))
        assert unmanaged(policy) == own
        assert own.dropped + own.marked > 3


@pytest.mark.parametrize(("link", "ecn"), [slow(LINKS[1], False), (LINKS[2], True), slow(LINKS[0], True)])
def test_pie_written_as_a_policy_is_the_kernels_own_given_its_draws(link: str, ecn: bool) -> None:
    """The kernel's PIE draws only for probabilities between 0 and 1, a policy's mechanism for each packet."""
    compared = scenario(link, 6, ecn=ecn, seconds=4.0)
    own = simulate(compared, manager=QueueManager("pie", seed=3))
    policy = plain_run(compared, PlainQueueManager(POLICIES["pie"], seed=3, saves_draws=True))
    assert unmanaged(policy) == unmanaged(own)
    assert own.dropped + own.marked > 10


def test_random_policies_with_state_decide_as_plain_python() -> None:
    random, dropped, marked = Random(1), 0, 0
    for number, policy in enumerate(stateful_programs(TASK, random, examples(60))):
        compared = scenario(
            random.choice(LINKS), 2 + number % 3, ecn=number % 2 == 1, seconds=0.3, packets=random.choice((8, 40))
        )
        native = simulate(compared, manager=QueueManager(policy, seed=number))
        assert native == plain_run(compared, PlainQueueManager(policy, seed=number)), policy.source
        dropped, marked = dropped + native.dropped, marked + native.marked
    assert dropped > 20
    assert marked > 2


def counting(handlers: str, result: str) -> Policy:
    return check(f"class policy:\n    n = 0\n\n\n{handlers}\n\n" + DECISION.format(result), TASK)


def test_a_timer_is_called_at_the_times_that_it_asks_for() -> None:
    """Ten milliseconds apart, from time 0: at time t it was called t / 10 + 1 times; nothing asked, only once."""
    ticks = "def on_timer(queue):\n    policy.n += 1\n    {}\n"
    right = counting(ticks.format("queue.timer_ms = 10"), "policy.n != queue.now_ms // 10 + 1")
    once = counting(ticks.format("pass"), "policy.n != 1")
    for policy in (right, once):
        assert simulate(scenario(LINKS[0], 3), manager=QueueManager(policy)).drop_share < 0.01


def test_what_is_in_the_queue_is_what_came_less_what_left() -> None:
    handlers = (
        "def on_enqueue(queue, packet):\n    policy.n += 1\n\n\ndef on_dequeue(queue, packet):\n    policy.n -= 1\n"
    )
    policy = counting(handlers, "policy.n != queue.packets")
    assert simulate(scenario(LINKS[0], 1, packets=2000), manager=QueueManager(policy)).dropped == 0


def test_a_policy_may_drop_every_packet_as_it_departs() -> None:
    policy = counting("def on_dequeue(queue, packet):\n    packet.drop = 1\n", "0 * policy.n")
    result = simulate(scenario(LINKS[0], 2), manager=QueueManager(policy))
    assert (result.delivered, result.dropped) == (0, result.sent)
