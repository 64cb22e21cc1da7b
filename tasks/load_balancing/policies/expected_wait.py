FRESH_MS = 20.0
SPREAD = 0.5


def score(now, server, servers):
    flying = server.in_flight + server.sent + server.age_ms / FRESH_MS
    quick = server.latency_ms.ewma(0.2) + 1.0
    return -(flying + 1.0) * quick * (1.0 + SPREAD * server.chance)
