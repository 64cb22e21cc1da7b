MIN_MS = 5.0
MAX_MS = 60.0
STEEPNESS = 0.1


def drop_probability(queue):
    over = queue.delay_ms.ewma(0.01) - MIN_MS
    return min(max(STEEPNESS * over / (MAX_MS - MIN_MS), 0.0), 1.0)
