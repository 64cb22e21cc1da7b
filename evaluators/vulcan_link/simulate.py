"""Running flows over a link."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.simulator import PolicyCalls
from vulcan_link import engine_state as m
from vulcan_link import flow_state
from vulcan_link.algorithms import ALGORITHMS, Algorithm
from vulcan_link.aqm.manager import QueueManager, decisions_of_state
from vulcan_link.kernels import fair_queue
from vulcan_link.kernels.random_numbers import generator_state
from vulcan_link.kernels.receiver import QUICK_PACKETS
from vulcan_link.policy_state import EVENTS, LAYOUT
from vulcan_link.result import FlowResult, LinkResult, jain
from vulcan_link.scenario import HEADERS, Flow, Queue, Scenario
from vulcan_traces.links import LinkTrace

MILLISECOND = 1_000_000
SECOND = 1_000_000_000


def simulate(
    scenario: Scenario,
    policy: Policy | None = None,
    *,
    manager: QueueManager | None = None,
    log: bool = False,
    log_rows: int = 0,
) -> LinkResult:
    """Run the scenario; flows whose algorithm is `policy` ask the given one.

    With `log`, the result has what happened to each packet at the queue (`log_rows` is room to begin with). A `manager`
    may drop or mark packets as they come to the queue. The same scenario, policy and manager give the same result, bit
    for bit. Raises UserError for an algorithm that is not known, for a link that carries nothing, and where a flow asks
    for a policy and none is given.
    """
    from vulcan_link.kernels.engine import bin_of, run

    algorithms = [_algorithm(flow, policy) for flow in scenario.flows]
    count = len(scenario.flows)
    rows = _power_of_two(max(flow.receive_window for flow in scenario.flows))
    ring = 4 * rows
    rate = capacity(scenario.link, 0.0, scenario.link.period / SECOND)
    flows, own, dues = _flows(scenario, algorithms, rate, policy)
    seeds = [seed_of_policy(scenario, f) for f in range(count)]
    calls = PolicyCalls.of(policy, LAYOUT, ("cwnd", "update", "round_trip", *EVENTS), seeds)
    handlers = np.array(calls.addresses[3:], np.int64)
    queue_rows = _power_of_two(min(_packet_limit(scenario.queue), count * ring) + 3)
    base = np.zeros_like(own)
    bins = np.zeros((count, m.BINS), np.int64)
    link, settings = _link(scenario, queue_rows), _settings(scenario)
    logged = np.zeros((max(_log_rows(scenario, rate), log_rows) if log else 0, m.LOG_SLOTS), np.int64)
    managing = manager.install(settings, rate, _packet_limit(scenario.queue)) if manager is not None else None
    packets = np.zeros((count, rows, m.PACKET_SLOTS), np.int64)
    transmissions, lost = np.zeros((2, count, ring), np.int64)
    received, arrivals = np.zeros((count, rows), np.uint8), np.zeros((count, ring, 1), np.int64)
    acks = np.zeros((count, ring, m.ACK_SLOTS), np.int64)
    late = np.zeros((count, ring if scenario.late_share > 0 else 1, m.LATE_SLOTS), np.int64)
    events = run(
        (*calls.addresses[:3], bool(handlers.any())), handlers, scenario.link.times, scenario.link.rates, settings,
        scenario.loss, np.array([generator_state(scenario.seed)]), flows, own, dues, packets, transmissions, lost,
        received, arrivals, acks, late, np.zeros((queue_rows, m.QUEUE_SLOTS), np.int64), link, calls.shown, np.zeros(1),
        bins, base, logged,
    )  # fmt: skip
    if link[m.LOGGED] > len(logged):  # the log was too short: far more was sent than the link carries
        return simulate(scenario, policy, manager=manager, log=True, log_rows=int(link[m.LOGGED]))
    bins = bins[:, : bin_of.py_func(int(own[:, m.DELAY_MAX].max())) + 1]
    made = _result(scenario, own, base, bins, flows, link, events)
    made = replace(made, log=logged[: link[m.LOGGED]], states=calls.shown)
    return made if managing is None else replace(made, management=decisions_of_state(managing))


def _log_rows(scenario: Scenario, rate: float) -> int:
    """Return the rows of a log with room for four times what the link carries, and for what flows begin with."""
    smallest = min(flow.packet_bytes for flow in scenario.flows)
    return round(8.0 * rate * scenario.duration_s / (8 * smallest)) + 1000 * len(scenario.flows)


def capacity(link: LinkTrace, begin_s: float, end_s: float) -> float:
    """Bits/s that the link carries on average from one time of its trace to another, s, on the wire."""
    if end_s <= begin_s:
        return 0.0
    begin, end = link.carried_until(np.array([round(begin_s * SECOND), round(end_s * SECOND)]))
    return float(end - begin) / (end_s - begin_s)


def _algorithm(flow: Flow, policy: Policy | None) -> Algorithm:
    if flow.algorithm not in ALGORITHMS:
        raise UserError(f"algorithm {flow.algorithm!r} is not known; there are {', '.join(ALGORITHMS)}")
    if flow.algorithm == "policy" and policy is None:
        raise UserError("a flow's algorithm is `policy`, and no policy is given; give simulate one")
    return ALGORITHMS[flow.algorithm]


def seed_of_policy(scenario: Scenario, flow: int) -> int:
    """Return the seed of the random numbers that a policy draws for the flow of that number, from 0."""
    return int(generator_state(scenario.seed, len(scenario.flows) + 2 + flow))


def _flows(
    scenario: Scenario, algorithms: list[Algorithm], rate: float, policy: Policy | None
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the flows' records before they start, what only the mechanism sees of them, and when they start."""
    count = len(scenario.flows)
    flows = np.zeros((count, flow_state.SLOTS))
    own = np.zeros((count, m.FLOW_SLOTS), np.int64)
    dues = np.full((count, m.SOURCES), m.NEVER)
    duration = round(scenario.duration_s * SECOND)
    chosen = {} if policy is None else dict(policy.program.chosen)
    for f, (flow, algorithm) in enumerate(zip(scenario.flows, algorithms, strict=True)):
        row, mine = flows[f], own[f]
        row[flow_state.ALGORITHM] = algorithm.number
        row[flow_state.CONTROLS] = algorithm.controls
        row[flow_state.PACED] = algorithm.paced
        row[flow_state.PAYLOAD_BYTES] = flow.packet_bytes - HEADERS
        row[flow_state.PACKET_BYTES] = flow.packet_bytes
        row[flow_state.PARAMETER] = flow.parameter
        row[flow_state.PROPAGATION] = round(flow.round_trip_ms * MILLISECOND)
        row[flow_state.LINK_RATE] = rate
        row[flow_state.INITIAL_WINDOW] = flow.initial_window
        row[flow_state.RANDOM] = generator_state(scenario.seed, f + 1)
        ahead = round(flow.delay_ms * MILLISECOND)
        dues[f, m.START] = round(flow.start_s * SECOND) + ahead
        stop = m.NEVER if flow.stop_s is None else round(flow.stop_s * SECOND) + ahead
        mine[m.STOP] = min(stop, duration) if scenario.drain else stop
        mine[m.RACK] = -1
        mine[m.CAPABLE_OF_ECN] = flow.ecn
        mine[m.RECEIVE_WINDOW] = flow.receive_window
        mine[m.CALLED] = flow.called == "round"
        slow_start = chosen.get("SLOW_START", flow.slow_start)
        mine[m.SLOW_START_BY_MECHANISM] = slow_start == "mechanism"
        mine[m.QUICK] = QUICK_PACKETS
        mine[m.DELAYS_ACKS] = flow.delayed_acks
        mine[m.FORESEES] = algorithm.is_offline
        mine[m.MAY_REORDER] = scenario.late_share > 0
        mine[m.REORDERING_STEPS] = 1
        mine[m.WRITE_PACKETS] = flow.write_packets
        mine[m.WRITE_INTERVAL] = round(flow.write_ms * MILLISECOND)
    return flows, own, dues


