"""The score of ARMS (adaptive and robust memory tiering) alone: a fast and a slow moving average together."""

FAST_WEIGHT = 0.731
SLOW_WEIGHT = 0.269


def score(now, page, memory):
    return FAST_WEIGHT * page.accesses.ewma(0.6667) + SLOW_WEIGHT * page.accesses.ewma(0.0952)
