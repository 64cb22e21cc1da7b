"""A policy exported in scaled integers against the reference: how far it is off, and why where it is far."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from anvil_values import values_for
from c_programs import IntegerProgram, provenance
from effort import ALL, few
from margins import Margined
from sender_states import sender_state
from stateful_lives import OCCASIONS, lived_through_round_trips
from test_c_state import ran

from vulcan.anvil import Policy, check
from vulcan.errors import UserError
from vulcan.export.c.double_header import double_header
from vulcan.export.c.fixed_header import fixed_header
from vulcan.registry import find_task

TASK = find_task("congestion_control")
LOW, HIGH = TASK.signature.low, TASK.signature.high
HEAD = "def cwnd(state, window):\n"
EVOLVED = f"""
GAIN = 1.2
CUSHION = 0.15
def weigh(share, strength):
    return 1 / (1 + math.exp(strength * (share - CUSHION)))
{HEAD}    base = max(state.min_rtt_us, 1)
    queueing = (state.smoothed_rtt_us - base) / base
    best = window.bandwidth_bps.window_percentile(0.9, 8)
    packets = best / 8 * base / 1e6 / state.mss_bytes
    losses = window.lost_packets.ewma(0.25) / (1 + window.delivered_packets.window_avg(8))
    trend = state.rtt_us.avg() - state.rtt_us.recent(4) + window.min_rtt_us.min() - window.max_rtt_us.max()
    if state.cause == 2:
        return 2
    if losses > 0.02 or state.cause == 1:
        return state.cwnd_packets * (1 - 0.3 * min(1, 10 * losses) ** 0.5)
    target = GAIN * packets * weigh(queueing, 8) + math.log(1 + state.acked_packets) * math.tanh(trend / 1e5)
    grown = state.cwnd_packets + (target - state.cwnd_packets) * 0.25
    for i in range(3):
        grown = (grown + target) / 2 if queueing > 0.05 * i else grown
    return grown
"""
_SEEDS = {name: check(source, TASK) for name, source in TASK.seed_policies().items()}
POLICIES = {
    **{name: policy.source for name, policy in _SEEDS.items() if not policy.program.uses_state},
    "evolved": EVOLVED,
}
RESOLUTION = 2.0**-16


def clamped(value: float) -> float:
    return min(max(value, LOW), HIGH)


def errors(policy: Policy, draw: object, count: int, seed: int) -> list[tuple[float, float]]:
    """For each state the error in packets, and by how little the reference decided as it did."""
    program, reference, random = IntegerProgram(0, policy), Margined(policy), Random(seed)
    margins = []
    for _ in range(count):
        values = draw(TASK.signature, random)  # type: ignore[operator]
        program.tell("observe", None, values)
        reference.observe(None, values)
        program.ask("cwnd", None, values, reference(values))
        margins.append(reference.margin)
    ((_, got),) = ran([program])
    expected = [clamped(value) for _, value, _ in program.expected]
    return list(zip((abs(clamped(a) - b) for a, b in zip(got, expected, strict=True)), margins, strict=True))


@pytest.mark.parametrize("name", few(POLICIES, 3))
def test_a_policy_in_integers_is_within_a_rounding_of_the_reference(name: str) -> None:
    """On 4,000 states or 100,000, half of them as a link brings them about, half at the edges of what is declared."""
    policy, count = check(POLICIES[name], TASK), 50_000 if ALL else 2_000
    for kind, draw in (("sender", sender_state), ("edges", values_for)):
        found = errors(policy, draw, count, seed=7)
        decided = sorted(error for error, margin in found if error <= 1e-3 or margin > 1e-6)
        tipped = len(found) - len(decided)
        p99 = decided[int(0.99 * len(decided))]
        print(f"{name}, {kind}: {count} states, max {decided[-1]:.2g} packets, p99 {p99:.2g}, "
              f"decided otherwise within 1e-6 of a threshold: {tipped}")  # fmt: skip
        assert decided[-1] <= 1e-3
        assert p99 <= 2 * RESOLUTION
        assert tipped <= (0.02 if kind == "edges" else 0.001) * count


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("return state.cwnd_packets + math.sin(state.rtt_us)", "line 2, column 33: math.sin has no form in integers"),
        ("return state.cwnd_packets * math.atan(1.5 * state.rtt_us)", "line 2, column 33: math.atan has no form"),
        ("return min(state.cwnd_packets, 1e300)", "the number 1e+300 is beyond"),
        ("return state.cwnd_packets + 1e-40", "the number 1e-40 is beyond"),
    ],
)
def test_what_has_no_form_in_integers_is_refused_with_the_reason(body: str, why: str) -> None:
    with pytest.raises(UserError) as refusal:
        fixed_header(check(f"{HEAD}    {body}\n", TASK), provenance())
    assert why in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_statistics_of_each_entity_are_refused_with_the_reason() -> None:
    source = "def priority(now, obj, cache, ghost):\n    return obj.last_access - obj.size.ewma(0.5)\n"
    with pytest.raises(UserError, match=r"obj.size.ewma is a statistic of each entity"):
        fixed_header(check(source, find_task("cache_eviction")), provenance())


def test_more_than_the_kernel_keeps_is_refused_with_the_reason() -> None:
    policy = check(f"{HEAD}    return state.rtt_us.recent(2000)\n", TASK)
    assert "policy_score" in fixed_header(policy, provenance())
    with pytest.raises(UserError, match=r"take 16,008 bytes, over the 4,096"):
        fixed_header(policy, provenance(), most_bytes=4_096)


def test_statistics_observe_on_their_occasion() -> None:
    assert "policy_observe_round_trip(" in double_header(check(OCCASIONS, TASK), provenance())
    program = lived_through_round_trips(0, IntegerProgram, Random(5), "round_trip", 200)
    ((_, got),) = ran([program])
    assert got == pytest.approx([expected for _, expected, _ in program.expected], rel=0, abs=RESOLUTION)


def test_integers_hold_one_function() -> None:
    other = replace(TASK.signature, function="rate")
    source = "def cwnd(state, window):\n    return 2\ndef rate(state, window):\n    return 3\n"
    with pytest.raises(UserError, match=r"has several functions \(cwnd, rate\): a C header in integers holds one"):
        fixed_header(check(source, replace(TASK, others=(other,))), provenance())
