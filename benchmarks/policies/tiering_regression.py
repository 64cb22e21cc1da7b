"""A regression on all pages: of a page's samples on its own and its neighbours' before them, as it has fitted lately.

After each interval the samples of all pages are regressed on what was known of each before: its latest samples, its
mean since it was mapped, the latest samples of the pages first touched before it, and the mean of all. The weights are
of least squares and not negative, improved by a step of coordinate descent once all pages of before have been seen.
Where hot pages stay a page's mean comes to lead, where they move the latest samples, where samples are few the
neighbours, and where no page returns the mean of all. What a new page is first seen with is often written and not read
again: it counts as much as it did for new pages lately. A page of the fast tier is ahead of others by about the mean
page's samples, and by fewer where pages are few, which have many samples beside what a copy costs. The form was written
by hand, from training and validation workloads and own recordings.
"""

LATEST = 0.8
NEAR = 0.03
KEEP = 0.8
STAY = 1.2
SHARE = 0.0005


class policy:
    products = [0.0] * 16  # of what is known, and of it with what came, over all pages
    targets = [0.0] * 4
    weight = [0.3] * 4
    new = 1e-6  # the same of new pages alone
    came = 3e-7
    near = 0.0
    sum = 0.0
    pages = 0
    before = 0  # pages in the interval before
    mean = 0.0  # samples of a page in an interval


class page:
    latest = 0.0
    long = 0.0
    near = 0.0


def bounded(value):
    return min(max(value, 0), 1e10)


def known(k, latest, long, near):
    return latest if k == 0 else long if k == 1 else near if k == 2 else policy.mean


def on_tick(now, memory):
    policy.mean = bounded(policy.sum / max(1, policy.pages))
    policy.came = bounded(KEEP * policy.came)
    policy.new = bounded(KEEP * policy.new)
    policy.sum = 0
    policy.near = 0
    policy.before = policy.pages
    policy.pages = 0


def on_page(now, page, memory):
    x = page.accesses
    policy.sum += x
    policy.pages += 1
    age = now - page.arrival
    trust = 1 / (policy.mean + page.long)  # counts vary as much as they are high
    if age == 1:
        policy.came += trust * page.latest * x
        policy.new += trust * page.latest * page.latest
    if age > 1:
        for k in range(4):
            seen = trust * known(k, page.latest, page.long, page.near)
            policy.targets[k] += seen * x
            for j in range(4):
                policy.products[4 * k + j] += seen * known(j, page.latest, page.long, page.near)
    if policy.pages == policy.before:
        for k in range(4):
            left = policy.targets[k]
            for j in range(4):
                if j != k:
                    left -= policy.products[4 * k + j] * policy.weight[j]
            if policy.products[5 * k] > 0:
                policy.weight[k] = min(max(left / policy.products[5 * k], 0), 3)
        for k in range(4):
            policy.targets[k] = bounded(KEEP * policy.targets[k])
            for j in range(4):
                policy.products[4 * k + j] = bounded(KEEP * policy.products[4 * k + j])
    page.latest = bounded(page.latest + max(LATEST, 1 / max(1, age)) * (x - page.latest))
    page.long = bounded(page.long + (x - page.long) / max(1, age))
    page.near = policy.near
    policy.near = bounded(policy.near + NEAR * (page.latest - policy.near))


def score(now, page, memory):
    own = policy.weight[0] * page.latest + policy.weight[1] * page.long
    if now == page.arrival:
        own = min(max(policy.came / policy.new, 0), 1) * page.latest
    return own + policy.weight[2] * page.near + policy.mean * min(STAY, SHARE * memory.pages) * page.fast
