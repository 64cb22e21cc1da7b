"""A regression on all pages: of a page's samples on its own and its neighbours' before them, as it has fitted lately.

After each interval the samples of all pages are regressed on what was known of each before: its latest samples, its
mean since it was mapped, and the latest samples of the pages first touched before it. The weights are of least squares
and not negative, found by coordinate descent once all pages of before have been seen. Where hot pages stay the mean
comes to lead, where they move the latest samples, and where samples are few the neighbours. The interval in which a
page is first touched does not count: much is written then that is not read again. A page of the fast tier is ahead of
others by about the mean page's samples. The form was written by hand, from training and validation workloads.
"""

LATEST = 0.8
NEAR = 0.03
KEEP = 0.8
RIDGE = 0.01
STAY = 1.2


class policy:
    products = [0.0] * 9  # of what is known, and of it with what came, over all pages
    targets = [0.0] * 3
    weight = [0.3] * 3
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
    return latest if k == 0 else long if k == 1 else near


def on_tick(now, memory):
    policy.mean = bounded(policy.sum / max(1, policy.pages))
    policy.sum = 0
    policy.near = 0
    policy.before = policy.pages
    policy.pages = 0


def on_page(now, page, memory):
    x = page.accesses
    policy.sum += x
    age = now - page.arrival
    if age > 1:
        trust = 1 / (policy.mean + page.long)  # counts vary as much as they are high
        for k in range(3):
            seen = trust * known(k, page.latest, page.long, page.near)
            policy.targets[k] += seen * x
            for j in range(3):
                policy.products[3 * k + j] += seen * known(j, page.latest, page.long, page.near)
    policy.pages += 1
    if policy.pages == policy.before:
        for _sweep in range(10):
            for k in range(3):
                left = policy.targets[k]
                for j in range(3):
                    if j != k:
                        left -= policy.products[3 * k + j] * policy.weight[j]
                if policy.products[4 * k] > 0:
                    policy.weight[k] = min(max(left / (policy.products[4 * k] * (1 + RIDGE)), 0), 3)
        for k in range(9):
            policy.products[k] = bounded(policy.products[k] * KEEP)
        for k in range(3):
            policy.targets[k] = bounded(policy.targets[k] * KEEP)
    if age > 0:
        page.latest = bounded(page.latest + max(LATEST, 1 / age) * (x - page.latest))
        page.long = bounded(page.long + (x - page.long) / age)
    page.near = policy.near
    policy.near = bounded(policy.near + NEAR * (page.latest - policy.near))


def score(now, page, memory):
    own = policy.weight[0] * page.latest + policy.weight[1] * page.long
    return own + policy.weight[2] * page.near + STAY * page.fast * policy.mean
