"""Multi-level feedback queues: a level up for each doubling of the work, and to the lowest after a while.

A request begins at the level of its prompt, as in FastServe (Wu et al., arXiv:2305.05920), and rises as it writes.
"""

import math

FIRST = 512.0  # tokens of the lowest level
OUTPUT = 4.0  # tokens of a prompt that count as much as one of an output
PROMOTED = 20.0  # seconds


def score(now, request, engine):
    if now - request.arrived > PROMOTED:
        return 0
    work = request.prompt - request.cached + OUTPUT * request.generated
    return -math.ceil(max(math.log(max(work / max(FIRST, 1.0), 1.0)) / 0.6931, 0.0))


def preempt(now, request, engine):
    return request.prompt + OUTPUT * request.generated
