"""Shadow tiers: of three ways to rank pages, the one whose pages were accessed most lately, for what moving them costs.

Each way blends averages of the page's own samples, fast and slow, with those of its cohort (pages first touched in the
same interval) and of its neighbours (in the order of first touch). None of the three places pages by itself: for each a
line is kept that as many pages are above as the fast tier holds, and the accesses to these in the next interval are
counted, with the pages that cross the line. The form was written by hand, from training workloads.
"""

FAST = 0.667
SLOW = 0.12
COHORT = 0.006
NEAR = 0.1
KEEP = 0.85
CHURN = 0.3
STICK = 0.1
STAY = 0.01
ADAPT = 0.5

OWN_FAST = 0.73  # the page's own samples, as ARMS has them
OWN_SLOW = 0.27
OWN_COHORT = 0.05
OWN_NEAR = 0.0

LONG_FAST = 0.3  # what a page has long been, and what its cohort is
LONG_SLOW = 0.5
LONG_COHORT = 0.7
LONG_NEAR = 0.1

NEAR_FAST = 0.3  # what its neighbours are
NEAR_SLOW = 0.3
NEAR_COHORT = 0.3
NEAR_NEAR = 1.0


class policy:
    cohort = [0.0] * 4096
    line = [1.0] * 3
    hits = [0.0] * 3
    inside = [0.0] * 3
    moves = [0.0] * 3
    worth = [0.0] * 3
    best = 0
    mean = 0.0  # samples of a page in an interval
    sum = 0.0
    near = 0.0


class page:
    fast_rate = 0.0
    slow_rate = 0.0
    near = 0.0
    bits = 0  # above which lines it is


def limited(weight):
    return min(max(weight, 0.001), 1)


def bounded(rate):
    return min(max(rate, 0), 1e10)


def blend(way, fast_rate, slow_rate, cohort, near):
    if way == 0:
        return OWN_FAST * fast_rate + OWN_SLOW * slow_rate + OWN_COHORT * cohort + OWN_NEAR * near
    if way == 1:
        return LONG_FAST * fast_rate + LONG_SLOW * slow_rate + LONG_COHORT * cohort + LONG_NEAR * near
    return NEAR_FAST * fast_rate + NEAR_SLOW * slow_rate + NEAR_COHORT * cohort + NEAR_NEAR * near


def on_tick(now, memory):
    policy.mean = bounded(policy.sum / max(1, memory.pages))
    top = -1000000
    leader = 0
    for way in range(3):
        full = max(1, policy.inside[way])
        share = policy.hits[way] / max(1, policy.sum) * (memory.fast_capacity / full) ** 0.5
        cost = CHURN * policy.moves[way] / max(1, memory.pages)
        policy.worth[way] = min(max(KEEP * policy.worth[way] + share - cost, -1000), 1000)
        line = policy.line[way] * (full / memory.fast_capacity) ** ADAPT
        policy.line[way] = min(max(line, 0.0001 * policy.mean), 1000000)
        lead = policy.worth[way] + (STAY if way == policy.best else 0)
        if lead > top:
            top = lead
            leader = way
        policy.hits[way] = 0
        policy.inside[way] = 0
        policy.moves[way] = 0
    policy.best = leader
    policy.sum = 0
    policy.near = 0


def on_page(now, page, memory):
    x = page.accesses
    policy.sum += x
    if now <= page.arrival:
        page.fast_rate = x
        page.slow_rate = x
    else:
        page.fast_rate = bounded(page.fast_rate + limited(FAST) * (x - page.fast_rate))
        page.slow_rate = bounded(page.slow_rate + limited(SLOW) * (x - page.slow_rate))
    cohort = policy.cohort[page.arrival]
    policy.cohort[page.arrival] = bounded(cohort + limited(COHORT) * (x - cohort))
    page.near = policy.near
    policy.near = bounded(policy.near + limited(NEAR) * (page.fast_rate - policy.near))
    bits = 0
    for way in range(3):
        old = page.bits // 2**way % 2
        value = blend(way, page.fast_rate, page.slow_rate, policy.cohort[page.arrival], page.near)
        new = value + STICK * old * policy.mean > policy.line[way]
        if old:
            policy.hits[way] += x
        if new:
            policy.inside[way] += 1
            bits += 2**way
        if old != new:
            policy.moves[way] += 1
    page.bits = bits


def score(now, page, memory):
    value = blend(policy.best, page.fast_rate, page.slow_rate, policy.cohort[page.arrival], page.near)
    return value + STICK * page.fast * policy.mean
