"""Of a search of the offline generator from the task's policies: `expected_wait` with other constants.

By hand, what is known of a server fades in `FADE` mean service times, where it did in 62.6 ms: requests of language
models take seconds, and how many a server has changes as slowly.
"""

import math

LEARN = 0.0836
BASE = 1.23
GLOBAL = 0.0488
STALL = 0.179
FADE = 3
CONSTANT_2 = 2.34
CONSTANT_4 = 1.38
CONSTANT_6 = 43.6
CONSTANT_7 = 30
CONSTANT_9 = 72.1
CONSTANT_10 = 6.63
CONSTANT_12 = 47.6
CONSTANT_13 = 17.5
CONSTANT_15 = 33.7
CONSTANT_16 = 87.4
START = 10.7
WEIGHT = 0.0136


class policy:
    others = 0
    service = START


class server:
    others = 0
    at = 0
    service = 0
    seen = 0
    answered = 0


def bounded(x):
    return min(max(x, 0), 1000000000000)


def on_dispatch(now, server, servers):
    if server.mine <= 0:
        server.answered = bounded(now)


def on_report(now, server, servers):
    if now - server.age_ms > server.at:
        server.others = max(0, server.in_flight - server.mine)
        server.at = bounded(now - server.age_ms)
        policy.others = bounded(policy.others + GLOBAL * (server.others - policy.others))


def on_complete(now, server, servers, request):
    server.others = max(0, request.in_flight - server.mine)
    server.at = bounded(now)
    policy.service = bounded(policy.service + WEIGHT * (request.service_ms - policy.service))
    server.seen = bounded(server.seen + 1)
    learn = max(LEARN, 1 / server.seen)
    server.service = bounded(server.service + learn * (request.service_ms - server.service))
    server.answered = bounded(now)


def score(now, server, servers):
    return -(
        (
            policy.others
            + (server.others - policy.others) * math.exp(-max(0, now - server.at) / max(FADE * policy.service, 1))
            + CONSTANT_2 * server.mine
            + BASE
        )
        ** CONSTANT_4
    ) * (
        (min(server.seen, CONSTANT_6) * server.service + CONSTANT_7 * policy.service)
        / (min(server.seen, CONSTANT_9) + CONSTANT_10)
        + STALL
        * (
            max(
                0,
                now
                - server.answered
                - (min(server.seen, CONSTANT_12) * server.service + CONSTANT_13 * policy.service)
                / (min(server.seen, CONSTANT_15) + CONSTANT_16),
            )
            if server.mine > 0
            else 0
        )
    )
