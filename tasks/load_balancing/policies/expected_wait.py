"""Expected wait: others' requests as last heard of, fading; one's own as known; times what a server takes for one.

Of the requests in flight that a server reports, or says with an answer, a balancer's own are known at once; those of
others fade towards the mean of all servers as that ages. What a server takes for a request is learnt from answers,
shrunk towards the mean of all servers, and grows while it owes answers and gives none.
"""

import math

FADE = 30.0  # ms
POWER = 1.9
LEARN = 0.03
MINE = 1.9
BASE = 0.5
GLOBAL = 0.02
STALL = 0.2
SHRINK = 20.0  # answers


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
    if now - server.age_ms > server.at:
        server.others = max(0, server.in_flight - server.mine)
        server.at = bounded(now - server.age_ms)
        policy.others = bounded(policy.others + min(max(GLOBAL, 0), 1) * (server.others - policy.others))


def on_dispatch(now, server, servers):
    if server.mine <= 0:
        server.answered = bounded(now)


def on_complete(now, server, servers, request):
    server.others = max(0, request.in_flight - server.mine)
    server.at = bounded(now)
    policy.others = bounded(policy.others + min(max(GLOBAL, 0), 1) * (server.others - policy.others))
    policy.service = bounded(policy.service + 0.005 * (request.service_ms - policy.service))
    server.seen = bounded(server.seen + 1)
    learn = min(max(LEARN, 1 / max(server.seen, 1)), 1)
    server.service = bounded(server.service + learn * (request.service_ms - server.service))
    server.answered = bounded(now)


def score(now, server, servers):
    seen = min(server.seen, 2 / max(LEARN, 0.001))
    shrink = max(SHRINK, 0.01)
    service = (seen * server.service + shrink * policy.service) / (seen + shrink)
    stalled = max(0, now - server.answered - service) if server.mine > 0 else 0
    fade = math.exp(-max(0, now - server.at) / max(FADE, 0.1))
    others = policy.others + (server.others - policy.others) * fade
    queue = min(max(0, others + max(0, MINE) * server.mine + BASE), 1e9)
    return -(queue ** min(max(POWER, 0.1), 6)) * (service + STALL * stalled)
