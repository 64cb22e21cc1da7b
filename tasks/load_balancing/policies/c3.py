"""The ranking of C3 (Suresh et al., NSDI 2015), without its rate control: the baseline of that name.

Servers say with each answer how many requests they have and what the request takes alone. A queue counts by its cube,
one's own requests as many times as there are balancers.
"""

SMOOTHING = 0.9
POWER = 3.0


class server:
    latency = 0.0
    alone = 0.0
    flying = 0.0


def bounded(x):
    return min(max(x, 0), 1e12)


def on_complete(now, server, servers, request):
    kept = min(max(SMOOTHING, 0.0), 1.0) if server.alone > 0 else 0.0
    server.latency = bounded(kept * server.latency + (1.0 - kept) * request.latency_ms)
    server.alone = bounded(kept * server.alone + (1.0 - kept) * request.service_ms)
    server.flying = bounded(kept * server.flying + (1.0 - kept) * request.in_flight)


def score(now, server, servers):
    if server.alone <= 0:
        return 1e-9 if server.mine <= 0 else -1e9 * server.mine
    queue = 1.0 + server.mine * servers.balancers + server.flying
    return -(server.latency - server.alone + queue ** min(max(POWER, 0.1), 6) * server.alone)
