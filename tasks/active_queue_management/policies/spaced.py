TARGET_MS = 10.0
SPACING_MS = 100.0


def drop_probability(queue):
    if queue.delay_ms > TARGET_MS and queue.since_drop_ms > SPACING_MS:
        return 1.0
    return 0.0
