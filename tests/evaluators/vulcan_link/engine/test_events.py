"""Handlers of events in the simulator: when each is called, what it is shown, and that plain Python decides alike."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
import pytest
from effort import examples
from policy_trees import accepted, random_program

from vulcan.anvil import Policy, check
from vulcan.registry import find_task
from vulcan_link.policy_state import EVENTS, GLOBALS, LAYOUT
from vulcan_link.result import LinkResult
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import simulate
from vulcan_traces.links import load_link

_POINTER = ctypes.c_void_p
_OBSERVES = ctypes.CFUNCTYPE(None, _POINTER, _POINTER, _POINTER, ctypes.c_double)
_DECIDES = ctypes.CFUNCTYPE(ctypes.c_double, _POINTER, _POINTER, _POINTER, ctypes.c_double)
_CAUSED = {1.0: "on_loss", 2.0: "on_timeout", 3.0: "on_ecn"}


class PlainFlow:
    """The policy of one flow, which `is_asked` at every acknowledgement or once a round trip."""

    def __init__(self, policy: Policy, seed: int, is_asked: bool) -> None:
        self.run = policy.reference(seed)
        self.is_asked = is_asked
        self.due = math.inf
        self.expected: list[str] = []
        self.is_over = False
        self.in_slow_start = True  # of the mechanism, which asks nothing then
        self.has_decided = False
        self.handled: dict[str, int] = dict.fromkeys(EVENTS, 0)

    def round_is_over(self, features: dict[str, float]) -> None:
        self.run.observe_occasion("round_trip", features)
        self.is_over = True

    def happens(self, features: dict[str, float]) -> None:
        """Something happened to the flow: the first of its calls, but for the end of a round trip."""
        assert self.expected == [], "a handler was not called"
        assert self.has_decided or self.in_slow_start or not self.is_asked
        self.has_decided = False
        self.in_slow_start = bool(features["flow.in_slow_start"])
        remains = self.due - features["state.now_us"]
        assert features["flow.timer_us"] == (max(remains, 0) if remains < math.inf else 0)
        self.run.observe(None, features)
        cause = features["state.cause"]
        acknowledged = cause in (0, 3) or (cause == 1 and features["state.acked_packets"] > 0)
        called = {
            "on_timer": self.due <= features["state.now_us"],
            "on_window": self.is_over,
            "on_ack": acknowledged,
            **{name: cause == of for of, name in _CAUSED.items()},
        }
        self.expected = [name for name in EVENTS if called[name]]
        self.is_over = False

    def handle(self, name: str, features: dict[str, float]) -> dict[str, float]:
        """Run the handler; return what it sets the controls to."""
        now = features["state.now_us"]
        assert self.expected.pop(0) == name
        if name == "on_timer":
            self.due = math.inf
        assert features["flow.timer_us"] == (self.due - now if now <= self.due < math.inf else 0)
        assert self.in_slow_start == features["flow.in_slow_start"]
        self.handled[name] += 1
        controls = self.run.handle(name, features)
        after = controls.get("flow.timer_after_us")
        if after is not None:
            self.due = now + min(math.floor(after), 2**40) if after >= 1 else math.inf
        return controls

    def decide(self, features: dict[str, float]) -> float:
        assert self.expected == [] and not self.in_slow_start
        self.has_decided = True
        return self.run(features)


class PlainSender:
    """What `simulate` takes for a policy."""

    entity_slots = 0

    def __init__(self, policy: Policy, scenario: Scenario) -> None:
        self.policy = policy
        self.plan, self.program = policy.plan, policy.program
        self.scenario = scenario
        self.flows: list[PlainFlow] = []
        self.failure: Exception | None = None
        self.calls = list(self._calls())
        addresses = [ctypes.cast(call, ctypes.c_void_p).value for call in self.calls]
        self._addresses = dict(zip(("cwnd", "update", "round_trip", *EVENTS), addresses, strict=True))

    def native(self, layout: object) -> PlainSender:
        assert layout is LAYOUT
        return self

    def addresses(self, *names: str) -> tuple[Any, ...]:
        return tuple(self._addresses[name] for name in names)

    def new_globals(self, seed: int) -> Any:
        """A flow's features, and behind them its number."""
        asked = self.scenario.flows[len(self.flows)].called == "ack"
        self.flows.append(PlainFlow(self.policy, seed, asked))
        block = np.zeros(GLOBALS + 1)
        block[GLOBALS] = len(self.flows) - 1
        return block

    def _calls(self) -> Iterator[Any]:
        yield _DECIDES(self._shown(lambda flow, features: flow.decide(features)))
        yield _OBSERVES(self._shown(lambda flow, features: flow.happens(features)))
        yield _OBSERVES(self._shown(lambda flow, features: flow.round_is_over(features)))
        for name in EVENTS:
            yield _OBSERVES(self._shown(lambda flow, features, name=name: flow.handle(name, features), controls=True))

    def _shown(self, take: Callable[..., Any], controls: bool = False) -> Callable[..., float | None]:
        def call(address: int, *_: object) -> float | None:
            block = (ctypes.c_double * (GLOBALS + 1)).from_address(address)
            features = {name: block[slot.index] for name, slot in LAYOUT.features.items()}
            try:
                value = take(self.flows[int(block[GLOBALS])], features)
            except (ArithmeticError, AssertionError, LookupError) as error:  # ctypes would only print it
                self.failure = self.failure or error
                return None if controls else 2.0
            if controls:
                for control, number in value.items():
                    block[LAYOUT.controls[control].index] = number
            return None if controls else value

        return call


