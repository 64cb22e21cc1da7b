"""Shortest prompt first."""


def score(now, request, engine):
    return -request.prompt
