"""Event loop of the simulator.

The network keeps the order, so that each flow's acknowledgements return in the order in which they were sent, and the
few things that may happen next are the link's next action and, of each flow, its next acknowledgement, its timer, its
delayed acknowledgement, the time that pacing lets it send, and its start. There is no heap of events.

A flow's clock runs ahead by the propagation to the queue, so that its packets are in the queue when it sends them;
acknowledgements come after the propagation of both ways. Nothing that is measured depends on where the delay lies.
At one and the same time the link acts first; then acknowledgements arrive in the order in which they left; else flows
act in their order, each by the order of the sources in `engine_state`.
"""

from vulcan.kernel_support import B2, F1, F2, I1, I2, I3, RF1, RI1, helper, kernel, types
from vulcan_link import engine_state as m
from vulcan_link import flow_state as s
from vulcan_link.algorithms import POLICY, dispatch
from vulcan_link.kernels import bottleneck
from vulcan_link.kernels.policy_hooks import ask
from vulcan_link.kernels.policy_hooks import begin as begin_policy
from vulcan_link.kernels.random_numbers import noise
from vulcan_link.kernels.receiver import MILLISECOND, acknowledge, hold, is_known, is_late, take_in
from vulcan_link.kernels.sender import stop_waiting_for_reordering, take_acknowledgement, time_out
from vulcan_link.kernels.timers import estimate
from vulcan_link.kernels.transmission import send

# Measurements of a run: a histogram of queueing delays, and counters.


