"""Bottleneck of the simulated path: its link's timing and its queue.

Mahimahi's meaning of a trace: at each opportunity the link carries 1,504 bytes, of as many packets as they hold, each
with 4 bytes of framing; what is left when the queue is empty is lost. An opportunity is used before a packet that
arrives at that very time. By rates a packet takes as long as its bytes do, also over changes of the rate.
"""

from __future__ import annotations

import math
from typing import Any

from vulcan.anvil.native.policy_calls import element_address
from vulcan.kernel_support import function, helper, intrinsic, ir, types
from vulcan_link import engine_state as m
from vulcan_link.kernels import fair_queue

BILLION = 1_000_000_000

# Call of the bottleneck's queue manager by its address, so that the kernel is compiled once for all of them.

ARRIVAL, DEPARTURE, OVERFLOW = 0, 1, 2
ADMIT, DROP, MARK = 0, 1, 2


@intrinsic
def call_manager(typing_context, address, link, settings, state, now, event, number, capable):
    """call_manager(its address, link, settings, its state's address, now, event, number, capable) -> verdict

    `number` is the size of a packet that arrives, and the time that one waited which departs; `capable` says whether
    it can be marked. The verdict on a packet that departs may be to drop it; on one that overflows it has no effect.
    """
    whole = types.int64
    signature = whole(whole, link, settings, whole, whole, whole, whole, whole)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, integer = ir.IntType(8).as_pointer(), ir.IntType(64)
        zero = ir.Constant(integer, 0)
        function = ir.FunctionType(integer, [byte, byte, byte, *[integer] * 4])
        return builder.call(
            builder.inttoptr(arguments[0], function.as_pointer()),
            [
                element_address(context, builder, signature.args[1], arguments[1], zero),
                element_address(context, builder, signature.args[2], arguments[2], zero),
                builder.inttoptr(arguments[3], byte),
                *arguments[4:],
            ],
        )

    return signature, generate


OPPORTUNITY = 1504
FRAMING = 4


@helper
def next_opportunity(link, times, period, after):
    """Return the time of the next opportunity later than `after`, without using it."""
    position, cycle = link[m.POSITION], link[m.CYCLE]
    at = cycle + times[position]
    while at <= after:
        position += 1
        if position == times.shape[0]:
            position = 0
            cycle += period
        at = cycle + times[position]
    link[m.POSITION], link[m.CYCLE] = position, cycle
    return at


@helper
def use_opportunity(link, times, period):
    link[m.POSITION] += 1
    if link[m.POSITION] == times.shape[0]:
        link[m.POSITION] = 0
        link[m.CYCLE] += period


@helper
def transmitted_at(link, times, rates, period, now, size):
    """Return the end of a transmission of `size` bytes that begins now; NEVER after 1,000 periods without."""
    position, cycle = link[m.POSITION], link[m.CYCLE]
    bits = 8e9 * size
    at = now
    last = times.shape[0] - 1
    cycles = 0
    while True:
        end = cycle + (times[position + 1] if position < last else period)
        if end > at:
            room = rates[position] * (end - at)
            if room >= bits:
                link[m.POSITION], link[m.CYCLE] = position, cycle
                return at + math.ceil(bits / rates[position])
            bits -= room
            at = end
        position += 1
        if position > last:
            position = 0
            cycle += period
            cycles += 1
            if cycles > 1000:
                return m.NEVER


@helper
def note(link, log, now, kind, flow, value):
    """Write a row of the log, if there is one and it has room."""
    if log.shape[0] > 0:
        if link[m.LOGGED] < log.shape[0]:
            row = log[link[m.LOGGED]]
            row[m.E_TIME], row[m.E_KIND], row[m.E_FLOW], row[m.E_VALUE] = now, kind, flow, value
        link[m.LOGGED] += 1


@helper
def fill(link, row, now, flow, sequence, sent_at, mark, size):
    row[m.Q_FLOW] = flow
    row[m.Q_SEQUENCE] = sequence
    row[m.Q_TIME] = now
    row[m.Q_SENT_AT] = sent_at
    row[m.Q_MARK] = mark
    row[m.Q_BYTES] = size
    link[m.TAIL] += 1
    link[m.WAITING_BYTES] += size


