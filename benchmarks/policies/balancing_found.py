"""Of a search of the offline generator from `balancing_wait`: candidate 42, which changed what a handler writes."""

import math

LEARN = 0.0276
SENT = 0.2
BASE = 0.5
GLOBAL = 0.02
LATE = 0.3
STALL = 0.2
LIMIT = 8
CONSTANT = 30
CONSTANT_2 = 1.9
CONSTANT_4 = 1.9
CONSTANT_6 = 72.5
CONSTANT_7 = 20
CONSTANT_9 = 72.5
CONSTANT_10 = 20
CONSTANT_12 = 72.5
CONSTANT_13 = 20
CONSTANT_15 = 72.5
CONSTANT_16 = 20
EXPONENT = 0.672


class policy:
    others = 0
    service = 5


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
    server.others = max(0, server.in_flight - server.mine)
    server.at = bounded(now)
    policy.others = bounded(policy.others + min(max(GLOBAL, 0), 1) * (server.others - policy.others))


def on_complete(now, server, servers, request):
    queue = max(1, (server.mine + server.others + 1) / 2)
    time = min(request.latency_ms / queue, LIMIT * policy.service)
    policy.service = bounded(policy.service + 0.005 * (time**EXPONENT - policy.service))
    server.seen = bounded(server.seen + 1)
    learn = min(max(LEARN, 1 / max(server.seen, 1)), 1)
    server.service = bounded(server.service + learn * (time - server.service))
    server.answered = bounded(now)


def score(now, server, servers):
    return (
        -(
            min(
                max(
                    0,
                    policy.others
                    + (server.others - policy.others) * math.exp(-max(0, now - server.at) / CONSTANT)
                    + CONSTANT_2 * server.mine
                    + SENT * server.sent
                    + BASE,
                ),
                1000000000,
            )
            ** CONSTANT_4
        )
        * (
            (min(server.seen, CONSTANT_6) * server.service + CONSTANT_7 * policy.service)
            / (min(server.seen, CONSTANT_9) + CONSTANT_10)
            + STALL
            * max(
                0,
                now
                - server.answered
                - (min(server.seen, CONSTANT_12) * server.service + CONSTANT_13 * policy.service)
                / (min(server.seen, CONSTANT_15) + CONSTANT_16),
            )
        )
        - LATE * server.latency_ms
    )
