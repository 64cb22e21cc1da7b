"""A virtual counter of tokens for each session: who was served least is next (Sheng et al., OSDI 2024).

Sessions share counters by a hash of their number. One that comes back has at least the counter of who was served last.
"""

OUTPUT = 2.0  # tokens of a prompt that count as much as one of an output


class policy:
    served = [0.0] * 4096
    floor = 0.0


def on_arrival(now, request, engine):
    k = hash(request.session, 1) % 4096
    policy.served[k] = max(policy.served[k], policy.floor)


def on_admit(now, request, engine):
    k = hash(request.session, 1) % 4096
    policy.floor = max(policy.floor, policy.served[k])
    policy.served[k] = min(policy.served[k] + max(request.prompt - request.cached, 0), 1e15)


def on_finish(now, request, engine):
    k = hash(request.session, 1) % 4096
    policy.served[k] = min(policy.served[k] + min(max(OUTPUT, 0), 100) * request.generated, 1e15)


def score(now, request, engine):
    return -policy.served[hash(request.session, 1) % 4096]
