"""Readers of logs of language-model servers: JSON lines, one request each.

`mooncake`   Mooncake's traces (Qin et al., FAST 2025; github.com/kvcache-ai/Mooncake): `timestamp` in milliseconds,
             `input_length`, `output_length`, and `hash_ids` of the prompt's blocks of 512 tokens.
`bailian`    Qwen-Bailian traces (Wang et al., USENIX ATC 2025; github.com/alibaba-edu/qwen-bailian-usagetraces-anon):
             `timestamp` in seconds, blocks of 16 tokens, and `chat_id`, `parent_chat_id`, `type`, `turn`.
`tokens`     a log of one's own: `timestamp` in seconds, `prompt`, a list of token ids, and optionally `output`, another
             (or `output_length`), `session` (a number or a text), `turn`, `ends` (true where the session is known to
             end with the request), `kind` (a text) and `priority`.

Mooncake's do not say which requests continue one another: a request's turn is one more than that of the request whose
whole prompt its own begins with. Neither do the first two say what the outputs were. Their blocks take up the cache,
but nothing is ever found there, so that hits are underestimated by what a conversation's next turn would find of the
output before it. The last block of a prompt, which is seldom full, is not cached: servers keep full blocks only.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from vulcan.errors import UserError
from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import abbreviated
from vulcan_traces.prompts.prompt_trace import MAX_TOKENS, Key, PromptTrace, PromptTraceBuilder

Record = Mapping[str, Any]

MOONCAKE_BLOCK = 512
BAILIAN_BLOCK = 16
TOKENS_BLOCK = 16
"""Tokens of a block; that of `tokens` is a default, and also that of vLLM."""


_AGREEING = 0.99
"""Share of the requests that a block size has to agree with."""

_FEW = 50
_SLOWEST, _FASTEST = 1 / 100, 100.0
"""Requests per second that no unit of time is doubted at, of at least `_FEW`."""

log = logging.getLogger(__name__)


class _Malformed(ValueError):
    """A fault of a record."""


def read_prompts(source: Source, name: str, format: str | None, block_tokens: int | None) -> PromptTrace:
    """Return the trace of a file. Raises UserError, naming the line, for one that is malformed."""
    builder: PromptTraceBuilder | None = None
    add: _Add | None = None
    has_hashes = False
    for first_line, block in source.line_blocks():
        for number, line in enumerate(block.split(b"\n"), first_line):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                if not isinstance(record, dict):
                    raise _Malformed("no JSON object")
                if add is None or builder is None:
                    chosen = format or _recognised(record)
                    default, make = FORMATS[chosen]
                    builder = PromptTraceBuilder(name, block_tokens or default)
                    has_hashes, add = chosen != "tokens", make()
                add(builder, record)
            except (ValueError, RecursionError) as error:
                why = str(error) if isinstance(error, _Malformed) else "not JSON"
                raise source.malformed("line", number, f"{why}: {abbreviated(line)}") from error
    if builder is None:
        return PromptTraceBuilder(name, TOKENS_BLOCK).build()
    if has_hashes:
        builder.block_tokens = _block_size(source, builder, default)
    trace = builder.build()
    _doubt_times(source, trace)
    return trace


def _block_size(source: Source, builder: PromptTraceBuilder, default: int) -> int:
    """Return the size of a block that lengths and numbers of blocks agree with: the builder's, the default, or another.

    Raises UserError where that leaves none, or several.
    """
    lengths, counts = builder.lengths()

    def agrees(size: int) -> bool:
        return bool(((counts == lengths // size) | (counts == -(-lengths // size))).mean() >= _AGREEING)

    assumed = builder.block_tokens
    for size in (assumed, default):
        if agrees(size):
            found = [size]
            break
    else:
        found = [2**power for power in range(17) if agrees(2**power)]
    if len(found) != 1:
        could = f" ({' or '.join(map(str, found))})" if found else ""
        raise UserError(
            f"{source.path}: {counts.sum():,} blocks for {lengths.sum():,} tokens of prompts, not blocks of {assumed}; "
            f"give the block size with --block-tokens{could}"
        )
    if found[0] != assumed:
        log.warning("%s: lengths agree with blocks of %d tokens, not of %d", source.path, found[0], assumed)
    return found[0]


def _doubt_times(source: Source, trace: PromptTrace) -> None:
    """Log a warning where requests come so fast, or so slowly, that the unit of their times is in doubt."""
    seconds = float(trace.arrivals[-1]) if trace.requests else 0.0
    if trace.requests < _FEW or not seconds:
        return
    rate = trace.requests / seconds
    if not _SLOWEST <= rate <= _FASTEST:
        log.warning(
            "%s: %.3g requests per second: are its times in %s?",
            source.path,
            rate,
            "seconds, and not in milliseconds" if rate > 1 else "milliseconds, and not in seconds",
        )


def _recognised(record: Record) -> str:
    if isinstance(record.get("prompt"), list):
        return "tokens"
    if "hash_ids" in record:
        return "bailian" if "chat_id" in record else "mooncake"
    raise _Malformed("neither `hash_ids` nor a `prompt` of token ids, so of no known format")


_Add = Callable[[PromptTraceBuilder, Record], None]


def _mooncake() -> _Add:
    def add(builder: PromptTraceBuilder, record: Record) -> None:
        builder.add(
            _time(record) / 1e3,
            _count(record, "input_length"),
            _count(record, "output_length"),
            _ids(record),
            turn=None,
        )

    return add


def _bailian() -> _Add:
    sessions: dict[int, int] = {}

    def add(builder: PromptTraceBuilder, record: Record) -> None:
        chat, parent = _whole(record, "chat_id"), _whole(record, "parent_chat_id", -1)
        session = sessions[chat] = sessions.get(parent) or len(sessions) + 1
        builder.add(
            _time(record),
            _count(record, "input_length"),
            _count(record, "output_length"),
            _ids(record),
            session=session,
            turn=max(1, _whole(record, "turn", 1)),
            kind=str(record.get("type", "")),
        )

    return add


def _tokens() -> _Add:
    sessions: dict[object, int] = {}
    turns: dict[int, int] = {}

    def add(builder: PromptTraceBuilder, record: Record) -> None:
        prompt = _token_list(record, "prompt")
        output = _token_list(record, "output") if "output" in record else None
        length = len(output) if output is not None else _count(record, "output_length", 0)
        given, size = record.get("session"), builder.block_tokens
        session = 0
        if isinstance(given, int | str):
            session = sessions.setdefault(given, len(sessions) + 1)
            turns[session] = turns.get(session, 0) + 1
        whole = prompt + (output or [])
        keys: list[Key] = [tuple(whole[at : at + size]) for at in range(0, len(whole) - size + 1, size)]
        full = len(prompt) // size
        builder.add(
            _time(record),
            len(prompt),
            length,
            keys[:full],
            keys[full:] if output is not None else None,
            session=session,
            turn=max(1, _whole(record, "turn", turns.get(session, 1))),
            ends=record.get("ends") is True,
            kind=str(record.get("kind", "")),
            priority=_whole(record, "priority", 0),
        )

    return add


FORMATS: dict[str, tuple[int, Callable[[], _Add]]] = {
    "mooncake": (MOONCAKE_BLOCK, _mooncake),
    "bailian": (BAILIAN_BLOCK, _bailian),
    "tokens": (TOKENS_BLOCK, _tokens),
}
"""By name, the tokens of a block and what adds records."""


def _time(record: Record) -> float:
    time = record.get("timestamp")
    if isinstance(time, bool) or not isinstance(time, int | float) or not abs(time) < 1e15 or not isfinite(time):
        raise _Malformed("no number `timestamp`")
    return float(time)


def _whole(record: Record, name: str, default: int | None = None) -> int:
    value = record.get(name, default)
    if type(value) is not int or not -(2**53) <= value <= 2**53:
        raise _Malformed(f"no whole number `{name}`")
    return value


def _count(record: Record, name: str, default: int | None = None) -> int:
    value = _whole(record, name, default)
    if not 0 <= value <= MAX_TOKENS:
        raise _Malformed(f"`{name}` is not a number of tokens")
    return value


def _ids(record: Record) -> list[Key]:
    ids = record.get("hash_ids")
    if not isinstance(ids, list) or not all(type(key) is int for key in ids):
        raise _Malformed("no list of whole numbers `hash_ids`")
    return list(ids)


def _token_list(record: Record, name: str) -> list[int]:
    ids = record.get(name)
    if not isinstance(ids, list) or not all(type(token) is int for token in ids):
        raise _Malformed(f"no list of token ids `{name}`")
    return ids
