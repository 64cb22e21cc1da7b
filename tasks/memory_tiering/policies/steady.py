"""A moving average of accesses, and a bonus for pages that are fast already: a migration must earn back its cost."""

BONUS = 2


def score(now, page, memory):
    return page.accesses.ewma(0.3) + (BONUS if page.fast else 0)
