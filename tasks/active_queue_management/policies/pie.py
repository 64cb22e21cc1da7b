"""PIE (RFC 8033): a probability that a timer moves with the delay and its trend, and that bursts are spared."""

TARGET_MS = 15
PERIOD_MS = 15
ALPHA = 0.125
BETA = 1.25
MAX_BURST_MS = 150


class policy:
    probability = 0
    old_delay = 0
    burst = MAX_BURST_MS
    accumulated = 0  # of the probabilities since the last drop


def scaled(change, probability):
    if probability < 0.000001:
        return change / 2048
    if probability < 0.00001:
        return change / 512
    if probability < 0.0001:
        return change / 128
    if probability < 0.001:
        return change / 32
    if probability < 0.01:
        return change / 8
    if probability < 0.1:
        return change / 2
    return min(change, 0.02)


def on_timer(queue):
    delay = queue.delay_ms
    change = ALPHA * (delay - TARGET_MS) / 1e3 + BETA * (delay - policy.old_delay) / 1e3
    probability = policy.probability + scaled(change, policy.probability)
    if delay == 0 and policy.old_delay == 0:
        probability *= 0.98
    policy.probability = min(max(probability, 0), 1)
    policy.burst = max(0, policy.burst - PERIOD_MS)
    if policy.probability == 0 and delay < TARGET_MS / 2 and policy.old_delay < TARGET_MS / 2:
        policy.burst = MAX_BURST_MS
    policy.old_delay = delay
    queue.timer_ms = PERIOD_MS


def summed():
    return policy.probability + (0 if policy.probability == 0 else policy.accumulated)


def on_enqueue(queue, packet):
    if packet.marked:
        policy.accumulated = 0
    elif policy.burst <= 0:
        policy.accumulated = summed()


def on_drop(queue, packet):
    if not packet.overflow:
        policy.accumulated = 0


def drop_probability(queue):
    spared = policy.old_delay < TARGET_MS / 2 and policy.probability < 0.2
    if policy.burst > 0 or spared or queue.bytes <= 3000 or summed() < 0.85:
        return 0
    return 1 if summed() >= 8.5 else policy.probability
