"""Serving a trace of prompts with a prefix cache."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.simulator import PolicyCalls
from vulcan_prefix import layout
from vulcan_prefix.layout import LAYOUT
from vulcan_serving.server import Server
from vulcan_traces.prompts import PromptTrace

BASELINES = {
    "lru": layout.LRU,
    "lfu": layout.LFU,
    "fifo": layout.FIFO,
    "slru": layout.SLRU,
    "priority": layout.BY_PRIORITY,
    "tlru": layout.TLRU,
    "vllm": layout.VLLM,
    "workload-aware": layout.WORKLOAD_AWARE,
    "greedy-dual": layout.GREEDY_DUAL,
}
"""Known policies. The first six are those of SGLang 0.5; `vllm` evicts single blocks by the time of their release."""

SERVER = Server(base_ms=10.0, prefill_us=112.0, pair_ns=2.1, decode_us=0.0, context_ns=0.0, memory=0)
"""Prompts on the server `70b-8xa100`, but for what a step takes whatever is in it: an assumption, with more of them in
each."""

BOUND = "belady-blocks"
"""Belady's MIN by blocks: no policy finds more tokens, whichever blocks leave (`most_found`)."""

TLRU_THRESHOLD, TLRU_ESTIMATE = 4096.0, 512.0
"""Of `tlru`: tokens that may be computed anew at a turn without missing the latency goal, and tokens that a turn is
expected to add (Zhang et al., arXiv:2510.15152). SGLang's own defaults are 0, which make it LRU."""

_CALLED = ("priority", "enter", "update", "leave", "on_hit", "on_insert", "on_evict")


@dataclass(frozen=True, slots=True)
class ServingResult:
    """Of each request (requests,): blocks of its prompt found in the GPU's cache, and after these in host memory, the
    seconds that its prompt took, and the time to its first token. `decisions` is a hash of the evictions."""

    trace: PromptTrace
    found: NDArray[np.int64]
    found_in_host: NDArray[np.int64]
    seconds: NDArray[np.float64]
    waits: NDArray[np.float64]
    decisions: int
    measure_from: int = 0

    def metrics(self) -> dict[str, float]:
        """Return shares of prompt tokens, and times, over the requests from `measure_from` on.

        `hit_share` is what came from the GPU's cache, `host_share` what came from host memory, `computed_tokens` the
        rest; `prefill_s` is the time of all prompts.
        """
        since = slice(self.measure_from, None)
        size = self.trace.block_tokens
        prompts = float(self.trace.prompt_tokens[since].sum())
        hits, host = float(self.found[since].sum() * size), float(self.found_in_host[since].sum() * size)
        waits = np.sort(self.waits[since])
        return {
            "hit_share": hits / prompts,
            "host_share": host / prompts,
            "prompt_tokens": prompts,
            "hit_tokens": hits,
            "computed_tokens": prompts - hits - host,
            "prefill_s": math.fsum(self.seconds[since]),
            "ttft_ms": 1e3 * math.fsum(waits) / len(waits),
            "p99_ttft_ms": 1e3 * float(waits[max(math.ceil(0.99 * len(waits)) - 1, 0)]),
        }