@helper
def admit_fairly(link, queue, settings, own, log, now, flow, sequence, sent_at, size, idle):
    """Queue a packet with its flow's, and drop the first of the flow that holds most while the queue is too full."""
    flows = own.shape[0]
    if link[m.SERIAL] == 0 and link[m.TAIL] == 0:
        fair_queue.begin(link, flows)
    note(link, log, now, m.QUEUED, flow, link[m.WAITING_BYTES])
    at = fair_queue.push(link, flow, flows, size)
    fill(link, queue[at], now, flow, sequence, sent_at, 0, size)
    leaving = 1 if idle else 0  # all that waits at an idle link has come with this packet, and one is about to leave
    while link[m.TAIL] - link[m.HEAD] > settings[m.LIMIT_PACKETS] + leaving:
        fat = fair_queue.fattest(link, flows)
        first = queue[fair_queue.first(link, fat)]
        fair_queue.pop(link, fat, flows, first[m.Q_BYTES])
        link[m.HEAD] += 1
        link[m.WAITING_BYTES] -= first[m.Q_BYTES]
        own[fat, m.DROPPED] += 1
        own[fat, m.OUTSTANDING] -= 1
        note(link, log, now, m.DROPPED_WAITING, fat, now - first[m.Q_TIME])
    return True


