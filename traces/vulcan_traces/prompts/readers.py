"""Readers of logs of language-model servers: JSON lines, one request each, and those of `server_logs`.

`mooncake`   Mooncake's traces (Qin et al., FAST 2025; github.com/kvcache-ai/Mooncake): `timestamp` in milliseconds,
             `input_length`, `output_length`, and `hash_ids` of the prompt's blocks of 512 tokens.
`bailian`    Qwen-Bailian traces (Wang et al., USENIX ATC 2025; github.com/alibaba-edu/qwen-bailian-usagetraces-anon):
             `timestamp` in seconds, blocks of 16 tokens, and `chat_id`, `parent_chat_id`, `type`, `turn`.
`tokens`     a log of one's own: `timestamp` in seconds, `prompt`, a list of token ids, and optionally `output`, another
             (or `output_length`), `session` (a number or a text), `turn`, `ends` (true where the session is known to
             end with the request), `kind` (a text) and `priority`. Without a `prompt`, `input_length`.

Mooncake's do not say which requests continue one another: a request's turn is one more than that of the request whose
whole prompt its own begins with. Neither do the first two say what the outputs were. Their blocks take up the cache,
but nothing is ever found there, so that hits are underestimated by what a conversation's next turn would find of the
output before it. The last block of a prompt, which is seldom full, is not cached: servers keep full blocks only.
Of a prompt with no more than a length nothing is known to be shared with others, but that a session's next one which is
longer than the last prompt and output is taken to begin with them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

from vulcan.errors import UserError
from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import abbreviated
from vulcan_traces.prompts import server_logs
from vulcan_traces.prompts.prompt_trace import MAX_TOKENS, Key, PromptTrace, PromptTraceBuilder
from vulcan_traces.prompts.server_logs import LineParser, Malformed, Record

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


def read_prompts(source: Source, name: str, format: str | None, block_tokens: int | None) -> PromptTrace:
    """Return the trace of a file. Raises UserError, naming the line, for one that is malformed."""
    chosen = format or _recognised(source)
    known = FORMATS[chosen]
    builder = PromptTraceBuilder(name, block_tokens or known.block_tokens)
    parse, add = known.parser(), known.adder()
    for first_line, block in source.line_blocks():
        for number, line in enumerate(block.split(b"\n"), first_line):
            if not line.strip():
                continue
            try:
                for record in parse(line):
                    add(builder, record)
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
                why = str(error) if isinstance(error, Malformed) else f"not as {chosen} has it"
                raise source.malformed("line", number, f"{why}: {abbreviated(line)}") from error
    if known.has_hashes and builder.requests:
        builder.block_tokens = _block_size(source, builder, known.block_tokens)
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


def _recognised(source: Source) -> str:
    """Return the name of a file's format, which one of its first lines tells. Raises UserError."""
    lines = source.first_lines
    found = next(filter(None, map(server_logs.format_of, lines)), None)
    if found is None and not lines:
        raise UserError(f"{source.path}: not text, or nothing but blank lines")
    if found is None:
        raise source.malformed("line", 1, f"of no known format ({', '.join(FORMATS)}): {abbreviated(lines[0])}")
    return found


_Add = Callable[[PromptTraceBuilder, Record], None]


def _mooncake(builder: PromptTraceBuilder, record: Record) -> None:
    input_length, output_length = _count(record, "input_length"), _count(record, "output_length")
    builder.add(_time(record) / 1e3, input_length, output_length, [*_ids(record, "hash_ids")], turn=None)


def _bailian() -> _Add:
    sessions: dict[int, int] = {}

    def add(builder: PromptTraceBuilder, record: Record) -> None:
        chat, parent = _whole(record, "chat_id"), _whole(record, "parent_chat_id", -1)
        session = sessions[chat] = sessions.get(parent) or len(sessions) + 1
        builder.add(
            _time(record),
            _count(record, "input_length"),
            _count(record, "output_length"),
            [*_ids(record, "hash_ids")],
            session=session,
            turn=max(1, _whole(record, "turn", 1)),
            kind=str(record.get("type", "")),
        )

    return add


def _tokens() -> _Add:
    sessions: dict[object, int] = {}
    turns: dict[int, int] = {}

    def add(builder: PromptTraceBuilder, record: Record) -> None:
        has_prompt = "prompt" in record
        prompt = _ids(record, "prompt") if has_prompt else []
        output = _ids(record, "output") if has_prompt and "output" in record else None
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
            len(prompt) if has_prompt else _count(record, "input_length"),
            length,
            keys[:full] if has_prompt else None,
            keys[full:] if output is not None else None,
            session=session,
            turn=max(1, _whole(record, "turn", turns.get(session, 1))),
            ends=record.get("ends") is True,
            kind=str(record.get("kind", "")),
            priority=_whole(record, "priority", 0),
        )

    return add


@dataclass(frozen=True, slots=True)
class PromptFormat:
    """The default size of a block, what makes records of lines, and what adds them; both remember what came before."""

    block_tokens: int
    adder: Callable[[], _Add]
    parser: Callable[[], LineParser] = server_logs.json_lines
    has_hashes: bool = False


FORMATS: dict[str, PromptFormat] = {
    "mooncake": PromptFormat(MOONCAKE_BLOCK, lambda: _mooncake, has_hashes=True),
    "bailian": PromptFormat(BAILIAN_BLOCK, _bailian, has_hashes=True),
    "tokens": PromptFormat(TOKENS_BLOCK, _tokens),
    "azure": PromptFormat(TOKENS_BLOCK, _tokens, server_logs.azure_lines),
    "burstgpt": PromptFormat(TOKENS_BLOCK, _tokens, server_logs.burstgpt_lines),
    "vllm": PromptFormat(TOKENS_BLOCK, _tokens, server_logs.vllm_lines),
    "sglang": PromptFormat(TOKENS_BLOCK, _tokens, server_logs.sglang_lines),
    "otel": PromptFormat(TOKENS_BLOCK, _tokens, server_logs.otel_lines),
}


def _time(record: Record) -> float:
    time = record.get("timestamp")
    if isinstance(time, bool) or not isinstance(time, int | float) or not abs(time) < 1e15 or not isfinite(time):
        raise Malformed("no number `timestamp`")
    return float(time)


def _whole(record: Record, name: str, default: int | None = None) -> int:
    value = record.get(name, default)
    if type(value) is not int or not -(2**53) <= value <= 2**53:
        raise Malformed(f"no whole number `{name}`")
    return value


def _count(record: Record, name: str, default: int | None = None) -> int:
    value = _whole(record, name, default)
    if not 0 <= value <= MAX_TOKENS:
        raise Malformed(f"`{name}` is not a number of tokens")
    return value


def _ids(record: Record, name: str) -> list[int]:
    ids = record.get(name)
    if not isinstance(ids, list) or not all(type(each) is int for each in ids):
        raise Malformed(f"no list of whole numbers `{name}`")
    return ids
