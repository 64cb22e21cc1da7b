"""Policies with state as C in integers follow the reference."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from c_programs import (
    FOUND,
    SEED,
    UNDEFINED,
    CProgram,
    IntegerProgram,
    answers,
    compile_program,
    names_of,
    program_of,
    provenance,
)
from sender_states import sender_state
from stateful_lives import handle

from vulcan.anvil import Policy, check
from vulcan.errors import UserError
from vulcan.export.c.fixed_header import fixed_header
from vulcan.export.formats import export_policy
from vulcan.registry import find_task
from vulcan.task import StateLimits

SENDER = replace(find_task("congestion_control"), operations=20_000)


def ran(programs: Sequence[CProgram]) -> Iterator[tuple[CProgram, list[float]]]:
    """Compile the programs with every compiler that is there, and run them by the first."""
    text = program_of(programs)
    for compiler in FOUND:
        compile_program(text, compiler)
    with tempfile.TemporaryDirectory(prefix="vulcan-state-") as folder:
        made = Path(folder) / "program"
        compile_program(text, ("gcc", "-std=c99", *UNDEFINED), made)
        for program in programs:
            got = answers(made, program)
            assert len(got) == len(program.expected), f"it ended after {len(got)} answers\n{program.policy.source}"
            yield program, got


def on_a_link(policy: Policy, acknowledgements: int) -> IntegerProgram:
    """Sender on a link of 12 Mbit/s and 40 ms, whose queue is what the reference's window leaves of the pipe."""
    program, reference = IntegerProgram(0, policy), policy.reference()
    shown, smoothed, most = dict.fromkeys(names_of(program.interface), 0.0), 40_000.0, 40_000.0
    window, round_end, round_least = 10.0, 10, 80_000.0
    for number in range(1, acknowledgements):
        rtt = float(max(40_000, round(window * 1000)) + 37 * number % 400)
        smoothed += (rtt - smoothed) / 8
        most, round_least = max(most, rtt), min(round_least, rtt)
        rate = float(round(min(window / rtt * 1e6, 1000) * 1448 * 8))
        shown |= {
            "state.now_us": 1000.0 * number, "state.cwnd_packets": math.floor(window), "state.in_flight_packets": 40.0,
            "state.acked_packets": 1.0, "state.rtt_us": rtt, "state.smoothed_rtt_us": smoothed,
            "state.min_rtt_us": 40_000.0, "state.max_rtt_us": most, "state.delivery_rate_bps": rate,
            "state.delivered_packets": float(number), "state.mss_bytes": 1448.0,
        }  # fmt: skip
        if number >= round_end:
            shown |= {
                "window.bandwidth_bps": rate, "window.min_rtt_us": round_least, "window.avg_rtt_us": rtt,
                "window.max_rtt_us": most, "window.delivered_packets": math.floor(window), "window.duration_us": rtt,
            }  # fmt: skip
            round_end, round_least = number + math.floor(window), 80_000.0
            program.tell("round_trip", None, shown)
            reference.observe_occasion("round_trip", shown)
        program.tell("observe", None, shown)
        reference.observe(None, shown)
        handle(program, reference, "on_ack", None, shown)
        window = min(max(reference(shown), 2.0), 100.0)
        program.ask("cwnd", None, shown, reference(shown))
    return program


FOUND_POLICY = Path(__file__).parents[3] / "benchmarks/policies/link_found.py"


@pytest.mark.parametrize("file", [SENDER.directory / "policies/copa.py", FOUND_POLICY], ids=lambda file: file.stem)
def test_a_sender_on_a_link_has_the_window_of_the_reference(file: Path) -> None:
    """Its minima begin at 1e12, which once left the window a resolution of 256 packets."""
    ((program, got),) = ran([on_a_link(check(file.read_text(), SENDER), 3000)])
    windows = [
        (expected, value) for (what, expected, _), value in zip(program.expected, got, strict=True) if what == "cwnd"
    ]
    off = [abs(value - expected) > 0.01 * expected for expected, value in windows]
    assert sum(off) <= 0.01 * len(off), (sum(off), windows[off.index(True)])


EXACT = """
class policy:
    drawn = 0
    hashed = 0
    a = [0] * 7
def on_ack(state, window, flow):
    policy.drawn = random()
    policy.hashed = hash(state.delivered_packets, 3) % 4096 + hash(-state.rtt_us / 4, 0.5) / 2 ** 53
    policy.a[state.rtt_us - 40000] += 1
    policy.a[-state.rtt_us / 8] += 2
    policy.a[2.0 ** 60 - state.rtt_us * 4096.0 * 65536 * 65536] += 4
def cwnd(state, window):
    total = 0
    for i in range(7):
        total = total * 6 + policy.a[i] % 6
    if state.cause == 0:
        return total % 65536
    return policy.hashed * 8 if state.cause == 1 else policy.drawn * 65000
"""


def test_indices_random_numbers_and_hashes_in_integers_are_those_of_the_engine() -> None:
    policy, random = check(EXACT, SENDER), Random(3)
    program, reference = IntegerProgram(0, policy), policy.reference(SEED)
    for step in range(90):
        values = sender_state(program.interface, random) | {"state.cause": float(step % 3)}
        handle(program, reference, "on_ack", None, values)
        program.ask("cwnd", None, values, reference(values))
    ((_, got),) = ran([program])
    assert got == pytest.approx([expected for _, expected, _ in program.expected], rel=0, abs=2.0**-16)


def test_more_state_than_the_kernel_keeps_is_refused_with_the_reason() -> None:
    source = (
        "class policy:\n    a = [0] * 5120\n    n = 0\n"
        "def on_ack(state, window, flow):\n    policy.a[state.rtt_us] = 1\n"
        "def cwnd(state, window):\n    return policy.a[3] + policy.n\n"
    )
    policy = check(source, replace(SENDER, state_limits=StateLimits()))
    assert "policy_at(state->policy.a, " in fixed_header(policy, provenance("congestion_control"))
    with pytest.raises(UserError, match=r"state takes 40,968 bytes, over the 40,960 .*: declare shorter arrays"):
        export_policy(policy, "bpf", provenance("congestion_control"))


KEYS = (0.0, 1.0, 2.0)
FIELDS = """
class policy:
    misses = 0
class obj:
    seen = 1
    gap = -0.5
def on_hit(now, obj, cache, ghost):
    obj.seen += 1
    obj.gap = now - obj.last_access
def on_miss(now, obj, cache, ghost):
    policy.misses += 1
def priority(now, obj, cache, ghost):
    return obj.seen * 8 + obj.gap / 4 + policy.misses % 8
"""


def test_fields_in_integers_are_kept_for_each_entity() -> None:
    policy, random = check(FIELDS, find_task("cache_eviction")), Random(5)
    program, reference = IntegerProgram(0, policy), policy.reference()
    for _ in range(60):
        key = random.choice(KEYS)
        now = random.randrange(1000, 100_000)
        values = dict.fromkeys(names_of(program.interface), 0.0)
        values |= {"now": now, "obj.last_access": now - random.randrange(1000)}
        if random.random() < 0.1:
            program.tell("release", key, values)
            reference.release(key)
        handle(program, reference, random.choice(("on_hit", "on_miss")), key, values)
        program.ask("priority", key, values, reference(values, key))
    ((_, got),) = ran([program])
    assert got == [expected for _, expected, _ in program.expected]
