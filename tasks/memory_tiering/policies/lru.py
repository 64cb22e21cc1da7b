"""The pages with a sampled access most recently; of equals the ones with more of them."""


def score(now, page, memory):
    return page.last_access + page.accesses / (page.accesses + 1)
