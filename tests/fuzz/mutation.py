"""Changes good examples at random into what a careless or hostile author might hand in."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

MAX = 1 << 16
_EDGES = (0, 1, 0x7F, 0x80, 0xFF)


def mutated(examples: Sequence[bytes], words: Sequence[bytes], rng: random.Random) -> bytes:
    """One of the examples, changed in one to eight places; now and then no example at all."""
    if rng.random() < 0.02:
        return rng.randbytes(rng.randrange(200))
    if words and rng.random() < 0.05:
        return b"".join(rng.choices(words, k=rng.randrange(1, 60)))
    data = bytearray(rng.choice(examples))
    for _ in range(rng.randint(1, 8)):
        rng.choice(_CHANGES)(data, examples, words, rng)
    return bytes(data[:MAX])


def _place(data: bytearray, rng: random.Random) -> int:
    return rng.randrange(len(data) + 1)


def _flip(data: bytearray, _e: Sequence[bytes], _w: Sequence[bytes], rng: random.Random) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _edge(data: bytearray, _e: Sequence[bytes], _w: Sequence[bytes], rng: random.Random) -> None:
    if data:
        start = rng.randrange(len(data))
        data[start : start + rng.choice((1, 2, 4, 8))] = bytes([rng.choice(_EDGES)]) * rng.choice((1, 2, 4, 8))


def _cut(data: bytearray, _e: Sequence[bytes], _w: Sequence[bytes], rng: random.Random) -> None:
    start = _place(data, rng)
    del data[start : start + rng.randrange(1, 1 + max(1, len(data) // 2))]


def _end(data: bytearray, _e: Sequence[bytes], _w: Sequence[bytes], rng: random.Random) -> None:
    del data[_place(data, rng) :]


def _repeat(data: bytearray, _e: Sequence[bytes], _w: Sequence[bytes], rng: random.Random) -> None:
    start = _place(data, rng)
    piece = bytes(data[start : start + rng.randrange(1, 64)])
    data[start:start] = piece * rng.choice((1, 2, 10, 300))


def _word(data: bytearray, _e: Sequence[bytes], words: Sequence[bytes], rng: random.Random) -> None:
    start = _place(data, rng)
    data[start : start + rng.choice((0, 0, 1, 4))] = rng.choice(words) if words else b""


def _splice(data: bytearray, examples: Sequence[bytes], _w: Sequence[bytes], rng: random.Random) -> None:
    other = rng.choice(examples)
    data[_place(data, rng) :] = other[rng.randrange(len(other) + 1) :]


_DIGITS = re.compile(rb"\d+")
_NUMBERS = (b"0", b"-1", b"0.5", b"1e400", b"nan", b"-inf", b"9" * 20, b"9" * 400, b"9" * 5000)
"""Of the last three the first does not fit into 64 bits, the second into no float, and the third int() refuses."""


def _number(data: bytearray, _e: Sequence[bytes], _w: Sequence[bytes], rng: random.Random) -> None:
    if found := [match.span() for match in _DIGITS.finditer(data)]:
        start, end = rng.choice(found)
        data[start:end] = rng.choice(_NUMBERS)


_CHANGES: tuple[Callable[[bytearray, Sequence[bytes], Sequence[bytes], random.Random], None], ...] = (
    _flip, _flip, _edge, _cut, _end, _repeat, _word, _word, _word, _splice, _number,
)  # fmt: skip
