"""Prompt tokens that are computed again, by what their blocks were; in words and tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vulcan.findings import EvaluatorFinding, Series, SmallTable, Statement
from vulcan_prefix.simulate import ServingResult
from vulcan_traces.prompts import PromptTrace

Ints = NDArray[np.int64]
Numbers = NDArray[np.float64]

FOUND, IN_HOST, NEW, LOST, ALWAYS = range(5)
CAUSES = 5
"""Of prompt tokens: found in the GPU's cache; after these in host memory; of blocks that no earlier request had; of
blocks that one had; behind the last whole block that may be found, and so computed in any case."""

IDLE_S = (1.0, 10.0, 60.0, 600.0, 3600.0)
DEPTHS = (1_024, 4_096, 16_384, 65_536)
"""Limits of the classes: seconds since the block's last use, and tokens of the prompt up to its end."""

PARTS = 8
_MAX_KINDS = 12


@dataclass(frozen=True)
class Division:
    """A division of blocks: the class of each, of shape (blocks,), and the classes' names."""

    by: str
    classes: Ints
    names: list[str]

    @cached_property
    def sizes(self) -> Ints:
        """How many blocks each class has."""
        return np.bincount(self.classes, minlength=len(self.names))

    def count(self, chosen: NDArray[np.bool_]) -> Ints:
        """Return how many of the chosen blocks each class has."""
        return np.bincount(self.classes[chosen], minlength=len(self.names))

    def count_by(self, causes: Ints) -> Ints:
        """Return how many blocks of each class have each cause, of shape (causes, classes)."""
        shape = CAUSES, len(self.names)
        return np.bincount(causes * shape[1] + self.classes, minlength=shape[0] * shape[1]).reshape(shape)


@dataclass(frozen=True, slots=True)
class Blocks:
    """Each whole block that may be found in a measured prompt, whatever decides; arrays of shape (blocks,).

    `requests` is the request, `places` the number in its prompt, and `idle` the time since the last request that had
    it, s, infinite for none. `always` is the number of tokens computed in any case, `tokens` of a block.
    """

    trace: PromptTrace
    requests: Ints
    places: Ints
    idle: Numbers
    is_new: NDArray[np.bool_]
    always: int
    tokens: int
    divisions: tuple[Division, ...]


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
    since = slice(measure_from, None)
    always = int(trace.prompt_tokens[since].sum()) - int(limit[since].sum()) * trace.block_tokens
    divisions = tuple(_divisions(trace, r, idle, (at + 1) * trace.block_tokens))
    return Blocks(trace, r, at, idle, last < 0, always, trace.block_tokens, divisions)


@dataclass(frozen=True, slots=True)
class Account:
    """The cause for which the tokens of each block were computed, or none: `causes`, of shape (blocks,).

    By division, `found` and `lost` are the numbers of blocks in each class; `lost_by_request`, of shape (requests,).
    """

    blocks: Blocks
    causes: Ints
    is_found: NDArray[np.bool_]
    found: tuple[Ints, ...]
    lost: tuple[Ints, ...]
    lost_by_request: Ints

    def by_cause(self) -> Ints:
        """Return the prompt tokens by cause."""
        found: Ints = np.bincount(self.causes, minlength=CAUSES).astype(np.int64) * self.blocks.tokens
        found[ALWAYS] = self.blocks.always
        return found


