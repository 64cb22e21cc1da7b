"""Of a search by conversations: drops at a rate proportional to the standing delay, whose factor grows and shrinks by
a share each second; trains of packets that arrive at once, which are short flows, are spared. Added by hand, for links
that deliver in bunches: `BOUND_MS` and `COMMON`, after public links had been seen, since packets of long flows arrive
as trains there too; and that a queue which a bunch empties, or that waits for the next one, is no standing queue.
"""

import math

TARGET_MS = 5
UP = 1.5
DOWN = 1.5
STEEP = 2
MOST = 10
LEAST = 5
SLOPE = 0.3
QUIET_MS = 150
IDLE = 5
BUSY = 0.25
LOW_MS = 3
HIGH_MS = 8
GAP_MS = 0.02
TRAIN = 10
PACKETS = 2
LONG = 40
SHORT = 10
FIRST = 3
BOUND_MS = 200  # a packet that has waited longer is in a standing queue, whatever came at once
COMMON = 0.2  # trains that are more of the packets than this are how the link delivers, and are not spared
MEMORY = 0.005
WEIGHT = 0.05


class policy:
    rate = 5.0  # drops a second at the target
    credit = 0.0  # drops that are due
    last = 0.0
    low = 0.0  # the standing delay: falls at once, rises slowly
    least = 0.0  # the least delay of the bunch that is delivered now
    before = 0.0  # and of the one before
    slot = 0.0  # ms from one bunch to the next: no packet can count on less
    quiet = 0.0  # a train lost its middle: until then nothing is dropped, so that what it sends again arrives
    target = TARGET_MS  # rises while the link idles, falls while it does not
    common = 0.0  # share of trains in the packets that came lately
    tail = 0  # packets let in so far
    train = 0  # number of the train that arrives
    arrived = 0  # when the last packet arrived
    waiting = 0  # packets of trains that wait
    train_of = [0] * 4096
    share = [0.0] * 4096  # share of trains in the queue that the packet found
    length = [0] * 4096


def on_enqueue(queue, packet):
    policy.target = min(policy.target * math.exp(IDLE * queue.idle_ms / 1000), HIGH_MS)
    if queue.now_ms - policy.arrived > GAP_MS:
        policy.train += 1
        policy.length[policy.train] = 0
    policy.arrived = queue.now_ms
    policy.share[policy.tail] = policy.waiting / max(queue.packets, 1)
    policy.length[policy.train] += 1
    if policy.length[policy.train] == TRAIN:
        policy.waiting += TRAIN
    elif policy.length[policy.train] > TRAIN:
        policy.waiting += 1
    policy.common += MEMORY * ((policy.length[policy.train] >= TRAIN) - policy.common)
    policy.train_of[policy.tail] = policy.train
    policy.tail += 1


def on_drop(queue, packet):
    if packet.sojourn_ms == 0:
        if queue.now_ms - policy.arrived > GAP_MS:
            policy.train += 1
            policy.length[policy.train] = 0
        policy.arrived = queue.now_ms
        policy.length[policy.train] += 1
        if policy.length[policy.train] >= FIRST:
            policy.quiet = queue.now_ms + queue.expected_delay_ms + QUIET_MS


def on_dequeue(queue, packet):
    now = queue.now_ms
    place = policy.tail - 1 - queue.packets
    burst = policy.length[policy.train_of[place]] >= TRAIN
    policy.waiting = min(max(policy.waiting - burst, 0), queue.packets)
    packet_ms = 12e6 / queue.drain_bps if queue.drain_bps > 0 else 0
    delay = packet.sojourn_ms * (1 - min(policy.share[place], 1))
    delay = min(delay, (queue.packets - policy.waiting) * packet_ms)
    if packet.sojourn_ms > BOUND_MS or policy.common > COMMON:
        delay = packet.sojourn_ms
        burst = 0
        policy.quiet = 0
    seconds = min(now - policy.last, 100) / 1000
    policy.last = now
    if queue.packets == 0:
        delay = 0
    if seconds > 0:
        policy.slot += WEIGHT * (1000 * seconds - policy.slot)
        policy.before = policy.least
        policy.least = delay
    policy.least = min(policy.least, delay)
    policy.low = min(delay, min(policy.before, policy.low) + SLOPE * 1000 * seconds)
    delay = policy.low
    policy.target = max(policy.target * math.exp(-BUSY * seconds), LOW_MS)
    ratio = delay / (policy.target if queue.limit_packets - queue.packets >= LONG else LOW_MS)
    over = ratio > 1 and delay > max(PACKETS * packet_ms, policy.slot) and queue.packets > 0
    if over:
        policy.rate = min(policy.rate * math.exp(UP * seconds * min(ratio - 1, STEEP)), 2000)
        policy.credit = min(policy.credit + seconds * policy.rate * min(ratio, MOST), 2)
        if policy.credit >= 1 and not burst and now >= policy.quiet:
            packet.drop = 1
            policy.credit -= 1
    else:
        policy.rate = max(policy.rate * math.exp(-DOWN * seconds), LEAST)


def drop_probability(queue):
    seen = policy.length[policy.train]
    if queue.now_ms - policy.arrived > GAP_MS or seen < FIRST or seen >= LONG:
        return 0
    return (SHORT if seen < SHORT else LONG) - seen > queue.limit_packets - queue.packets
