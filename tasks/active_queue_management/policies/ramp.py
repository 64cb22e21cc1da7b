LEAST_MS = 5.0
MOST_MS = 60.0
STEEPNESS = 0.1


def drop_probability(queue):
    over = queue.delay_ms.ewma(0.01) - LEAST_MS
    return min(max(STEEPNESS * over / (MOST_MS - LEAST_MS), 0.0), 1.0)
