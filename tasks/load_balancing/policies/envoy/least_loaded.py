"""The balancer's own requests that are not answered: the baseline of that name."""


def score(now, server, servers):
    return -server.mine
