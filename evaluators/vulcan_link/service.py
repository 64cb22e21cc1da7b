"""The link acts: packets leave the queue, and reach the receiver."""

from __future__ import annotations

from vulcan.kernel_support import helper
from vulcan_link import memory as m
from vulcan_link.bottleneck import FRAMING, OPPORTUNITY, delay_of_current, dequeue, transmitted_at, use_opportunity
from vulcan_link.measuring import bin_of
from vulcan_link.memory import CURRENT, DELAYED_ACK, IN_SERVICE, LEFT, NEVER, SERVICE
from vulcan_link.receiver import DELAY, acknowledge, receive


@helper
def serve(link, queue, settings, times, rates, own, dues, flows, all_received, all_arrivals, all_acks, bins, now):
    """The link's next action: an opportunity is used, or a packet has been transmitted and the next one begins."""
    left = 0
    if settings[m.BY_RATES] == 0:
        use_opportunity(link, times, settings[m.PERIOD])
        left = OPPORTUNITY
    while True:
        if link[IN_SERVICE] == 0:
            if settings[m.BY_RATES] == 0 and left == 0:
                break
            if not dequeue(link, queue, settings, own, now):
                break
            link[IN_SERVICE] = 1
            if settings[m.BY_RATES] == 1:
                link[m.BEGAN] = now
                link[SERVICE] = transmitted_at(link, times, rates, settings[m.PERIOD], now, link[CURRENT + m.Q_BYTES])
                break
            link[LEFT] = link[CURRENT + m.Q_BYTES] + FRAMING
        if settings[m.BY_RATES] == 0:
            used = min(left, link[LEFT])
            left -= used
            link[LEFT] -= used
            if link[LEFT] > 0:
                break
        # the packet has left the link
        link[IN_SERVICE] = 0
        g = link[CURRENT + m.Q_FLOW]
        his = own[g]
        delay = delay_of_current(link, settings, now)
        bins[g, bin_of(delay)] += 1
        his[m.DELAY_SUM] += delay
        his[m.DELAY_MAX] = max(his[m.DELAY_MAX], delay)
        his[m.GONE] += 1
        his[m.CARRIED_BYTES] += link[CURRENT + m.Q_BYTES]
        his[m.MARKED_COUNT] += link[CURRENT + m.Q_MARK]
        link[m.LAST_DEPARTURE] = now
        if receive(
            his,
            all_received[g],
            all_arrivals[g],
            link[CURRENT + m.Q_SEQUENCE],
            link[CURRENT + m.Q_SENT_AT],
            link[CURRENT + m.Q_MARK],
        ):
            acknowledge(his, dues[g], flows[g], all_acks[g], settings, link, now)
        elif dues[g, DELAYED_ACK] == NEVER:
            dues[g, DELAYED_ACK] = now + DELAY
    if link[IN_SERVICE] == 0 and link[m.HEAD] == link[m.TAIL]:
        link[SERVICE] = NEVER
    elif settings[m.BY_RATES] == 0:
        link[SERVICE] = link[m.CYCLE] + times[link[m.POSITION]]
