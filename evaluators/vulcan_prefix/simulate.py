"""Serving a trace of prompts with a prefix cache."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan_prefix import layout
from vulcan_prefix.layout import LAYOUT
from vulcan_prefix.server import Server
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

BOUND = "furthest-next-use"
"""Knows when each leaf is next asked for, and evicts the one that is asked for last: an approximation of the optimum,
which would also weigh how many tokens a node has and what they cost."""

OTHERS = {BOUND: layout.FURTHEST}

TLRU_THRESHOLD, TLRU_ESTIMATE = 4096.0, 512.0
"""Of `tlru`: tokens that may be computed anew at a turn without missing the latency goal, and tokens that a turn is
expected to add (Zhang et al., arXiv:2510.15152). SGLang's own defaults are 0, which make it LRU."""


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
    server: Server | None = None,
    *,
    host_capacity: int = 0,
    load: float = 0.0,
    seed: int = 1,
    measure_from: int = 0,
) -> ServingResult:
    """Serve the trace with a policy of the task `prefix_cache`, or a known one, and a cache of so many tokens.

    Known are `BASELINES` and `BOUND`. `host_capacity` is in tokens too; 0 is no second tier. With `load`, arrivals are
    spread so that computing all prompts without a cache would take that share of the time; 0 leaves them as recorded.
    Metrics are of the requests from `measure_from` on. Raises UserError for a capacity below one block.
    """
    from vulcan_prefix.kernels.engine import serve

    server = server or Server()
    size = trace.block_tokens
    if capacity < size:
        raise UserError(f"a cache of {capacity} tokens holds no block: there must be room for {size} at least")
    addresses: tuple[int, ...] = (0,) * 7
    slots, initial, shown = 0, np.zeros(1), np.zeros(layout.GLOBALS)
    if isinstance(who, str):
        number = (BASELINES | OTHERS)[who]
    else:
        native = who.native(LAYOUT)
        number, slots = layout.POLICY, native.entity_slots
        handlers = (native.events.get(name, 0) for name in ("on_hit", "on_insert", "on_evict"))
        addresses = (native.score, native.enter, native.update, native.leave, *handlers)
        shown = native.new_globals(seed)
        initial = native.new_statistics(1) if slots else initial
    found, found_in_host = np.zeros((2, trace.requests), np.int64)
    seconds, waits = np.zeros((2, trace.requests))
    decisions = serve(
        number,
        addresses,
        trace.arrivals * stretch(trace, server, load),
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
        next_uses(trace) if number == layout.FURTHEST else np.zeros(1, np.int64),
        trace.block_count,
        size,
        capacity // size,
        host_capacity // size,
        server.numbers(TLRU_THRESHOLD, TLRU_ESTIMATE),
        shown,
        initial,
        slots,
        found,
        found_in_host,
        seconds,
        waits,
    )
    return ServingResult(trace, found, found_in_host, seconds, waits, int(decisions), measure_from)


def first_requests(trace: PromptTrace, count: int) -> PromptTrace:
    """Return the first requests of a trace."""
    if count >= trace.requests:
        return trace
    of_requests = (
        "arrivals", "prompt_tokens", "output_tokens", "prompt_blocks", "sessions", "turns", "kinds", "priorities",
    )  # fmt: skip
    return replace(
        trace,
        starts=trace.starts[: count + 1],
        blocks=trace.blocks[: trace.starts[count]],
        **{name: getattr(trace, name)[:count] for name in of_requests},
    )


def stretch(trace: PromptTrace, server: Server, load: float) -> float:
    """Return the factor of the arrivals with which prompts without a cache take that share of the time."""
    if load == 0.0:
        return 1.0
    work = math.fsum(server.prefill_seconds(float(tokens), 0.0) for tokens in trace.prompt_tokens)
    lasting = float(trace.arrivals[-1])
    return work / load / lasting if lasting > 0 else 1.0


def next_uses(trace: PromptTrace) -> NDArray[np.int64]:
    """Return for each block of the trace the next request that has it, or the number of requests if none has."""
    upcoming = np.full(trace.block_count, trace.requests, np.int64)
    found = np.empty(len(trace.blocks), np.int64)
    for request in range(trace.requests - 1, -1, -1):
        start, stop = trace.starts[request], trace.starts[request + 1]
        found[start:stop] = upcoming[trace.blocks[start:stop]]
        upcoming[trace.blocks[start : start + trace.prompt_blocks[request]]] = request
    return found