@helper
def conforms(link, settings, now, size):
    """Take a packet's tokens out of the policer's bucket, which is full at first. Returns whether there are as many."""
    rate, burst = settings[m.POLICER_RATE], settings[m.POLICER_BURST] * BILLION
    since = min(now - link[m.TOKENS_AT], burst // rate + 1)  # beyond, it is full
    tokens = min(burst, link[m.TOKENS] + since * rate)
    link[m.TOKENS_AT] = now
    if tokens < size * BILLION:
        link[m.TOKENS] = tokens
        return False
    link[m.TOKENS] = tokens - size * BILLION
    return True


@helper
def admit(link, queue, settings, own, log, now, flow, sequence, sent_at, size):
    """Queue or drop a packet that arrives; return whether it was queued."""
    waiting = count = link[m.TAIL] - link[m.HEAD]
    idle = settings[m.BY_RATES] == 1 and link[m.IN_SERVICE] == 0
    if settings[m.POLICER_RATE] > 0 and not conforms(link, settings, now, size):
        own[flow, m.DROPPED] += 1
        own[flow, m.OUTSTANDING] -= 1
        note(link, log, now, m.REFUSED, flow, link[m.WAITING_BYTES])
        return False
    if settings[m.CODEL] == m.FAIR_CODEL:
        return admit_fairly(link, queue, settings, own, log, now, flow, sequence, sent_at, size, idle)
    if idle and waiting > 0:  # the first of them is about to leave
        count -= 1
    full = count >= settings[m.LIMIT_PACKETS]
    capable = settings[m.ECN] == 1 and own[flow, m.CAPABLE_OF_ECN] == 1
    if full and not (idle and waiting == 0):
        if settings[m.MANAGER_DROP] != 0:
            call_manager(
                settings[m.MANAGER], link, settings, settings[m.MANAGER_STATE], now, OVERFLOW, size, int(capable)
            )
        own[flow, m.DROPPED] += 1
        own[flow, m.OUTSTANDING] -= 1
        note(link, log, now, m.OVERFLOWED, flow, link[m.WAITING_BYTES])
        return False
    mark = 1 if capable and waiting >= settings[m.MARK_PACKETS] else 0
    if settings[m.MANAGER] != 0:
        verdict = call_manager(
            settings[m.MANAGER], link, settings, settings[m.MANAGER_STATE], now, ARRIVAL, size, int(capable)
        )
        if verdict == MARK:
            mark = 1
        elif verdict != ADMIT:
            own[flow, m.DROPPED] += 1
            own[flow, m.OUTSTANDING] -= 1
            note(link, log, now, m.REFUSED, flow, link[m.WAITING_BYTES])
            return False
    note(link, log, now, m.QUEUED, flow, link[m.WAITING_BYTES])
    fill(link, queue[link[m.TAIL] & (queue.shape[0] - 1)], now, flow, sequence, sent_at, mark, size)
    return True


@helper
def take(link, queue, settings, own, now):
    """Move the head of the queue to CURRENT. Returns 0 where there is none, 2 where CoDel may drop it, else 1."""
    fair = settings[m.CODEL] == m.FAIR_CODEL
    at = link[m.HEAD] & (queue.shape[0] - 1) if link[m.HEAD] < link[m.TAIL] else -1
    if fair:
        at = fair_queue.first(link, link[fair_queue.TURN])
    if at < 0:
        link[m.FIRST_ABOVE] = 0
        return 0
    row = queue[at]
    for k in range(m.QUEUE_SLOTS):
        link[m.CURRENT + k] = row[k]
    link[m.HEAD] += 1
    link[m.WAITING_BYTES] -= row[m.Q_BYTES]
    if fair:
        fair_queue.pop(link, row[m.Q_FLOW], own.shape[0], row[m.Q_BYTES])
    if settings[m.CODEL] == m.DROP_TAIL:
        return 1
    if now - link[m.CURRENT + m.Q_TIME] < settings[m.TARGET] or link[m.WAITING_BYTES] <= OPPORTUNITY:
        link[m.FIRST_ABOVE] = 0
    elif link[m.FIRST_ABOVE] == 0:
        link[m.FIRST_ABOVE] = now + settings[m.INTERVAL]
    elif now >= link[m.FIRST_ABOVE]:
        return 2
    return 1


@helper
def drop_current(link, own, log, now):
    flow = link[m.CURRENT + m.Q_FLOW]
    own[flow, m.DROPPED] += 1
    own[flow, m.OUTSTANDING] -= 1
    note(link, log, now, m.DROPPED_WAITING, flow, now - link[m.CURRENT + m.Q_TIME])


@helper
def can_mark(link, settings, own):
    return settings[m.ECN] == 1 and own[link[m.CURRENT + m.Q_FLOW], m.CAPABLE_OF_ECN] == 1


@helper
def control_law(settings, at, drops):
    return at + int(settings[m.INTERVAL] / math.sqrt(drops))


@helper
def dequeue_of_one(link, queue, settings, own, log, now):
    """Dequeue from a single queue or that of the flow in turn. CoDel as in RFC 8289, 5."""
    found = take(link, queue, settings, own, now)
    if settings[m.CODEL] == m.DROP_TAIL:
        while settings[m.MANAGER] != 0 and found > 0:
            waited, capable = now - link[m.CURRENT + m.Q_TIME], int(can_mark(link, settings, own))
            verdict = call_manager(
                settings[m.MANAGER], link, settings, settings[m.MANAGER_STATE], now, DEPARTURE, waited, capable
            )
            if verdict == MARK:
                link[m.CURRENT + m.Q_MARK] = 1
            if verdict != DROP:
                break
            drop_current(link, own, log, now)
            found = take(link, queue, settings, own, now)
        return found > 0
    entering = link[m.DROPPING] == 0 and found == 2
    if found < 2:
        link[m.DROPPING] = 0
    while link[m.DROPPING] == 1 and now >= link[m.DROP_NEXT]:
        link[m.DROPS] += 1
        if can_mark(link, settings, own):
            link[m.CURRENT + m.Q_MARK] = 1
            link[m.DROP_NEXT] = control_law(settings, link[m.DROP_NEXT], link[m.DROPS])
            return True
        drop_current(link, own, log, now)
        found = take(link, queue, settings, own, now)
        if found < 2:
            link[m.DROPPING] = 0
        else:
            link[m.DROP_NEXT] = control_law(settings, link[m.DROP_NEXT], link[m.DROPS])
    if entering:
        if can_mark(link, settings, own):
            link[m.CURRENT + m.Q_MARK] = 1
        else:
            drop_current(link, own, log, now)
            found = take(link, queue, settings, own, now)
        link[m.DROPPING] = 1
        more = link[m.DROPS] - link[m.LAST_DROPS]
        link[m.DROPS] = more if more > 1 and now - link[m.DROP_NEXT] < 16 * settings[m.INTERVAL] else 1
        link[m.DROP_NEXT] = control_law(settings, now, link[m.DROPS])
        link[m.LAST_DROPS] = link[m.DROPS]
    return found > 0


@helper
def dequeue(link, queue, settings, own, log, now):
    """Make the next packet to be carried CURRENT; returns False if there is none."""
    if settings[m.CODEL] != m.FAIR_CODEL:
        return dequeue_of_one(link, queue, settings, own, log, now)
    while True:
        f = fair_queue.next_flow(link) if link[m.TAIL] > 0 else -1
        if f < 0:
            return False
        found = dequeue_of_one(link, queue, settings, own, log, now)
        fair_queue.served(link, f, link[m.CURRENT + m.Q_BYTES] if found else 0)
        if found:
            return True


@helper
def wake(link, times, settings, now):
    """Schedule the link's next action when the queue is no longer empty."""
    if settings[m.BY_RATES] == 1:
        link[m.SERVICE] = now
    else:
        link[m.SERVICE] = next_opportunity(link, times, settings[m.PERIOD], now)


@function
def coming(link, times, rates, by_rates, period, now, until, size):
    """Return how many packets of `size` bytes the link can carry from now until then."""
    position, cycle = link[m.POSITION], link[m.CYCLE]
    carried = 0.0
    last = times.shape[0] - 1
    while cycle + times[position] <= until:
        if by_rates == 1:
            end = cycle + (times[position + 1] if position < last else period)
            carried += rates[position] * max(min(end, until) - max(cycle + times[position], now), 0) / (8e9 * size)
        elif cycle + times[position] > now:
            carried += OPPORTUNITY / (size + FRAMING)
        position += 1
        if position > last:
            position = 0
            cycle += period
    return carried


@helper
def delay_of_current(link, settings, departed):
    """Return how long it waited: until it left, or by rates until its transmission began."""
    arrived = link[m.CURRENT + m.Q_TIME]
    if settings[m.CLOCK] > 1:
        arrived -= arrived % settings[m.CLOCK]
    until = link[m.BEGAN] if settings[m.BY_RATES] == 1 else departed
    return until - arrived
