"""COBALT, the queue management of CAKE (Høiland-Jørgensen, Täht and Morton, 2018), for one queue: CoDel whose count
falls as it rose, and BLUE, which raises a probability while the queue overflows and lowers it while it is empty.
"""

import math

TARGET_MS = 5
INTERVAL_MS = 100
UP = 0.00390625
DOWN = 0.000244140625


class policy:
    count = 0
    dropping = 0
    next_drop = 0.0
    blue = 0.0  # probability of a drop
    blue_at = 0.0  # when it changed last


def on_dequeue(queue, packet):
    now = queue.now_ms
    packet_ms = 12e6 / queue.drain_bps if queue.drain_bps > 0 else 0
    over = packet.sojourn_ms > TARGET_MS and packet.sojourn_ms > 4 * packet_ms
    due = policy.count > 0 and now >= policy.next_drop
    dropped = 0
    if over and not policy.dropping:
        policy.dropping = 1
        policy.next_drop = now + INTERVAL_MS / math.sqrt(max(policy.count, 1))
    if over:
        policy.count = max(policy.count, 1)
    else:
        policy.dropping = 0
    if due and policy.dropping:
        dropped = 1
        policy.count += 1
        policy.next_drop += INTERVAL_MS / math.sqrt(max(policy.count, 1))
    elif due:
        for _ in range(8):
            if policy.count > 0 and now >= policy.next_drop:
                policy.count -= 1
                policy.next_drop += INTERVAL_MS / math.sqrt(max(policy.count, 1))
    if policy.count == 0:
        policy.next_drop = now + INTERVAL_MS
    elif now > policy.next_drop and not dropped:
        policy.next_drop = now
    if dropped and queue.packets > 0:
        packet.drop = 1
    if queue.packets == 0:
        policy.dropping = 0
        if policy.blue > 0 and now - policy.blue_at > TARGET_MS:
            policy.blue = max(policy.blue - DOWN, 0)
            policy.blue_at = now


def on_drop(queue, packet):
    if packet.overflow:
        if queue.now_ms - policy.blue_at > TARGET_MS:
            policy.blue = min(policy.blue + UP, 1)
            policy.blue_at = queue.now_ms
        policy.dropping = 1
        policy.next_drop = queue.now_ms
        policy.count = max(policy.count, 1)


def drop_probability(queue):
    return min(max(policy.blue, 0), 1)
