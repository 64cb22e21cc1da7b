def score(now, server, servers):
    return -(server.in_flight + server.sent)
