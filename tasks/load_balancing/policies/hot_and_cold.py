def score(now, server, servers):
    flying = server.in_flight + server.sent
    if flying > servers.in_flight.percentile(0.84):
        return -1e9 - flying
    return -(server.latency_ms + 1.0) * (1.0 + server.sent)
