"""First come, first served: what vLLM does by default, and who came last makes room."""


def score(now, request, engine):
    return -request.arrived