@helper
def bin_of(delay):
    if delay < m.FINE_BINS * m.FINE:
        return delay // m.FINE
    return min(m.FINE_BINS + (delay - m.FINE_BINS * m.FINE) // m.COARSE, m.BINS - 1)


@helper
def begin_measuring(own, base, bins):
    for f in range(own.shape[0]):
        highest = bin_of(own[f, m.DELAY_MAX])
        own[f, m.DELAY_MAX] = 0
        for slot in range(own.shape[1]):
            base[f, slot] = own[f, slot]
        for k in range(highest + 1):  # not all: most are never touched, and so take no memory
            bins[f, k] = 0


# The link acts: packets leave the queue, and reach the receiver.


@helper
def serve(
    link, queue, settings, times, rates, own, log, dues, flows, all_received, all_arrivals, all_acks, all_late,
    bins, now,
):  # fmt: skip
    """Perform the link's next action: use an opportunity, or end a transmission and begin the next."""
    left = 0
    if settings[m.BY_RATES] == 0:
        bottleneck.use_opportunity(link, times, settings[m.PERIOD])
        left = bottleneck.OPPORTUNITY
    while True:
        if link[m.IN_SERVICE] == 0:
            if settings[m.BY_RATES] == 0 and left == 0:
                break
            if not bottleneck.dequeue(link, queue, settings, own, log, now):
                break
            link[m.IN_SERVICE] = 1
            if settings[m.BY_RATES] == 1:
                link[m.BEGAN] = now
                link[m.SERVICE] = bottleneck.transmitted_at(
                    link, times, rates, settings[m.PERIOD], now, link[m.CURRENT + m.Q_BYTES]
                )
                break
            link[m.LEFT] = link[m.CURRENT + m.Q_BYTES] + bottleneck.FRAMING
        if settings[m.BY_RATES] == 0:
            used = min(left, link[m.LEFT])
            left -= used
            link[m.LEFT] -= used
            if link[m.LEFT] > 0:
                break
        # the packet has left the link
        link[m.IN_SERVICE] = 0
        g = link[m.CURRENT + m.Q_FLOW]
        his = own[g]
        delay = bottleneck.delay_of_current(link, settings, now)
        bins[g, bin_of(delay)] += 1
        his[m.DELAY_SUM] += delay
        his[m.DELAY_MAX] = max(his[m.DELAY_MAX], delay)
        his[m.GONE] += 1
        his[m.CARRIED_BYTES] += link[m.CURRENT + m.Q_BYTES]
        his[m.MARKED_COUNT] += link[m.CURRENT + m.Q_MARK]
        link[m.LAST_DEPARTURE] = now
        sequence, sent_at = link[m.CURRENT + m.Q_SEQUENCE], link[m.CURRENT + m.Q_SENT_AT]
        mark = link[m.CURRENT + m.Q_MARK]
        if settings[m.LATE_SHARE] > 0 and is_late(settings, his, g):
            again = is_known(his, all_received[g], sequence)
            bottleneck.note(link, log, now, m.CARRIED_AGAIN if again else m.CARRIED, g, delay)
            hold(his, dues[g], all_late[g], sequence, sent_at, mark, now + settings[m.LATE_BY])
            continue
        known = his[m.RECEIVED]
        take_in(
            his, dues[g], flows[g], all_received[g], all_arrivals[g], all_acks[g], settings, link, sequence,
            sent_at, mark, now,
        )  # fmt: skip
        bottleneck.note(link, log, now, m.CARRIED if his[m.RECEIVED] > known else m.CARRIED_AGAIN, g, delay)
    if link[m.IN_SERVICE] == 0 and link[m.HEAD] == link[m.TAIL]:
        link[m.SERVICE] = m.NEVER
    elif settings[m.BY_RATES] == 0:
        link[m.SERVICE] = link[m.CYCLE] + times[link[m.POSITION]]


_SIGNATURE = types.int64(
    # addresses of the policy's score, update and end of a round trip, 0 for none; has it handlers?
    types.Tuple((types.int64, types.int64, types.int64, types.boolean)),
    I1,  # addresses of these
    RI1,  # times of the link's trace
    RF1,  # its rates
    RI1,  # settings
    types.float64,  # probability of loss
    F1,  # the state of the loss's generator
    F2,  # flows
    I2,  # the same, what only the mechanism sees
    I2,  # when their sources of events are due
    I3,  # packets
    I2,  # ring of transmissions: sequence numbers
    I2,  # ring of packets to retransmit
    B2,  # received out of order
    I3,  # ring of packets received and not yet known to the sender
    I3,  # ring of acknowledgements
    I3,  # ring of packets that are late
    I2,  # ring of the queue
    I1,  # link
    F2,  # features of policies
    F1,  # memory for a policy's arguments that this kind of task has not
    I2,  # bins of queueing delays
    I2,  # counts when the measured time began
    I2,  # log, without rows where nobody asks for one
)


@helper
def earliest(due, own, flows):
    """Return the flow and the source that are due first; of simultaneous acknowledgements the one that left first.

    Else one of several flows of the same delay would always find the queue before the others do.
    """
    best, flow, source = m.NEVER, 0, 0
    for f in range(flows):
        for each in range(m.SOURCES):
            if due[f, each] < best:
                best, flow, source = due[f, each], f, each
            elif (
                due[f, each] == best < m.NEVER
                and each == source == m.ACK_ARRIVES
                and own[f, m.FIRST_SERIAL] < own[flow, m.FIRST_SERIAL]
            ):
                flow = f
    return best, flow, source


@kernel(_SIGNATURE)
def run(
    policy, handlers, times, rates, settings, loss, loss_generator, flows, own, dues, all_packets, all_transmissions,
    all_lost, all_received, all_arrivals, all_acks, all_late, queue, link, shown, spare, bins, base, log,
):  # fmt: skip
    """Run the simulation to its end. Returns the number of events."""
    count = flows.shape[0]
    events = 0
    end = settings[m.DURATION]
    measure_from = settings[m.MEASURE_FROM]
    measuring = measure_from == 0
    period = settings[m.PERIOD]
    while True:
        now, f, source = earliest(dues, own, count)
        by_link = link[m.SERVICE] <= now
        if by_link:
            now = link[m.SERVICE]
        if not measuring and now >= measure_from:
            begin_measuring(own, base, bins)
            measuring = True
        if now > end and (settings[m.DRAIN] == 0 or now > 4 * end or now == m.NEVER or link[m.SERVICE] == m.NEVER):
            break
        events += 1

        if by_link:
            serve(
                link, queue, settings, times, rates, own, log, dues, flows, all_received, all_arrivals, all_acks,
                all_late, bins, now,
            )  # fmt: skip
            continue

        mine, due, flow = own[f], dues[f], flows[f]
        if source == m.LATE_ARRIVES:
            late = all_late[f]
            row = late[mine[m.LATE_HEAD] & (late.shape[0] - 1)]
            mine[m.LATE_HEAD] += 1
            waits = mine[m.LATE_HEAD] < mine[m.LATE_TAIL]
            due[m.LATE_ARRIVES] = late[mine[m.LATE_HEAD] & (late.shape[0] - 1), m.L_TIME] if waits else m.NEVER
            take_in(
                mine, due, flow, all_received[f], all_arrivals[f], all_acks[f], settings, link,
                row[m.L_SEQUENCE], row[m.L_SENT_AT], row[m.L_MARK], now,
            )  # fmt: skip
            continue
        if source == m.DELAYED_ACK:
            acknowledge(mine, due, flow, all_acks[f], settings, link, now)
            continue
        packets, transmissions, lost = all_packets[f], all_transmissions[f], all_lost[f]
        mine[m.ASK] = -1
        retransmit_head = False
        probe = False
        if mine[m.FORESEES] == 1:
            until = now + int(flow[s.PROPAGATION])
            flow[s.COMING] = bottleneck.coming(
                link, times, rates, settings[m.BY_RATES], period, now, until, int(flow[s.PACKET_BYTES])
            )
        if source == m.ACK_ARRIVES:
            acks = all_acks[f]
            ack = acks[mine[m.ACKS_HEAD] & (acks.shape[0] - 1)]
            take_acknowledgement(mine, due, flow, packets, transmissions, lost, all_arrivals[f], ack, now)
            mine[m.ACKS_HEAD] += 1
            if mine[m.ACKS_HEAD] == mine[m.ACKS_TAIL]:
                due[m.ACK_ARRIVES] = m.NEVER
            else:
                first = acks[mine[m.ACKS_HEAD] & (acks.shape[0] - 1)]
                due[m.ACK_ARRIVES] = first[m.ACK_TIME]
                mine[m.FIRST_SERIAL] = first[m.ACK_SERIAL]
        elif source == m.TIMER:
            if mine[m.TIMER_KIND] == m.RETRANSMISSION:
                time_out(mine, due, flow, packets, lost, now)
                retransmit_head = mine[m.UNA] < mine[m.NXT]
            elif mine[m.TIMER_KIND] == m.PROBE:
                probe = True
            else:
                stop_waiting_for_reordering(mine, due, flow, packets, transmissions, lost, now)
        elif source == m.START:
            due[m.START] = m.NEVER
            flow[s.NOW] = flow[s.STARTED] = now
            flow[s.CWND] = flow[s.INITIAL_WINDOW]
            flow[s.SSTHRESH] = s.NO_THRESHOLD
            mine[m.DELIVERED_TIME] = mine[m.FIRST_SENT] = now
            estimate(mine, max(int(flow[s.PROPAGATION]), 1))  # the handshake's round trip
            flow[s.SMOOTHED_RTT] = mine[m.SRTT] / 8.0
            if settings[m.HANDSHAKE] == 1:  # it waited behind what is in the queue, if the flow is not the first
                waited = link[m.WAITING_BYTES] * 8e9 / flow[s.LINK_RATE]
                late = settings[m.JITTER] * noise(settings[m.NOISE], now // MILLISECOND)
                mine[m.MIN_RTT] = max(int(flow[s.PROPAGATION] + waited + late), 1)
                flow[s.MIN_RTT] = mine[m.MIN_RTT]
            if int(flow[s.ALGORITHM]) == POLICY:
                begin_policy(mine, flow, shown[f], settings[m.ECN] * mine[m.CAPABLE_OF_ECN])
            else:
                dispatch.begin(flow)
        else:
            due[m.MAY_SEND] = m.NEVER
        if mine[m.ASK] >= 0 and int(flow[s.ALGORITHM]) == POLICY:
            ask(mine, flow, policy, handlers, shown[f], spare, spare, source == m.ACK_ARRIVES)
        send(
            mine, due, flow, packets, transmissions, lost, link, queue, settings, times, own, log, f, loss,
            loss_generator, retransmit_head, probe, now,
        )  # fmt: skip
    return events
