"""Random lives of policies with state, told to exported C and to the reference side by side."""

from __future__ import annotations

from random import Random
from typing import TypeVar

from anvil_values import values_for
from c_programs import SEED, CProgram, DoubleProgram, IntegerProgram
from language_programs import LanguageProgram
from margins import Margined
from sender_states import sender_state

from vulcan.anvil import Policy, check
from vulcan.anvil.interpreter import Reference
from vulcan.registry import find_task

KEYS = (0.0, 1.0, 2.0)
Lived = TypeVar("Lived", DoubleProgram, LanguageProgram)
Occasions = TypeVar("Occasions", IntegerProgram, LanguageProgram)


def handle(
    program: CProgram | LanguageProgram, reference: Reference, event: str, key: float | None, values: dict[str, float]
) -> None:
    """Let an event happen to both, and expect of the controls what the reference sets."""
    controls = reference.handle(event, values, key)
    if event in program.handlers:
        program.tell(event, key, values)
        for control in program.handlers[event].controls:
            for feature in control.features:
                program.control(feature.name, controls.get(f"{control.name}.{feature.name}", 0.0))


def lived_in_doubles(number: int, policy: Policy, random: Random, make: type[Lived] = DoubleProgram) -> Lived:
    """A random life of a few items, some of which come back while they are remembered."""
    program, reference, live = make(number, policy), policy.reference(SEED), set()
    for _ in range(14):
        key = random.choice(KEYS)
        values = values_for(program.interface, random) | {"item.id": key}
        event = random.choice(("on_touch", "on_tick", "on_leave"))
        if event == "on_leave" and key in live:
            handle(program, reference, event, key, values)
            program.tell("leave", key, values)
            reference.forget(key)
            live.remove(key)
            if random.random() < 0.5:
                program.tell("release", key, values)
                reference.release(key)
        elif event == "on_tick":
            handle(program, reference, event, None, values)
        else:
            program.tell("observe" if key in live else "enter", key, values)
            reference.observe(key, values)
            live.add(key)
            handle(program, reference, "on_touch", key, values)
        program.ask("rate", key, values, reference(values, key))
    program.dump(1.0, reference)
    return program


def lived_in_integers(number: int, policy: Policy, random: Random, events: int = 14) -> IntegerProgram:
    """A random life of a sender; what follows a decision that a rounding could have tipped need not be the same."""
    program, reference, margin = IntegerProgram(number, policy), Margined(policy, SEED, exact_integers=True), 1.0
    for _ in range(events):
        values = sender_state(program.interface, random)
        program.tell("observe", None, values)
        reference.observe(None, values)
        handle(program, reference, random.choice([event.function for event in policy.task.events]), None, values)
        margin = min(margin, reference.margin)
        expected = reference(values)
        margin = min(margin, reference.margin)
        program.ask("cwnd", None, values, expected, exact=margin > 1e-5)
    return program


OCCASIONS = """
def cwnd(state, window):
    oldest = window.delivered_packets.recent(3) + window.lost_packets.window_percentile(0.5, 4)
    means = window.duration_us.avg() + state.rtt_us.window_avg(4) + state.lost_packets.window_avg(4)
    return oldest + state.acked_packets.recent(2) + window.ecn_packets.max() + means
"""


def lived_through_round_trips(number: int, make: type[Occasions], random: Random, told: str, steps: int) -> Occasions:
    """A sender whose policy observes the round trip on its occasion, which is every fifth step."""
    policy = check(OCCASIONS, find_task("congestion_control"))
    program, reference = make(number, policy), policy.reference()
    for step in range(steps):
        values = sender_state(program.interface, random)
        if step % 5 == 3:
            program.tell(told, None, values)
            reference.observe_occasion("round_trip", values)
        program.tell("observe", None, values)
        reference.observe(None, values)
        program.ask("cwnd", None, values, reference(values))
    return program
