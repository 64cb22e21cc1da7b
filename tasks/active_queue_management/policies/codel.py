"""CoDel (RFC 8289): drops packets as they leave, more and more often, while they have waited too long all the time.

Times are whole nanoseconds, as in the RFC's reference code.
"""

import math

TARGET_MS = 5
INTERVAL_NS = 100_000_000
PACKET_BYTES = 1504


class policy:
    first_above = 0  # when a delay above the target will have lasted for an interval; 0 while it is below
    dropping = 0  # whether packets are being dropped
    next_drop = 0
    drops = 1  # since it began
    last_drops = 1
    first_dropped = 0  # the packet before this one was the first dropped: this one is sent
    dropped = 0  # the packet before this one was a further one dropped


def on_dequeue(queue, packet):
    now = round(queue.now_ms * 1e6)
    above = 0
    if packet.sojourn_ms < TARGET_MS or queue.bytes <= PACKET_BYTES:
        policy.first_above = 0
    elif policy.first_above == 0:
        policy.first_above = now + INTERVAL_NS
    else:
        above = now >= policy.first_above
    continues = policy.dropped
    policy.dropped = 0
    if policy.first_dropped:
        policy.first_dropped = 0
    elif not above:
        policy.dropping = 0
    elif policy.dropping:
        if continues:
            policy.next_drop += int(INTERVAL_NS / math.sqrt(policy.drops))
        if now >= policy.next_drop:
            packet.drop = 1
            policy.drops += 1
            policy.dropped = not packet.ecn
            if packet.ecn:
                policy.next_drop += int(INTERVAL_NS / math.sqrt(policy.drops))
    else:
        packet.drop = 1
        more = policy.drops - policy.last_drops
        policy.drops = more if more > 1 and now - policy.next_drop < 16 * INTERVAL_NS else 1
        policy.last_drops = policy.drops
        policy.next_drop = now + int(INTERVAL_NS / math.sqrt(policy.drops))
        policy.dropping = 1
        policy.first_dropped = not packet.ecn


def drop_probability(queue):
    return 0