def _packet_limit(queue: Queue) -> int:
    return m.NEVER if queue.packets is None else queue.packets


def _settings(scenario: Scenario) -> NDArray[np.int64]:
    queue = scenario.queue
    settings = np.zeros(m.SETTINGS, np.int64)
    settings[m.BY_RATES] = scenario.link.kind == "rates"
    settings[m.PERIOD] = scenario.link.period
    settings[m.LIMIT_PACKETS] = _packet_limit(queue)
    settings[m.CODEL] = {"droptail": m.DROP_TAIL, "codel": m.ONE_CODEL, "fq_codel": m.FAIR_CODEL}[queue.kind]
    settings[m.ECN] = queue.ecn
    settings[m.MARK_PACKETS] = m.NEVER if queue.mark_packets is None else queue.mark_packets
    settings[m.TARGET] = round(queue.target_ms * MILLISECOND)
    settings[m.INTERVAL] = round(queue.interval_ms * MILLISECOND)
    settings[m.CLOCK] = round(scenario.clock_ms * MILLISECOND)
    settings[m.JITTER] = round(scenario.jitter_us * 1000)
    settings[m.ACK_BATCH] = round(scenario.ack_batch_ms * MILLISECOND)
    settings[m.HANDSHAKE] = scenario.handshake
    settings[m.POLICER_RATE] = round(scenario.policer_mbps * 1e6 / 8)
    settings[m.POLICER_BURST] = scenario.policer_bytes
    settings[m.LATE_SHARE] = round(scenario.late_share * 1e6)
    settings[m.LATE_BY] = round(scenario.late_ms * MILLISECOND)
    settings[m.DURATION] = round(scenario.duration_s * SECOND)
    settings[m.MEASURE_FROM] = round(scenario.measure_from_s * SECOND)
    settings[m.DRAIN] = scenario.drain
    settings[m.NOISE] = int(generator_state(scenario.seed, len(scenario.flows) + 1))
    return settings


