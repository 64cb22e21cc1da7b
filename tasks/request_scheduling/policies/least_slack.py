"""Least slack first: the time that is left until the first token is due, but for its prompt; then what is too late."""

TOKEN = 0.00012  # seconds to compute a token of a prompt


def score(now, request, engine):
    slack = request.arrived + request.ttft_goal - now - TOKEN * (request.prompt - request.cached)
    return 1e10 - slack if slack >= 0 else -request.arrived
