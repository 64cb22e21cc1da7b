"""What a routed trace teaches: what a request costs all of them on a replica, by what its router knows of it."""

from __future__ import annotations

import numpy as np

from vulcan.lessons import Lesson
from vulcan_serving import layout
from vulcan_serving.simulate import ServingRun
from vulcan_serving.spec import ServingSpec

MAX_SITUATIONS = 50_000
"""Most requests, the first, whose view is taken."""

_PROGRAM = """\
def worth(new, share, ahead, held, mine, busy, same):
    return 1


def score(now, replica, router, request):
    new = request.prompt - replica.prefix
    busy = replica.mine * router.replicas / max(router.unfinished, 1)
    return -worth(new, new / request.prompt, replica.prefill, replica.held, replica.mine, busy, replica.same)
"""


def lesson_of(spec: ServingSpec, run: ServingRun) -> Lesson:
    """Return the lesson on the replicas that were chosen, by a run whose routers' views were recorded.

    What is learnt is not a gain but a time, in seconds: that to the request's first token, and how long computing its
    prompt delays those that are there. By its own time alone, prompts that begin alike are scattered, which costs more.
    """
    workload, prompts = run.workload, run.workload.trace.prompt_tokens
    columns = (layout.PREFIX, layout.PREFILL, layout.HELD, layout.MINE, layout.SAME)
    prefix, ahead, held, mine, same = run.seen[:, columns].T
    unfinished = np.zeros(len(prompts))
    for router in range(spec.routers):
        own = np.flatnonzero(workload.via == router)
        unfinished[own] = np.arange(len(own)) - np.searchsorted(np.sort(run.last[own]), workload.arrivals[own])
    new, busy = prompts - prefix, mine * spec.replicas / np.maximum(unfinished, 1)
    delayed = spec.server.prefill_seconds(new.astype(np.int64), prefix.astype(np.int64)) * mine
    known = np.stack((new, new / prompts, ahead, held, mine, busy, same), axis=1)[:MAX_SITUATIONS]
    times = (run.first - workload.arrivals + delayed)[:MAX_SITUATIONS]
    return Lesson("what a request costs on a replica", _PROGRAM, known, times, np.ones(len(times)))