def account(result: ServingResult, blocks: Blocks) -> Account:
    """Return the account of a run on the trace of the blocks."""
    causes = np.where(blocks.is_new, NEW, LOST)
    causes[blocks.places < (result.found + result.found_in_host)[blocks.requests]] = IN_HOST
    causes[blocks.places < result.found[blocks.requests]] = FOUND
    is_found, is_lost = causes <= IN_HOST, causes == LOST
    by_cause = [division.count_by(causes) for division in blocks.divisions]
    return Account(
        blocks,
        causes,
        is_found,
        tuple(counts[FOUND] + counts[IN_HOST] for counts in by_cause),
        tuple(counts[LOST] for counts in by_cause),
        np.bincount(blocks.requests[is_lost], minlength=result.trace.requests),
    )


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a policy, a baseline or the oracle, called `name`, with its account and metrics."""

    name: str
    result: ServingResult
    account: Account
    metrics: dict[str, float]


def describe_prompts(run: Run, capacity: int, load: float) -> list[EvaluatorFinding]:
    """Return the findings on the requests of an instance, whatever decides."""
    trace, account = run.result.trace, run.account
    parts = account.by_cause()
    total = max(int(parts.sum()), 1)
    again = account.blocks.idle[~account.blocks.is_new]
    text = (
        f"{trace.requests:,} requests with {trace.prompt_tokens.mean():,.0f} prompt tokens and "
        f"{trace.output_tokens.mean():,.0f} output tokens on average, in blocks of {trace.block_tokens}. All different "
        f"blocks have {trace.footprint:,} tokens; the cache holds {capacity:,} ({capacity / trace.footprint:.1%}). Of "
        f"the prompt tokens {(parts[FOUND] + parts[IN_HOST] + parts[LOST]) / total:.1%} are of blocks that an earlier "
        "request had, which is the most that a cache of any size can find."
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


def findings_of(own: Run, best: Run, oracle: Run) -> list[EvaluatorFinding]:
    """Return the findings on a policy, compared with the best baseline and the oracle."""
    parts = own.account.by_cause()
    total = max(int(parts.sum()), 1)
    shares = parts / total
    host = f", {shares[IN_HOST]:.1%} in host memory" if parts[IN_HOST] else ""
    made: list[EvaluatorFinding] = [
        Statement(
            f"Of {total:,} prompt tokens {shares[FOUND]:.1%} are found in the cache{host}; {shares[NEW]:.1%} are of "
            f"blocks that no earlier request had, {shares[ALWAYS]:.1%} are computed in any case (the rest behind the "
            f"last whole block), and {shares[LOST]:.1%} are of blocks that an earlier request had and that were "
            f"evicted, or not finished yet: lost. The best baseline, {best.name}, loses {_lost(best):.1%}, the oracle "
            f"{oracle.name} {_lost(oracle):.1%}.",
            10.0,
        ),
        Statement(f"{_times(own)}. {best.name}: {_times(best)}. {oracle.name}: {_times(oracle)}.", 8.0),
        _requests(own, best),
    ]
    for number in range(len(own.account.blocks.divisions)):
        made += _table(number, own, best, oracle)
    return [*made, _curve(own)]


def differences(first: Run, second: Run) -> list[EvaluatorFinding]:
    """Return where two policies differ: tokens that only one of them finds, by class."""
    blocks = first.account.blocks
    by_first = first.account.is_found & ~second.account.is_found
    by_second = second.account.is_found & ~first.account.is_found
    made: list[EvaluatorFinding] = [
        Statement(
            f"The first: {_times(first)}. The second: {_times(second)}. {int(by_first.sum()) * blocks.tokens:,} prompt "
            f"tokens are found by the first alone, {int(by_second.sum()) * blocks.tokens:,} by the second alone.",
            10.0,
        )
    ]
    for division in blocks.divisions:
        counts = np.array([division.count(by_first), division.count(by_second)]).T * blocks.tokens
        rows = tuple((name, *of.tolist()) for name, of in zip(division.names, counts, strict=True) if of.any())
        if rows:
            columns = (division.by, "the first", "the second")
            made.append(SmallTable(f"Tokens that only one finds, by {division.by}", columns, rows, 5.0))
    return made


def _lost(run: Run) -> float:
    parts = run.account.by_cause()
    return float(parts[LOST] / max(int(parts.sum()), 1))


def _times(run: Run) -> str:
    v = run.metrics
    return (
        f"{v['computed_tokens']:,.0f} tokens computed in {v['prefill_s']:.1f} s, time to the first token "
        f"{v['ttft_ms']:.0f} ms on average and {v['p99_ttft_ms']:.0f} ms at the 99th percentile"
    )


def _requests(own: Run, best: Run) -> Statement:
    blocks = own.account.blocks
    since = int(blocks.requests.min()) if len(blocks.requests) else 0
    lost, theirs = (run.account.lost_by_request[since:] for run in (own, best))
    some = lost > 0
    mean = lost[some].mean() * blocks.tokens if some.any() else 0.0
    return Statement(
        f"{some.mean():.1%} of the requests lose something, {mean:,.0f} tokens on average; "
        f"{(lost > theirs).mean():.1%} lose more than with {best.name}, {(lost < theirs).mean():.1%} less.",
        6.0,
    )


def _divisions(trace: PromptTrace, requests: Ints, idle: Numbers, depth: Ints) -> Iterator[Division]:
    idles = np.searchsorted(IDLE_S, idle)
    idles[np.isinf(idle)] = len(IDLE_S) + 1
    times = [f"up to {limit:g} s" for limit in IDLE_S]
    yield Division("time since the block's last use", idles, [*times, f"over {IDLE_S[-1]:g} s", "never used"])
    depths = [f"up to {limit:,}" for limit in DEPTHS] + [f"over {DEPTHS[-1]:,}"]
    yield Division("depth in the prompt, tokens", np.searchsorted(DEPTHS, depth), depths)
    yield Division("turn of the session", np.clip(trace.turns[requests], 1, 4) - 1, ["1", "2", "3", "4 and later"])
    span = max(trace.requests - int(requests.min()), 1) if len(requests) else 1
    parts = PARTS * (requests - (trace.requests - span)) // span
    yield Division("part of the trace", parts, [f"{n + 1}/{PARTS}" for n in range(PARTS)])
    if len(trace.kind_names) <= _MAX_KINDS:
        kinds = [name or "not recorded" for name in trace.kind_names]
        yield Division("kind of the request", trace.kinds[requests], kinds)


def _table(number: int, own: Run, best: Run, oracle: Run) -> list[EvaluatorFinding]:
    blocks = own.account.blocks
    division = blocks.divisions[number]
    total = max(len(division.classes), 1)
    lost = np.array([run.account.lost[number] for run in (own, best, oracle)]).T * blocks.tokens
    rows: list[tuple[str | float, ...]] = []
    for n, name in enumerate(division.names):
        if size := int(division.sizes[n]):
            found = 100 * (int(own.account.found[number][n]) / size)
            rows.append((name, round(100 * float(size) / total, 1), round(found, 1), *lost[n].tolist()))
    if len(rows) < 2:
        return []
    columns = (division.by, "prompt tokens %", "found %", "lost", f"lost by {best.name}", f"lost by {oracle.name}")
    apart = float(np.abs(lost[:, 0] - lost[:, 1]).sum() / max(lost[:, :2].sum(), 1.0))
    return [SmallTable(f"Tokens found and lost by {division.by}", columns, tuple(rows), 3.0 + 3.0 * apart)]


def _curve(run: Run) -> Series:
    """Return the share of the prompt tokens that is found along the requests, for people."""
    trace, requests = run.result.trace, run.account.blocks.requests
    since = int(requests.min()) if len(requests) else 0
    points = min(32, trace.requests - since)
    edges = np.linspace(since, trace.requests, points + 1).astype(int)
    found = np.add.reduceat(run.result.found[since:] * trace.block_tokens, edges[:-1] - since)
    prompts = np.add.reduceat(trace.prompt_tokens[since:], edges[:-1] - since)
    shares = np.round(found / np.maximum(prompts, 1), 4).tolist()
    return Series("hit share along the requests", "request", "share of prompt tokens found",
                  tuple(zip(edges[1:].tolist(), shares, strict=True)), 0.0)  # fmt: skip
