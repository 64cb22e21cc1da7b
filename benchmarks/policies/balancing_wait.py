"""Expected wait: others' requests as last reported, fading; one's own as known; times what a server takes for one.

Of the requests in flight that a server reports, a balancer's own are known at once; those of others fade towards the
mean of all servers as the report ages. What a server takes for one request is learnt from answers, shrunk towards the
mean of all servers, and grows while it owes answers and gives none. The form was written by hand, from training draws.
"""

import math

FADE = 30.0  # ms
POWER = 1.9
LEARN = 0.03
MINE = 1.9
SENT = 0.2
BASE = 0.5
GLOBAL = 0.02
LATE = 0.3
STALL = 0.2
SHRINK = 20.0  # answers
LIMIT = 8.0


class policy:
    others = 0.0
    service = 5.0


class server:
    others = 0.0
    at = 0.0
    service = 0.0
    seen = 0.0
    answered = 0.0


def bounded(x):
    return min(max(x, 0), 1e12)


def on_report(now, server, servers):
    server.others = max(0, server.in_flight - server.mine)
    server.at = bounded(now)
    policy.others = bounded(policy.others + min(max(GLOBAL, 0), 1) * (server.others - policy.others))


def on_dispatch(now, server, servers):
    if server.mine <= 0:
        server.answered = bounded(now)


def on_complete(now, server, servers, request):
    queue = max(1, (server.mine + server.others + 1) / 2)
    time = min(request.latency_ms / queue, LIMIT * policy.service)
    policy.service = bounded(policy.service + 0.005 * (time - policy.service))
    server.seen = bounded(server.seen + 1)
    learn = min(max(LEARN, 1 / max(server.seen, 1)), 1)
    server.service = bounded(server.service + learn * (time - server.service))
    server.answered = bounded(now)


def score(now, server, servers):
    seen = min(server.seen, 2 / max(LEARN, 0.001))
    shrink = max(SHRINK, 0.01)
    service = (seen * server.service + shrink * policy.service) / (seen + shrink)
    stalled = max(0, now - server.answered - service) if server.mine > 0 else 0
    fade = math.exp(-max(0, now - server.at) / max(FADE, 0.1))
    others = policy.others + (server.others - policy.others) * fade
    queue = min(max(0, others + max(0, MINE) * server.mine + SENT * server.sent + BASE), 1e9)
    return -(queue ** min(max(POWER, 0.1), 6)) * (service + STALL * stalled) - LATE * server.latency_ms
