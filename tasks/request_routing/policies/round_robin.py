"""One replica after the other."""


class policy:
    turn = 0


def on_dispatch(now, replica, router, request):
    policy.turn = replica.id + 1


def score(now, replica, router, request):
    return -((replica.id - policy.turn) % router.replicas)
