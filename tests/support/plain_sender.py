"""A policy in plain Python in the place of its machine code, called by the simulator of links.

Every call is answered by the reference interpreter, and the handlers that an occurrence calls are compared with those
that the declarations of the events call for, with a timer that is kept here too.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from vulcan.anvil import Policy
from vulcan_link.policy_state import EVENTS, GLOBALS, LAYOUT
from vulcan_link.result import LinkResult
from vulcan_link.scenario import Scenario
from vulcan_link.simulate import simulate

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

    def __init__(self, policy: Policy, scenario: Scenario) -> None:
        self.policy = policy
        self.plan, self.program = policy.plan, policy.program
        self.scenario = scenario
        self.flows: list[PlainFlow] = []
        self.failure: Exception | None = None
        self.calls = list(self._calls())
        addresses = [ctypes.cast(call, ctypes.c_void_p).value for call in self.calls]
        self.score, self.update, over, interval, *handlers = addresses
        self.occasions = {"round_trip": over, "interval": interval}
        self.events = dict(zip(EVENTS, handlers, strict=True))

    def native(self, layout: object) -> PlainSender:
        assert layout is LAYOUT
        return self

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
        yield _OBSERVES(self._shown(lambda flow, features: flow.run.observe_occasion("interval", features)))
        for name in EVENTS:
            yield _OBSERVES(self._shown(lambda flow, features, name=name: flow.handle(name, features), controls=True))

    def _shown(self, take: Callable[..., Any], controls: bool = False) -> Callable[..., float | None]:
        def call(address: int, *_: object) -> float | None:
            block = (ctypes.c_double * (GLOBALS + 1)).from_address(address)
            features = {name: block[slot.index] for name, slot in LAYOUT.features.items()}
            try:
                value = take(self.flows[int(block[GLOBALS])], features)
            except (AssertionError, LookupError) as error:  # ctypes would only print it
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
