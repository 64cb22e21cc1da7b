"""Prompt tokens that are computed again, by what their blocks were."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan.findings import EvaluatorFinding, Statement
from vulcan.simulator.account import Account, Grouping
from vulcan_prefix.simulate import ServingResult
from vulcan_traces.prompts import PromptTrace

Ints = NDArray[np.int64]
Numbers = NDArray[np.float64]

NEW, LOST = "no earlier request had it", "lost"
"""Why the tokens of a block are computed: lost are those that an earlier request had, and that were evicted, or whose
request was not finished yet."""

IDLE_S = (1.0, 10.0, 60.0, 600.0, 3600.0)
DEPTHS = (1_024, 4_096, 16_384, 65_536)
"""Limits of the classes: seconds since the block's last use, and tokens of the prompt up to its end."""

PARTS = 8
_MAX_KINDS = 12


@dataclass(frozen=True, slots=True)
class Blocks:
    """Each whole block that may be found in a measured prompt, whatever decides; arrays of shape (blocks,).

    `requests` is the request, `places` the number in its prompt, and `idle` the time since the last request that had
    it, s, infinite for none. `tokens` are those of a block.
    """

    requests: Ints
    places: Ints
    idle: Numbers
    tokens: int
    groups: tuple[Grouping, ...]

    @property
    def is_new(self) -> NDArray[np.bool_]:
        """Whether no earlier request had it."""
        return np.isinf(self.idle)


def blocks_of(trace: PromptTrace, stretch: float, measure_from: int) -> Blocks:
    """Return the blocks of the requests from one on, whose arrivals are stretched by a factor."""
    counts = np.diff(trace.starts)
    request = np.repeat(np.arange(trace.requests), counts)
    position = np.arange(len(trace.blocks)) - np.repeat(trace.starts[:-1], counts)
    order = np.lexsort((np.arange(len(trace.blocks)), trace.blocks))
    again = np.zeros(len(trace.blocks), bool)
    again[order[1:]] = trace.blocks[order[1:]] == trace.blocks[order[:-1]]
    before = np.full(len(trace.blocks), -1)
    before[order[1:]] = request[order[:-1]]
    before[~again] = -1
    limit = np.minimum(trace.prompt_blocks, (trace.prompt_tokens - 1) // trace.block_tokens)
    shown = (position < limit[request]) & (request >= measure_from)
    r, at, last = request[shown], position[shown], before[shown]
    idle = np.where(last < 0, np.inf, (trace.arrivals[r] - trace.arrivals[np.maximum(last, 0)]) * stretch)
    groups = tuple(_groups(trace, r, idle, (at + 1) * trace.block_tokens))
    return Blocks(r, at, idle, trace.block_tokens, groups)


def account(name: str, result: ServingResult, blocks: Blocks) -> Account:
    """Return the account of a run on the trace of the blocks, in tokens computed for each."""
    computed = blocks.tokens * (blocks.places >= (result.found + result.found_in_host)[blocks.requests])
    parts = {NEW: np.where(blocks.is_new, computed, 0.0), LOST: np.where(blocks.is_new, 0.0, computed)}
    return Account(name, "block", "computed tokens", parts, blocks.groups)


def describe_prompts(trace: PromptTrace, blocks: Blocks, capacity: int, load: float) -> list[EvaluatorFinding]:
    """Return the findings on the requests of an instance, whatever decides."""
    first = int(blocks.requests.min()) if len(blocks.requests) else 0
    again = blocks.idle[~blocks.is_new]
    text = (
        f"{trace.requests:,} requests with {trace.prompt_tokens.mean():,.0f} prompt tokens and "
        f"{trace.output_tokens.mean():,.0f} output tokens on average, in blocks of {trace.block_tokens}. All different "
        f"blocks have {trace.footprint:,} tokens; the cache holds {capacity:,} ({capacity / trace.footprint:.1%}). Of "
        f"the prompt tokens {len(again) * blocks.tokens / trace.prompt_tokens[first:].sum():.1%} are of blocks that an "
        "earlier request had, which is the most that a cache of any size can find."
    )
    if len(again):
        low, middle, high = np.quantile(again, [0.1, 0.5, 0.9])
        text += (
            f" Half of these come again within {middle:,.1f} s of their last use, a tenth within {low:,.1f} s and "
            f"a tenth after more than {high:,.1f} s."
        )
    sessions = np.unique(trace.sessions[trace.sessions != 0])
    if len(sessions):
        text += f" {len(sessions):,} sessions, {trace.turns.max()} turns at most."
    if load:
        text += f" Without a cache the server would be busy for {load:.0%} of the time."
    return [Statement(text, 10.0)]


def _groups(trace: PromptTrace, requests: Ints, idle: Numbers, depth: Ints) -> Iterator[Grouping]:
    idles = np.searchsorted(IDLE_S, idle)
    idles[np.isinf(idle)] = len(IDLE_S) + 1
    times = [f"up to {limit:g} s" for limit in IDLE_S]
    yield Grouping("time since the block's last use", idles, [*times, f"over {IDLE_S[-1]:g} s", "never used"])
    depths = [f"up to {limit:,}" for limit in DEPTHS] + [f"over {DEPTHS[-1]:,}"]
    yield Grouping("depth in the prompt, tokens", np.searchsorted(DEPTHS, depth), depths)
    yield Grouping("turn of the session", np.clip(trace.turns[requests], 1, 4) - 1, ["1", "2", "3", "4 and later"])
    span = max(trace.requests - int(requests.min()), 1) if len(requests) else 1
    parts = PARTS * (requests - (trace.requests - span)) // span
    yield Grouping("part of the trace", parts, [f"{n + 1}/{PARTS}" for n in range(PARTS)])
    if 1 < len(trace.kind_names) <= _MAX_KINDS:
        kinds = [name or "not recorded" for name in trace.kind_names]
        yield Grouping("kind of the request", trace.kinds[requests], kinds)
