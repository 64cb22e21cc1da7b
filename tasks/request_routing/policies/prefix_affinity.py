"""Where most of the prompt is cached, unless that replica has far more to do than the others: SGLang's router.

Without a good match the least loaded is taken. The bound is on requests above the mean, where SGLang's is on the
difference of the most and the fewest.
"""

MATCH = 0.3  # share of the prompt
MORE = 1.5
BESIDE = 8.0  # requests


def score(now, replica, router, request):
    if replica.mine > BESIDE + MORE * router.unfinished / router.replicas:
        return -1e6 - replica.mine
    if replica.prefix > MATCH * request.prompt:
        return replica.prefix
    return -replica.mine
