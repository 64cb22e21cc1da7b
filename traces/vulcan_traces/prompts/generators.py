"""Generated requests to a language-model server: `kind:key=value,key=value`.

    chat        conversations: each turn's prompt is the whole conversation so far        turns, prompt, output, think
    api         single requests of programs, after one of a few long templates            templates, template
    agent       agents that call tools in a loop, each result appended to the context     steps, result, ends
    documents   questions about long documents, several about each                        document, questions
    mix         all four, by the share of requests that each has                          chat, api, agent, documents

Every kind takes `requests`, `seed`, `rate` (requests a second) and `name` (a label, no part of the content); blocks are
of 64 tokens. Lengths are log-normal, and the keys are means. Defaults follow published figures where there are any:

    chat        2.54 turns, 296 tokens of a user's turn, 441 of a reply: WildChat (Zhao et al., ICLR 2024, table 2);
                80 % of reuses within 10 minutes: trace A of KVCache Cache in the Wild (Wang et al., ATC 2025)
    api         80 % of reuses within 10 s, 97 % of hits from single-turn requests: trace B of the same paper
    agent       31.6 steps a session, contexts that grow past 10,000 tokens, over 90 % of a prompt seen before:
                LMCache's agentic traces (787 sessions with 24,881 requests)
    documents   19,019 tokens in, 72 out, over 80 % of the prompts cached: L-Eval as used by Mooncake (FAST 2025)

The two figures of Wang et al. are as summaries of the paper quote them, and are about all reuses of a trace. That a
user's next turn comes within 10 minutes with probability 0.8 is our reading of the first; the second is not fitted, but
follows from few templates at a high rate.

Not from any publication, but assumed: the numbers and lengths of system prompts and templates and their popularity
(Zipf, exponent 1), the variances, how soon questions about a document follow one another, and that agents tell the
server when they are done (`ends`, the share of sessions that do), while people do not.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from vulcan.errors import UserError
from vulcan_traces.prompts.prompt_trace import PromptTrace
from vulcan_traces.synthetic.specification import Key, Values, number, parse_keys, parse_kind, whole

BLOCK = 64
"""Tokens of a block."""

MAX_PROMPT = 131_072
"""Most tokens of a prompt with its output: the session ends before a longer one."""

PROMPT_WORKLOADS = {
    part: tuple(f"{kind}:requests=6000,seed={seed}" for kind in ("chat", "api", "agent", "documents", "mix"))
    for seed, part in enumerate(("train", "validation", "test"), 1)
}
"""Default workloads, by split."""

_SIGMA = 1.0
_SYSTEM_PROMPTS = 4
_SYSTEM_TOKENS = {"chat": 600.0, "agent": 4000.0}
_REUSE_SIGMA = 2.0


@dataclass(frozen=True, slots=True)
class _Session:
    """Tokens of the shared prefix and its number, of each turn the time since the session began, input and output, and
    whether the server is told that it ends."""

    kind: str
    prefix: int
    shared: int
    turns: list[tuple[float, int, int]]
    is_closed: bool = False


Rng = np.random.Generator


def generate_prompts(text: str) -> PromptTrace:
    """Return the trace that the specification describes: the same for the same one. Raises UserError."""
    kind = parse_kind(text, GENERATORS)
    parsed = parse_keys(text, _COMMON | GENERATORS[kind])
    values = parsed.values
    rng = np.random.Generator(np.random.PCG64(whole(values, "seed")))
    count, rate = whole(values, "requests"), number(values, "rate")
    kinds = list(_DRAW)
    if kind == "mix":
        shares = np.array([number(values, f"{name}_share") for name in kinds])
        if not shares.sum() > 0:
            raise UserError(f"{text}: every share is 0")
        values = {**{key: known.default for name in kinds for key, known in GENERATORS[name].items()}, **values}
        chosen = [(name, share) for name, share in zip(kinds, shares / shares.sum(), strict=True) if share > 0]
    else:
        chosen = [(kind, 1.0)]
    drawn: list[tuple[float, int, int, _Session]] = []
    for name, share in chosen:
        last = max((session for _, session, *_ in drawn), default=0)
        drawn += _requests(rng, name, values, math.ceil(count * share), rate * share, last)
    drawn.sort(key=lambda request: request[0])
    return _trace(parsed.name, drawn[:count])


def _requests(
    rng: Rng, kind: str, values: Values, count: int, rate: float, first: int
) -> list[tuple[float, int, int, _Session]]:
    """At least so many requests of a kind: time, session, turn; sessions arrive at an even rate.

    Requests of sessions that began earlier are there from the start: time 0 is when as many are under way as later.
    """
    draw = _DRAW[kind]()
    sample = [draw(rng, values) for _ in range(64)]
    mean = sum(len(session.turns) for session in sample) / len(sample)
    lasting = sorted(session.turns[-1][0] for session in sample)[-len(sample) // 8]
    found: list[tuple[float, int, int, _Session]] = []
    clock, number_ = -lasting, first
    ahead: list[float] = []  # a heap of the times that sessions may yet begin before
    measured = 0
    while measured < count:
        clock += float(rng.exponential(mean / rate))
        session = draw(rng, values)
        number_ += 1
        for turn, (after, _, _) in enumerate(session.turns):
            if clock + after >= 0:
                found.append((clock + after, number_, turn, session))
                heapq.heappush(ahead, clock + after)
        while ahead and ahead[0] <= clock:
            heapq.heappop(ahead)
            measured += 1
    return found


def _trace(name: str, drawn: list[tuple[float, int, int, _Session]]) -> PromptTrace:
    prefixes: dict[tuple[str, int], int] = {}
    private: dict[int, int] = {}
    count = 0
    blocks, starts, lengths, outputs = [], [0], [], []
    for _, number_, turn, session in drawn:
        length = session.shared + sum(given + out for _, given, out in session.turns[:turn]) + session.turns[turn][1]
        output = session.turns[turn][2]
        total, shared = (length + output) // BLOCK, session.shared // BLOCK
        key = (session.kind, session.prefix)
        if key not in prefixes:
            prefixes[key] = count
            count += MAX_PROMPT // BLOCK + 1
        if number_ not in private:
            private[number_] = count
            count += MAX_PROMPT // BLOCK + 1
        blocks.append(np.arange(prefixes[key], prefixes[key] + min(shared, total)))
        blocks.append(np.arange(private[number_] + shared, private[number_] + max(total, shared)))
        starts.append(starts[-1] + total)
        lengths.append(length)
        outputs.append(output)
    _, dense = np.unique(np.concatenate(blocks), return_inverse=True)
    prompts = np.array(lengths, np.int64)
    kinds = {name: index for index, name in enumerate(("", *_DRAW))}
    numbers = {number_: index for index, number_ in enumerate(private, 1)}
    return PromptTrace(
        name,
        BLOCK,
        np.array([time - drawn[0][0] for time, *_ in drawn]),
        prompts,
        np.array(outputs, np.int64),
        np.array(starts, np.int64),
        dense.astype(np.int64),
        prompts // BLOCK,
        np.array([numbers[number_] for _, number_, _, _ in drawn], np.int64),
        np.array([turn + 1 for _, _, turn, _ in drawn], np.int64),
        np.array([session.is_closed and turn + 1 == len(session.turns) for _, _, turn, session in drawn], np.int64),
        np.array([kinds[session.kind] for *_, session in drawn], np.int64),
        np.zeros(len(drawn), np.int64),
        tuple(kinds),
    )


def _length(rng: Rng, mean: float, sigma: float = _SIGMA) -> int:
    """Draw a log-normal length of that mean, in tokens."""
    return max(1, round(float(rng.lognormal(math.log(mean) - sigma**2 / 2, sigma))))


def _zipf(rng: Rng, count: int) -> int:
    return int(rng.choice(count, p=_zipf_shares(count)))


@cache
def _zipf_shares(count: int) -> NDArray[np.float64]:
    weights = 1.0 / np.arange(1, count + 1)
    return np.asarray(weights / weights.sum())


@cache
def _prefix_tokens(kind: str, prefix: int, mean: float) -> int:
    """Return the length of a shared prefix, the same whenever it is used and for every seed."""
    return _length(np.random.Generator(np.random.PCG64([len(kind), prefix])), mean, 0.5)


def _cut(turns: list[tuple[float, int, int]], shared: int) -> list[tuple[float, int, int]]:
    """Return the turns before the context is too long, at least one."""
    total, kept = shared, 0
    for _, given, output in turns:
        total += given + output
        if total > MAX_PROMPT:
            break
        kept += 1
    if kept:
        return turns[:kept]
    return [(0.0, min(turns[0][1], MAX_PROMPT // 4), min(turns[0][2], MAX_PROMPT // 4))]


def _chat(rng: Rng, values: Values) -> _Session:
    prefix = _zipf(rng, _SYSTEM_PROMPTS)
    # a reuse within 600 s with probability 0.8: exp(0.84 sigma) times the median
    median = number(values, "think") / math.exp(0.8416 * _REUSE_SIGMA)
    at, turns = 0.0, []
    for _ in range(int(rng.geometric(1 / number(values, "turns")))):
        turns.append((at, _length(rng, number(values, "prompt")), _length(rng, number(values, "output"))))
        at += float(rng.lognormal(math.log(median), _REUSE_SIGMA)) + 10.0
    shared = _prefix_tokens("chat", prefix, _SYSTEM_TOKENS["chat"])
    return _Session("chat", prefix, shared, _cut(turns, shared))


def _api(rng: Rng, values: Values) -> _Session:
    prefix = _zipf(rng, whole(values, "templates"))
    shared = min(_prefix_tokens("api", prefix, number(values, "template")), MAX_PROMPT // 2)
    return _Session("api", prefix, shared, [(0.0, min(_length(rng, 400.0), 32_768), min(_length(rng, 200.0), 8192))])


def _agent(rng: Rng, values: Values) -> _Session:
    prefix = _zipf(rng, _SYSTEM_PROMPTS)
    at, turns = 0.0, []
    for step in range(int(rng.geometric(1 / number(values, "steps")))):
        given = _length(rng, 1000.0 if step == 0 else number(values, "result"))
        output = _length(rng, 100.0)
        turns.append((at, given, output))
        at += 0.03 * output + float(rng.lognormal(math.log(2.0), 1.5)) + 1.0
    shared = _prefix_tokens("agent", prefix, _SYSTEM_TOKENS["agent"])
    ends = number(values, "ends")
    return _Session("agent", prefix, shared, _cut(turns, shared), ends == 1 or rng.random() < ends)


class _Documents:
    """Questions about documents: each document is replaced after a geometrically distributed number of questions."""

    def __init__(self) -> None:
        self._live: list[tuple[int, int]] = []

    def __call__(self, rng: Rng, values: Values) -> _Session:
        if len(self._live) < _LIVE_DOCUMENTS:
            self._live.append(
                (int(rng.integers(2**40)), min(_length(rng, number(values, "document")), MAX_PROMPT // 2))
            )
        at = int(rng.integers(len(self._live)))
        document, length = self._live[at]
        if rng.random() < 1 / number(values, "questions"):
            del self._live[at]
        return _Session("documents", document, length, [(0.0, _length(rng, 60.0), _length(rng, 72.0))])


_LIVE_DOCUMENTS = 40
"""Documents that are asked about at a time."""

_Draw = Callable[[Rng, Values], _Session]
_DRAW: dict[str, Callable[[], _Draw]] = {
    "chat": lambda: _chat,
    "api": lambda: _api,
    "agent": lambda: _agent,
    "documents": _Documents,
}
_COMMON = {"requests": Key(6000, 1, 10_000_000), "seed": Key(0, 0, 2**63), "rate": Key(4.0, 1e-6, 1e6)}

GENERATORS: dict[str, dict[str, Key]] = {
    "chat": {
        "turns": Key(2.54, 1, 1000),
        "prompt": Key(296.0, 1, 1e5),
        "output": Key(441.0, 1, 1e5),
        "think": Key(600.0, 1, 1e6),
    },
    "api": {"templates": Key(50, 1, 10_000), "template": Key(2000.0, 1, 1e5)},
    "agent": {"steps": Key(31.6, 1, 10_000), "result": Key(600.0, 1, 1e5), "ends": Key(1.0, 0, 1)},
    "documents": {"document": Key(18_900.0, 1, 1e5), "questions": Key(6.0, 1, 1000)},
    "mix": {f"{kind}_share": Key(0.25, 0, 1) for kind in ("chat", "api", "agent", "documents")},
}
"""The keys that each kind has besides the common ones."""