def _link(scenario: Scenario, rows: int) -> NDArray[np.int64]:
    trace = scenario.link
    if not len(trace.times) or (trace.kind == "rates" and not (trace.rates > 0).any()):
        raise UserError(f"link {trace.name}: it carries nothing; its trace needs an opportunity, or a rate above 0")
    fair = scenario.queue.kind == "fq_codel"
    link = np.zeros(fair_queue.slots(len(scenario.flows), rows) if fair else m.LINK_SLOTS, np.int64)
    link[m.SERVICE] = m.NEVER
    link[m.TOKENS] = scenario.policer_bytes * SECOND
    return link


def _power_of_two(least: int) -> int:
    return 1 << max(least - 1, 0).bit_length()


def _percentile(bins: NDArray[np.int64], share: float) -> float:
    """Return the lower edge, ms, of the bin that holds the smallest delay which that share does not exceed."""
    total = int(bins.sum())
    if total == 0:
        return 0.0
    at = int(np.searchsorted(np.cumsum(bins), math.ceil(share * total)))
    ns = at * m.FINE if at < m.FINE_BINS else m.FINE_BINS * m.FINE + (at - m.FINE_BINS) * m.COARSE
    return ns / MILLISECOND


def _result(
    scenario: Scenario,
    own: NDArray[np.int64],
    base: NDArray[np.int64],
    bins: NDArray[np.int64],
    flows: NDArray[np.float64],
    link: NDArray[np.int64],
    events: int,
) -> LinkResult:
    begin = scenario.measure_from_s
    end = max(scenario.duration_s, int(link[m.LAST_DEPARTURE]) / SECOND) if scenario.drain else scenario.duration_s
    rate = capacity(scenario.link, begin, end)
    counted = own - base
    per_flow = tuple(
        _flow_result(flow, scenario, end, own[f], counted[f], bins[f], flows[f])
        for f, flow in enumerate(scenario.flows)
    )
    seconds = end - begin
    carried = sum(
        int(c[m.GONE]) * 32 + int(c[m.CARRIED_BYTES]) * 8
        if scenario.link.kind == "opportunities"
        else int(c[m.CARRIED_BYTES]) * 8
        for c in counted
    )
    return LinkResult(
        flows=per_flow,
        seconds=seconds,
        capacity_bps=rate,
        utilisation=carried / (rate * seconds) if rate else 0.0,
        goodput_bps=float(counted[:, m.RECEIVED] @ flows[:, flow_state.PAYLOAD_BYTES]) * 8 / seconds,
        throughput_bps=float(counted[:, m.CARRIED_BYTES].sum()) * 8 / seconds,
        **_packets(counted.sum(axis=0), bins.sum(axis=0), own[:, m.DELAY_MAX].max()),
        jain=jain([flow.goodput_bps for flow in per_flow]),
        events=events,
    )


