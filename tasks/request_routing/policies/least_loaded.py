"""Where the fewest requests of this router are not finished."""


def score(now, replica, router, request):
    return -replica.mine