def simulate(
    who: Policy | str,
    trace: PromptTrace,
    capacity: int,
    server: Server = SERVER,
    *,
    decode_ms: float = 30.0,
    transfer_us: float = 13.0,
    host_capacity: int = 0,
    load: float = 0.0,
    seed: int = 1,
    measure_from: int = 0,
) -> ServingResult:
    """Serve the trace with a policy of the task `prefix_cache`, or a known one, and a cache of so many tokens.

    Known are `BASELINES` and `BOUND`. Of the server's constants those of prompts count; an output token takes
    `decode_ms`, whatever else runs, and one from host memory `transfer_us`. `host_capacity` is in tokens too;
    0 is no second tier. With `load`, arrivals are spread so that computing all prompts without a cache would take that
    share of the time; 0 leaves them as recorded. Metrics are of the requests from `measure_from` on. Raises UserError
    for a capacity below one block.
    """
    from vulcan_prefix.kernels.engine import serve

    size = trace.block_tokens
    if capacity < size:
        raise UserError(f"a cache of {capacity} tokens holds no block: there must be room for {size} at least")
    arrivals = trace.arrivals * stretch(trace, server, load)
    if who == BOUND:
        most = most_found(trace, capacity // size, host_capacity // size, measure_from)
        return _bound(trace, most, server, arrivals, measure_from)
    policy = None if isinstance(who, str) else who
    number = BASELINES[who] if isinstance(who, str) else layout.POLICY
    calls = PolicyCalls.of(policy, LAYOUT, _CALLED, [seed], 1)
    numbers = np.array(
        [
            1e-3 * server.base_ms, 1e-6 * server.prefill_us, 1e-9 * server.pair_ns, 1e-3 * decode_ms,
            1e-6 * transfer_us, TLRU_THRESHOLD, TLRU_ESTIMATE,
        ]
    )  # fmt: skip
    found, found_in_host = np.zeros((2, trace.requests), np.int64)
    seconds, waits = np.zeros((2, trace.requests))
    decisions = serve(
        number,
        number == layout.VLLM if policy is None else policy.mechanism == "blocks",
        calls.addresses,
        arrivals,
        trace.prompt_tokens,
        trace.output_tokens,
        trace.starts,
        trace.blocks,
        trace.prompt_blocks,
        # a session without a number is one of its own
        np.where(trace.sessions == 0, -1 - np.arange(trace.requests), trace.sessions),
        trace.ends,
        trace.turns,
        trace.kinds,
        trace.priorities,
        trace.block_count,
        size,
        capacity // size,
        host_capacity // size,
        numbers,
        calls.shown[0],
        calls.statistics,
        calls.slots,
        found,
        found_in_host,
        seconds,
        waits,
    )
    return ServingResult(trace, found, found_in_host, seconds, waits, int(decisions), measure_from)


def stretch(trace: PromptTrace, server: Server, load: float) -> float:
    """Return the factor of the arrivals with which prompts without a cache take that share of the time."""
    if load == 0.0:
        return 1.0
    work = math.fsum(server.prefill_seconds(trace.prompt_tokens, np.zeros_like(trace.prompt_tokens)))
    lasting = float(trace.arrivals[-1])
    return work / load / lasting if lasting > 0 else 1.0


def most_found(trace: PromptTrace, capacity: int, host: int = 0, measure_from: int = 0) -> NDArray[np.int64]:
    """Return how many blocks of each prompt are found if, of all from `measure_from` on, as many are as can be.

    A block that is found has been in the cache since the last request that had it, and a request that runs has room
    for all of its own blocks. So at each request what is kept for later ones is at most what it leaves free, of
    `capacity` blocks and those of the `host`. That what is found must be the beginning of a prompt, and that others
    still run, is left out. Most is found if what is asked for last is given up (Belady, 1966), also where the room
    varies.
    """
    total = -(-(trace.prompt_tokens + trace.output_tokens) // trace.block_tokens)
    findable = np.minimum(trace.prompt_blocks, (trace.prompt_tokens - 1) // trace.block_tokens)
    upcoming = np.full(trace.block_count, -1, np.int64)  # the next request that finds the block if it is kept
    uses = np.full(len(trace.blocks), -1, np.int64)
    for request in range(trace.requests - 1, -1, -1):
        if total[request] > capacity:  # it is computed without the cache
            continue
        start, stop = trace.starts[request], trace.starts[request + 1]
        own = trace.blocks[start:stop]
        uses[start:stop] = upcoming[own]
        upcoming[own] = -1
        upcoming[own[: findable[request]]] = request if request >= measure_from else -1
    found = np.zeros(trace.requests, np.int64)
    ends: list[int] = []  # a heap: requests for which blocks are kept, the last one first
    kept = 0
    for request in np.flatnonzero(total <= capacity).tolist():
        kept -= int(found[request])
        room = capacity + host - int(total[request])
        while kept > room:
            last = -ends[0]
            given_up = min(kept - room, int(found[last]))
            found[last] -= given_up
            kept -= given_up
            if not found[last]:
                heapq.heappop(ends)
        later = uses[trace.starts[request] : trace.starts[request + 1]]
        for last, count in zip(*map(np.ndarray.tolist, np.unique(later[later > 0], return_counts=True)), strict=True):
            if not found[last]:
                heapq.heappush(ends, -last)
            found[last] += count
            kept += count
    return found


def _bound(
    trace: PromptTrace, found: NDArray[np.int64], server: Server, arrivals: NDArray[np.float64], measure_from: int
) -> ServingResult:
    """Return a server that finds so many blocks of each prompt. Its times are no bound: of hits some save more."""
    cached = found * trace.block_tokens
    seconds, waits, free_at = (
        server.prefill_seconds(trace.prompt_tokens - cached, cached),
        np.empty(trace.requests),
        0.0,
    )
    for request in range(trace.requests):
        free_at = max(float(arrivals[request]), free_at) + seconds[request]
        waits[request] = free_at - arrivals[request]
    return ServingResult(trace, found, np.zeros_like(found), seconds, waits, 1, measure_from)
