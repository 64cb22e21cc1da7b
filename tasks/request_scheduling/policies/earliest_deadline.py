"""Earliest deadline first: by when the first token is due."""


def score(now, request, engine):
    return -(request.arrived + request.ttft_goal)


def preempt(now, request, engine):
    return request.arrived + request.ttft_goal