_PACKETS = {
    "sent": m.SENT, "delivered": m.GONE, "dropped": m.DROPPED, "lost": m.LOST_AT_RANDOM, "marked": m.MARKED_COUNT,
    "retransmitted": m.RETRANSMITTED,
}  # fmt: skip


def _packets(counted: NDArray[np.int64], bins: NDArray[np.int64], longest: int) -> dict[str, Any]:
    """Return what results of flows and of the link have alike: counts of packets, and their delays in the queue."""
    gone = int(counted[m.GONE])
    return {
        **{name: int(counted[slot]) for name, slot in _PACKETS.items()},
        "queueing_delay_avg_ms": float(counted[m.DELAY_SUM]) / gone / MILLISECOND if gone else 0.0,
        "queueing_delay_p95_ms": _percentile(bins, 0.95),
        "queueing_delay_max_ms": float(longest) / MILLISECOND,
    }


def _completion_ms(flow: Flow, own: NDArray[np.int64]) -> float:
    """Return the time from a flow's start until its receiver had all; infinite where it does not stop or has not."""
    if flow.stop_s is None or not own[m.NXT] or own[m.EXPECTED] < own[m.NXT]:
        return math.inf
    return int(own[m.LAST_NEW]) / MILLISECOND - 1e3 * flow.start_s


def _flow_result(
    flow: Flow,
    scenario: Scenario,
    end: float,
    own: NDArray[np.int64],
    counted: NDArray[np.int64],
    bins: NDArray[np.int64],
    row: NDArray[np.float64],
) -> FlowResult:
    stop = end if flow.stop_s is None else min(flow.stop_s, end)
    seconds = stop - max(flow.start_s, scenario.measure_from_s)
    samples, acks = int(counted[m.RTT_COUNT]), int(counted[m.ACKS])
    received = int(counted[m.RECEIVED])
    return FlowResult(
        algorithm=flow.algorithm,
        **_packets(counted, bins, own[m.DELAY_MAX]),
        goodput_bps=received * float(row[flow_state.PAYLOAD_BYTES]) * 8 / seconds if seconds > 0 else 0.0,
        throughput_bps=float(counted[m.CARRIED_BYTES]) * 8 / seconds if seconds > 0 else 0.0,
        rtt_avg_ms=float(counted[m.RTT_SUM]) / samples / MILLISECOND if samples else 0.0,
        rtt_min_ms=float(row[flow_state.MIN_RTT]) / MILLISECOND,
        timeouts=int(counted[m.TIMEOUTS]),
        window_avg=float(counted[m.WINDOW_SUM]) / acks if acks else 0.0,
        calls=int(counted[m.CALLS]),
        decisions=int(own[m.DECISIONS]) & (1 << 64) - 1,
        completion_ms=_completion_ms(flow, own),
    )
