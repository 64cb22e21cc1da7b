"""The senders' priorities, as vLLM's option of that name has them; the least urgent makes room."""


def score(now, request, engine):
    return request.priority


def preempt(now, request, engine):
    return -request.priority
