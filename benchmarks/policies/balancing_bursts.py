"""Of a search of the offline generator from `balancing_wait` in bursts: candidate 99, which is no better than C3."""

LEARN = 0.00859
LATE = 0.503
STALL = 0.214
LIMIT = 3.5
CONSTANT_4 = 0.819
CONSTANT_6 = 59.4
CONSTANT_7 = 58.5
CONSTANT_9 = 29.6
CONSTANT_10 = 24.7
CONSTANT_12 = 100
CONSTANT_13 = 44.4
CONSTANT_15 = 16.1
CONSTANT_16 = 19.7
START = 6.33
SCALE = 3.57
WEIGHT = 0.0228


class policy:
    service = START


class server:
    others = 0
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


def on_complete(now, server, servers, request):
    queue = max(1, (server.mine + server.others + 1) / SCALE)
    time = min(request.latency_ms / queue, LIMIT * policy.service)
    policy.service = bounded(policy.service + WEIGHT * (time - policy.service))
    server.seen = bounded(server.seen + 1)
    learn = min(max(LEARN, 1 / max(server.seen, 1)), 1)
    server.service = bounded(server.service + learn * (time - server.service))
    server.answered = bounded(now)


def score(now, server, servers):
    return (
        -(min(server.mine, 1000000000) ** CONSTANT_4)
        * (
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
        - LATE * server.latency_ms
    )
