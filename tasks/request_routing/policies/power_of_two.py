"""The shorter queue of two replicas that are drawn and asked: the default of Ray Serve."""


def score(now, replica, router, request):
    return -replica.queue if replica.drawn else -1e12
