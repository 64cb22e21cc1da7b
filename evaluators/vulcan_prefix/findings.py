"""Findings on prefix caches: which prompt tokens are computed again, and what their blocks were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan.findings import EvaluatorFinding, Series, SmallTable, Statement
from vulcan_prefix.simulate import ServingResult

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


@dataclass(frozen=True, slots=True)
class Account:
    """Of each whole block that may be found in a measured prompt, arrays of shape (blocks,).

    `causes` is why its tokens were computed, or not; `idle` the time since the last request that had it, s, infinite
    for none; `requests` the request. `always` is the number of tokens computed in any case, `tokens` of a block.
    """

    causes: Ints
    idle: Numbers
    depth: Ints
    requests: Ints
    always: int
    tokens: int

    def by_cause(self) -> Ints:
        """Return the prompt tokens by cause."""
        found: Ints = np.bincount(self.causes, minlength=CAUSES).astype(np.int64) * self.tokens
        found[ALWAYS] = self.always
        return found


def account(result: ServingResult, stretch: float, measure_from: int) -> Account:
    """Return the account of the requests from one on, whose arrivals were stretched by a factor."""
    trace = result.trace
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
    causes = np.where(last < 0, NEW, LOST)
    causes[at < result.found[r] + result.found_in_host[r]] = IN_HOST
    causes[at < result.found[r]] = FOUND
    since = slice(measure_from, None)
    always = int(trace.prompt_tokens[since].sum()) - int(limit[since].sum()) * trace.block_tokens
    return Account(causes, idle, (at + 1) * trace.block_tokens, r, always, trace.block_tokens)


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
    again = account.idle[np.isfinite(account.idle)]
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
        Statement(
            f"{_times(own)}. {best.name}: {_times(best)}. {oracle.name}: {_times(oracle)}.",
            8.0,
        ),
        _requests(own, best),
    ]
    for by, classes, names in _classes(own):
        made += _table(by, classes, names, own, best, oracle)
    return [*made, _curve(own)]


def differences(first: Run, second: Run) -> list[EvaluatorFinding]:
    """Return where two policies differ: tokens that only one of them finds, by class."""
    one, other = (np.isin(run.account.causes, (FOUND, IN_HOST)) for run in (first, second))
    size = first.account.tokens
    made: list[EvaluatorFinding] = [
        Statement(
            f"The first: {_times(first)}. The second: {_times(second)}. {int((one & ~other).sum()) * size:,} prompt "
            f"tokens are found by the first alone, {int((other & ~one).sum()) * size:,} by the second alone.",
            10.0,
        )
    ]
    for by, classes, names in _classes(first):
        rows = tuple(
            (names[n], int((one & ~other)[classes == n].sum()) * size, int((other & ~one)[classes == n].sum()) * size)
            for n in range(len(names))
            if ((one ^ other) & (classes == n)).any()
        )
        if rows:
            made.append(SmallTable(f"Tokens that only one finds, by {by}", (by, "the first", "the second"), rows, 5.0))
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
    lost, theirs = (
        np.bincount(run.account.requests[run.account.causes == LOST], minlength=own.result.trace.requests)
        for run in (own, best)
    )
    since = int(own.account.requests.min()) if len(own.account.requests) else 0
    lost, theirs = lost[since:], theirs[since:]
    some = lost > 0
    mean = lost[some].mean() * own.account.tokens if some.any() else 0.0
    return Statement(
        f"{some.mean():.1%} of the requests lose something, {mean:,.0f} tokens on average; "
        f"{(lost > theirs).mean():.1%} lose more than with {best.name}, {(lost < theirs).mean():.1%} less.",
        6.0,
    )


def _classes(run: Run) -> list[tuple[str, Ints, list[str]]]:
    """Return what blocks are divided by, the class of each, and the classes' names."""
    account, trace = run.account, run.result.trace
    idle = [f"up to {limit:g} s" for limit in IDLE_S]
    idles = np.searchsorted(IDLE_S, account.idle)
    idles[np.isinf(account.idle)] = len(IDLE_S) + 1
    depths = [f"up to {limit:,}" for limit in DEPTHS] + [f"over {DEPTHS[-1]:,}"]
    turns = np.clip(trace.turns[account.requests], 1, 4) - 1
    span = max(trace.requests - int(account.requests.min()), 1) if len(account.requests) else 1
    parts = PARTS * (account.requests - (trace.requests - span)) // span
    found = [
        ("time since the block's last use", idles, [*idle, f"over {IDLE_S[-1]:g} s", "never used"]),
        ("depth in the prompt, tokens", np.searchsorted(DEPTHS, account.depth), depths),
        ("turn of the session", turns, ["1", "2", "3", "4 and later"]),
        ("part of the trace", parts, [f"{n + 1}/{PARTS}" for n in range(PARTS)]),
    ]
    kinds = trace.kinds[account.requests]
    if len(trace.kind_names) <= _MAX_KINDS:
        found.append(("kind of the request", kinds, [name or "not recorded" for name in trace.kind_names]))
    return found


def _table(by: str, classes: Ints, names: Sequence[str], own: Run, best: Run, oracle: Run) -> list[EvaluatorFinding]:
    total = max(len(classes), 1)
    lost = [run.account.causes == LOST for run in (own, best, oracle)]
    rows: list[tuple[str | float, ...]] = []
    counted = np.zeros((0, 3))
    for n, name in enumerate(names):
        here = classes == n
        if here.any():
            found = 100 * float(np.isin(own.account.causes[here], (FOUND, IN_HOST)).mean())
            counts = [int(one[here].sum()) * own.account.tokens for one in lost]
            rows.append((name, round(100 * float(here.sum()) / total, 1), round(found, 1), *counts))
            counted = np.vstack([counted, counts])
    if len(rows) < 2:
        return []
    columns = (by, "prompt tokens %", "found %", "lost", f"lost by {best.name}", f"lost by {oracle.name}")
    apart = float(np.abs(counted[:, 0] - counted[:, 1]).sum() / max(counted[:, :2].sum(), 1.0))
    return [SmallTable(f"Tokens found and lost by {by}", columns, tuple(rows), 3.0 + 3.0 * apart)]


def _curve(run: Run) -> Series:
    """Return the share of the prompt tokens that is found along the requests, for people."""
    trace, since = run.result.trace, int(run.account.requests.min()) if len(run.account.requests) else 0
    points = min(32, trace.requests - since)
    edges = np.linspace(since, trace.requests, points + 1).astype(int)
    found = np.add.reduceat(run.result.found[since:] * trace.block_tokens, edges[:-1] - since)
    prompts = np.add.reduceat(trace.prompt_tokens[since:], edges[:-1] - since)
    shares = np.round(found / np.maximum(prompts, 1), 4).tolist()
    return Series("hit share along the requests", "request", "share of prompt tokens found",
                  tuple(zip(edges[1:].tolist(), shares, strict=True)), 0.0)  # fmt: skip
