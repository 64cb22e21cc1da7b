"""What a link's future teaches: how many packets it carries in the next round trip, by what a sender knows of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vulcan.anvil import check
from vulcan.lessons import Lesson
from vulcan.robustness import shipped
from vulcan.task import StateLimits
from vulcan_link.simulate import capacity, simulate
from vulcan_link.spec import LinkSpec
from vulcan_traces.links import LinkTrace

SITUATIONS = 8_000
"""Most acknowledgements of a run that are looked at, evenly spread; few cover less than two packets."""

WEIGHT = 10.0
"""Packets that a mean situation counts as, so that slow links weigh as much as fast ones."""

_PROGRAM = """\
import math

SLOW_START = "policy"

GAIN = 1.2
SPARE = 4  # packets
LOW = 0.3  # least round-trip times: a queue that others fill is not so short for PATIENCE round trips
PATIENCE = 4


class policy:
    recent = 0  # rates in packets a least round-trip time: the mean of half a round trip, of eight, and the largest
    usual = 0
    largest = 0
    older = 0  # the shortest queue of half a round trip and of the one at hand, in least round-trip times
    newer = 0
    turned = 0
    low_at = 0
    size = 2
    rival = 0  # the window beside others, as Reno's, where they fill the queue


def worth(rate, usual, largest, queue, flight):
    return 1.25 * largest / (1 + queue) ** 0.2


def on_ack(state, window, flow):
    scale = state.min_rtt_us / max(state.mss_bytes * 8e6, 1)
    rate = state.delivery_rate_bps * scale
    fade = 1 - math.exp(-state.acked_packets / max(state.in_flight_packets, 1))
    if policy.usual == 0:
        policy.recent = rate
        policy.usual = rate
    policy.recent += min(1, 2 * fade) * (rate - policy.recent)
    policy.usual += fade / 8 * (rate - policy.usual)
    policy.largest = max(rate, policy.largest * (1 - fade / 8))
    queue = max(state.rtt_us - state.min_rtt_us, 0) / max(state.min_rtt_us, 1)
    if state.now_us - policy.turned > state.smoothed_rtt_us / 2:
        policy.older = policy.newer
        policy.newer = queue
        policy.turned = state.now_us
    policy.newer = min(policy.newer, queue)
    policy.older = min(policy.older, queue)
    per = max(policy.recent, 0.1)
    flight = state.in_flight_packets / per
    twentieths = 20 * policy.older
    policy.size = policy.recent * worth(rate / per, policy.usual / per, policy.largest / per, twentieths, flight)
    if policy.older < LOW:
        policy.low_at = state.now_us
        policy.rival = 0
    elif state.now_us - policy.low_at > PATIENCE * state.smoothed_rtt_us:
        policy.rival = max(policy.rival, policy.size)
        policy.rival += state.acked_packets / max(policy.rival, 1)
    flow.pacing_bps = max(policy.size, 1.2 * policy.rival, 1) / max(scale, 1e-9)


def on_loss(state, window, flow):
    policy.rival /= 2


def cwnd(state, window):
    packets = min(max(GAIN * policy.size + SPARE, policy.rival, 2), 65535)
    if state.cause != 0:
        return min(packets, state.cwnd_packets)
    return min(packets, state.cwnd_exact_packets + state.acked_packets)
"""

_FIELDS = ("state.now_us", "per", "rate / per", "policy.usual / per", "policy.largest / per", "twentieths", "flight")


def _recorder(every: int) -> str:
    """Return the program that also writes down one situation in so many, in an array, which is the last of its state.

    Its window follows a rule instead of a fit, and is less generous: the situations are those of a sender near what the
    link carries, now below and now above.
    """
    width = len(_FIELDS)
    written = (
        "    policy.acks += 1",
        f"    if rate > 0 and policy.acks % {every} == 0 and policy.rows < {SITUATIONS}:",
        *(f"        policy.seen[policy.rows * {width} + {k}] = {value}" for k, value in enumerate(_FIELDS)),
        "        policy.rows += 1",
    )
    recorder = _PROGRAM
    for line, instead in (
        ("GAIN = 1.2", "GAIN = 1.1"),
        ("SPARE = 4", "SPARE = 2"),
        ("class policy:", f"class policy:\n    seen = [0] * {SITUATIONS * width}\n    rows = 0\n    acks = 0"),
        ("    policy.size = policy.recent", "\n".join((*written, "    policy.size = policy.recent"))),
    ):
        recorder = recorder.replace(line, instead)
    return recorder


def lesson_of(spec: LinkSpec, link: LinkTrace) -> Lesson:
    """Return the lesson on a link that one flow has for itself, of a run by a rule.

    What is learnt is not a gain but packets, a packet a least round-trip time that came recently.
    """
    scenario = spec.scenario(link, "policy")
    own = scenario.flows[0]
    carried = capacity(link, 0.0, spec.duration_s) * spec.duration_s / (8 * own.packet_bytes)
    task = shipped("congestion_control", "bdp").task
    limits = StateLimits(registers=64, elements=SITUATIONS * len(_FIELDS), fields=0)
    policy = check(_recorder(max(1, round(carried / SITUATIONS))), replace(task, state_limits=limits))
    seen = simulate(scenario, policy).states[0, -limits.elements :].reshape(-1, len(_FIELDS))
    now, recent, *known = seen[seen[:, 1] > 0].T
    begin = np.round(1e3 * now + 1e6 * own.delay_ms).astype(np.int64)  # as a packet sent now reaches the link
    end = begin + round(1e6 * own.round_trip_ms)
    packets = (link.carried_until(end) - link.carried_until(begin)) / (8 * own.packet_bytes)
    alike = WEIGHT / max(packets.mean(), 1e-9)
    name = "packets that the link carries in a round trip"
    return Lesson(name, _PROGRAM, np.column_stack(known), packets * alike, recent * alike)
