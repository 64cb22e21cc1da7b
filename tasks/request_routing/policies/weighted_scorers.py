"""The default scorers of llm-d: cached prefix, waiting requests and used memory, each from 0 to 1, weighted.

Waiting requests are between the fewest and the most that a replica reports.
"""

PREFIX = 3.0
QUEUE = 2.0
MEMORY = 2.0


def score(now, replica, router, request):
    most = router.waiting.percentile(1.0)
    fewest = router.waiting.percentile(0.0)
    queue = (most - replica.waiting) / (most - fewest) if most > fewest else 1.0
    return PREFIX * replica.prefix / request.prompt + QUEUE * queue + MEMORY * (1 - replica.used)
