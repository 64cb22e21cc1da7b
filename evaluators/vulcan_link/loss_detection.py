"""Which of the packets sent are lost, by the time at which they left: RACK (RFC 8985)."""

from __future__ import annotations

from vulcan.kernel_support import function
from vulcan_link import memory as m
from vulcan_link.memory import (
    FLAGS,
    IS_DELIVERED,
    IS_LOST,
    IS_RETRANSMITTED,
    OLDEST,
    SACKED_OUT,
    SENDER_STATE,
    SENT_AT,
    TIMER,
    TIMER_KIND,
    TRANSMISSION,
    TRANSMISSIONS,
    UNA,
)
from vulcan_link.record import RECOVERY
from vulcan_link.scoreboard import deem_lost
from vulcan_link.timers import TICK

DUPLICATES = 3


@function
def detect_losses(mine, due, packets, transmissions, lost, now):
    """RACK: of what was sent before the latest delivered transmission, what is overdue is lost (RFC 8985).

    The network keeps the order, so that no reordering is ever seen and, in recovery or from 3 packets selectively
    acknowledged on, all of it is overdue. Returns whether a timer for the rest was set.
    """
    mask = packets.shape[0] - 1
    last = transmissions.shape[0] - 1
    wait = 0
    if mine[SENDER_STATE] < RECOVERY and mine[SACKED_OUT] < DUPLICATES:
        wait = min(mine[m.MIN_RTT] >> 2, mine[m.SRTT] >> 6)
    while mine[OLDEST] < mine[TRANSMISSIONS]:
        sequence = transmissions[mine[OLDEST] & last]
        packet = packets[sequence & mask]
        if sequence >= mine[UNA] and packet[TRANSMISSION] == mine[OLDEST] and packet[FLAGS] & IS_DELIVERED == 0:
            if mine[OLDEST] > mine[m.RACK]:
                break
            if packet[FLAGS] & (IS_LOST | IS_RETRANSMITTED) != IS_LOST:
                remaining = packet[SENT_AT] + mine[m.RACK_RTT] + wait - now
                if remaining > 0:
                    mine[TIMER_KIND] = m.REORDERING
                    due[TIMER] = now + remaining + TICK
                    return True
                deem_lost(mine, packets, lost, sequence)
        mine[OLDEST] += 1
    return False