def assert_equal(policy: Policy, scenario: Scenario) -> tuple[LinkResult, PlainSender]:
    """The result of a scenario in which the machine code decides as plain Python does, and the latter."""
    plain = PlainSender(policy, scenario)
    by_reference = simulate(scenario, plain)  # type: ignore[arg-type]
    if plain.failure is not None:
        raise plain.failure
    by_machine_code = simulate(scenario, policy)
    assert by_machine_code.flows == by_reference.flows
    return by_machine_code, plain


TASK = find_task("congestion_control")
TIMERS = """
class policy:
    ticks = 0
    waits = 0
    losses = 0
    times = [0] * 8

def on_timer(state, window, flow):
    policy.ticks += 1
    flow.timer_after_us = 2000.7 + 1000 * random()

def on_window(state, window, flow):
    policy.times[state.round_trips] = window.avg_rtt_us
    flow.pacing_bps = 4e6 + state.send_rate_bps

def on_ack(state, window, flow):
    policy.waits = flow.timer_us
    if policy.ticks % 4 == 0 and flow.timer_us == 0:
        flow.timer_after_us = 1500

def on_loss(state, window, flow):
    policy.losses += 1

def on_ecn(state, window, flow):
    flow.timer_after_us = 0
    flow.pacing_bps = 0

def on_timeout(state, window, flow):
    policy.losses = 0

def cwnd(state, window):
    grown = 6 + policy.ticks % 16 + policy.times[3] / 1e5 + (policy.waits > 500)
    return min(grown, state.cwnd_packets) if state.cause > 0 else grown + policy.losses
"""
STATEFUL = {**TASK.seed_policies(), "timers": TIMERS}


def scenario(seed: int, seconds: float = 1.0) -> Scenario:
    """A narrow link that loses packets, or marks them; with an outage that is long enough for a time-out."""
    flow = Flow(
        "policy", delay_ms=8.0, called=("ack", "round")[seed // 2 % 2], slow_start=("mechanism", "policy")[seed % 2]
    )
    ecn = seed % 3 == 0
    queue = Queue(packets=8 + seed % 5, ecn=ecn, mark_packets=4 if ecn else None)
    link = load_link("outage:rate=3,every=0.9,length=0.5,seed=3,seconds=2" if seed % 4 == 2 else "constant:rate=3")
    return Scenario(link, queue, (flow, Flow("reno"), flow)[: 1 + 2 * (seed % 2)], seconds, loss=0.02, seed=seed)


def policy(name: str) -> Policy:
    return check(STATEFUL[name], TASK)


@pytest.mark.parametrize("name", ["timers", "copa", "bbr_like", "reno_like"])
def test_named_policies_decide_as_plain_python(name: str) -> None:
    handled: dict[str, int] = {}
    for seed in range(6 if name == "timers" else 2):
        _, plain = assert_equal(policy(name), scenario(seed, 1.0 if name == "timers" else 0.3))
        for flow in plain.flows:
            for event, count in flow.handled.items():
                handled[event] = handled.get(event, 0) + count
    if name == "timers":
        assert min(handled.values()) > 0 and handled["on_ack"] > handled["on_window"] > handled["on_timeout"]


def test_generated_policies_with_state_decide_as_plain_python() -> None:
    random, tried = Random(18), 0
    while tried < examples(90):
        if (made := accepted(random_program(TASK, random), TASK)) is None:
            continue
        assert_equal(made, scenario(tried, 0.25))
        tried += 1


def test_each_flow_has_state_and_random_numbers_of_its_own() -> None:
    source = "class policy:\n    x = 0\ndef on_ack(state, window, flow):\n    policy.x = random()\n"
    flows = (Flow("policy", delay_ms=8.0, slow_start="policy"),) * 2
    shared = Scenario(load_link("constant:rate=3"), Queue(packets=50), flows, 1.0)
    first, second = simulate(shared, check(source + "def cwnd(state, window):\n    return 9 * policy.x\n", TASK)).flows
    assert first.decisions != second.decisions


PACED = """
class policy:
    sent = 0

def on_ack(state, window, flow):
    flow.pacing_bps = 3e6 if state.now_us < 4e6 else 0

def cwnd(state, window):
    return 60
"""


def test_packets_leave_at_the_pacing_rate_until_it_is_taken_back() -> None:
    link = load_link("constant:rate=12")
    paced = [
        simulate(
            Scenario(link, Queue(packets=200), (Flow("policy", slow_start="policy"),), to, measure_from_s=begin),
            check(PACED, TASK),
        )
        for begin, to in ((1.0, 4.0), (5.0, 8.0))
    ]
    assert [result.goodput_bps for result in paced] == pytest.approx([3e6, 12e6 * 1448 / 1500], rel=0.02)
    assert paced[0].queueing_delay_max_ms < 5 < paced[1].queueing_delay_avg_ms
