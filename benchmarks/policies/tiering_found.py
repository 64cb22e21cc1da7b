"""Of a search of the offline generator from `tiering_regression`: candidate 90."""

LATEST = 1.21
NEAR = 0.0433
KEEP = 0.996
RIDGE = 0.00778
START = 0.71
LIMIT = 10800000000
THRESHOLD = 2.25
WEIGHT = 15.2
WEIGHT_2 = 4.89
WEIGHT_3 = 1.12
WEIGHT_4 = 1.94
WEIGHT_5 = 10.8
LIMIT_2 = 2.82
EXPONENT = 0.838


class policy:
    products = [0] * 9
    targets = [0] * 3
    weight = [START] * 3
    near = 0
    sum = 0
    pages = 0
    before = 0
    mean = 0


class page:
    latest = 0
    long = 0
    near = 0


def bounded(value):
    return min(max(value, 0), LIMIT)


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
    if age > THRESHOLD:
        trust = 1 / (policy.mean + page.long)
        for k in range(3):
            seen = trust * known(k, page.latest, page.long, page.near)
            policy.targets[k] += seen * x
            for j in range(3):
                policy.products[WEIGHT * k + j] = policy.products[WEIGHT_2 * k + j] + seen * known(
                    j, page.latest, page.long, page.near
                )
    policy.pages += 1
    if policy.pages == policy.before:
        for _sweep in range(10):
            for k in range(3):
                left = policy.targets[k]
                for j in range(3):
                    if j != k:
                        left -= policy.products[WEIGHT_3 * k + j] * policy.weight[j]
                if policy.products[WEIGHT_4 * k] > 0:
                    policy.weight[k] = min(max(left / (policy.products[WEIGHT_5 * k] * (1 + RIDGE)), 0), LIMIT_2)
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
    return (
        policy.weight[0] * page.latest
        + policy.weight[1] * page.long
        + policy.weight[2] ** EXPONENT * page.near
        + page.fast * policy.mean
    )
