"""Requests to a language-model server as blocks of tokens."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Key = int | tuple[int, ...]

MAX_TOKENS = 2**31
"""Most tokens of a prompt, and of an output."""


@dataclass(frozen=True, eq=False)
class PromptTrace:
    """Requests in order of arrival.

    `blocks[starts[i]:starts[i + 1]]` are the full blocks of request `i`, of `block_tokens` tokens each: first the
    `prompt_blocks[i]` of its prompt, then those that its output fills. A block's number identifies it together with all
    blocks before it, so equal numbers mean equal prefixes; numbers are dense, from 0.

    `arrivals` are in seconds from the first one. `sessions` and `turns` (from 1) are 0 and 1 where the log does not
    say, and `ends` is 1 for a request that is known to be the last of its session; `kinds` index `kind_names`, of which
    the first is "", for none recorded.
    """

    name: str
    block_tokens: int
    arrivals: NDArray[np.float64]
    prompt_tokens: Integers
    output_tokens: Integers
    starts: Integers
    blocks: Integers
    prompt_blocks: Integers
    sessions: Integers
    turns: Integers
    ends: Integers
    kinds: Integers
    priorities: Integers
    kind_names: tuple[str, ...] = ("",)

    @property
    def requests(self) -> int:
        return len(self.arrivals)

    @cached_property
    def block_count(self) -> int:
        """Number of different blocks."""
        return int(self.blocks.max()) + 1 if len(self.blocks) else 0

    @property
    def footprint(self) -> int:
        """Tokens of all different blocks, outputs included."""
        return self.block_count * self.block_tokens

    def first(self, count: int) -> PromptTrace:
        """Return its first requests."""
        if count >= self.requests:
            return self
        of_requests = (
            "arrivals", "prompt_tokens", "output_tokens", "prompt_blocks", "sessions", "turns", "ends", "kinds",
            "priorities",
        )  # fmt: skip
        return replace(
            self,
            starts=self.starts[: count + 1],
            blocks=self.blocks[: self.starts[count]],
            **{name: getattr(self, name)[:count] for name in of_requests},
        )

    @cached_property
    def digest(self) -> str:
        """Identifies the content."""
        found = hashlib.sha256(f"prompts 2 {self.block_tokens}".encode())
        for column in fields(self)[2:-1]:
            found.update(np.ascontiguousarray(getattr(self, column.name)).tobytes())
        return found.hexdigest()[:32]


_Row = tuple[float, int, int, list[Key] | None, list[Key] | None, int, int | None, bool, str, int]


@dataclass
class PromptTraceBuilder:
    """Collects requests in any order and numbers their blocks.

    A block's key may be a hash of the block alone or of the whole prefix, or its tokens: it is numbered together with
    the number of the block before it.
    """

    name: str
    block_tokens: int
    _rows: list[_Row] = field(default_factory=list)

    def add(
        self,
        time: float,
        prompt_tokens: int,
        output_tokens: int,
        prompt: list[Key] | None,
        output: list[Key] | None = None,
        *,
        session: int = 0,
        turn: int | None = 1,
        ends: bool = False,
        kind: str = "",
        priority: int = 0,
    ) -> None:
        """Add a request with the keys of the full blocks of its prompt, and of its output where they are known.

        `output` begins with the block that the end of the prompt and the beginning of the output share. Blocks of an
        unknown output are different from all others; so are those of an unknown prompt, but that one that is longer
        than the session's last prompt and output begins with these. Without a `turn`, it is one more than that of the
        request whose whole prompt this one's begins with, of two blocks at least; 1 where there is none.
        """
        self._rows.append((time, prompt_tokens, output_tokens, prompt, output, session, turn, ends, kind, priority))

    def lengths(self) -> tuple[Integers, Integers]:
        """Return tokens and blocks of each prompt."""
        return np.array([row[1] for row in self._rows], np.int64), np.array(
            [len(row[3] or ()) for row in self._rows], np.int64
        )

    @property
    def requests(self) -> int:
        return len(self._rows)

    def build(self) -> PromptTrace:
        rows = sorted(self._rows, key=lambda row: row[0])
        numbers: dict[tuple[int, Key], int] = {}
        count = 0
        blocks: list[int] = []
        starts, full = [0], []
        turns: list[int] = []
        turn_at: dict[int, int] = {}
        kinds: dict[str, int] = {"": 0}
        last: dict[int, list[int]] = {}  # by session, the blocks of its last request
        for _, prompt_tokens, output_tokens, prompt, output, session, turn, _, kind, _ in rows:
            known = (prompt or [])[: prompt_tokens // self.block_tokens]
            full.append(len(known) if prompt is not None else prompt_tokens // self.block_tokens)
            total = (prompt_tokens + output_tokens) // self.block_tokens
            if prompt is None and session and len(begin := last.get(session, [])) <= full[-1]:
                blocks.extend(begin)
            before = -1
            for key in known + (output or [])[: total - len(known)]:
                number = numbers.get((before, key))
                if number is None:
                    number = numbers[before, key] = count
                    count += 1
                blocks.append(number)
                before = number
            own = blocks[starts[-1] : starts[-1] + len(known)]
            before = next((turn_at[number] for number in reversed(own) if number in turn_at), 0)
            turns.append(before + 1 if turn is None else turn)
            if len(own) > 1:
                turn_at[own[-1]] = turns[-1]
            unknown = total - (len(blocks) - starts[-1])
            blocks.extend(range(count, count + unknown))
            count += unknown
            if session and prompt is None:
                last[session] = blocks[starts[-1] :]
            starts.append(len(blocks))
            kinds.setdefault(kind, len(kinds))
        first = rows[0][0] if rows else 0.0

        def column(index: int) -> Integers:
            return np.array([row[index] for row in rows], np.int64)

        return PromptTrace(
            self.name,
            self.block_tokens,
            np.array([row[0] - first for row in rows], np.float64),
            column(1),
            column(2),
            np.array(starts, np.int64),
            np.array(blocks, np.int64),
            np.array(full, np.int64),
            column(5),
            np.array(turns, np.int64),
            column(7),
            np.array([kinds[row[8]] for row in rows], np.int64),
            column(9),
            tuple(kinds),
        )
