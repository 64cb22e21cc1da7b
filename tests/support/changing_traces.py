"""Generated requests that keep their character, and some that change it."""

from __future__ import annotations

import random
from collections.abc import Callable

REQUESTS = 60_000
_IDS = range(2_000)
_WEIGHTS = [1 / (i + 1) for i in _IDS]


def _hot(rng: random.Random, count: int, offset: int = 0) -> list[int]:
    return [offset + i for i in rng.choices(_IDS, _WEIGHTS, k=count)]


def _moving(rng: random.Random, count: int) -> list[int]:
    """A working set that moves: an object is asked for some times, and then never again."""
    return [1_000_000 + k // 20 + rng.randrange(200) for k in range(count)]


def _change(share: float) -> Callable[[random.Random], list[int]]:
    first = round(share * REQUESTS)
    return lambda rng: _hot(rng, first) + _moving(rng, REQUESTS - first)


def _new_set(rng: random.Random) -> list[int]:
    first = round(0.6 * REQUESTS)
    return _hot(rng, first) + _hot(rng, REQUESTS - first, 500_000)


def _drift(rng: random.Random) -> list[int]:
    """From popularity that stays to a working set that moves, little by little."""
    hot, moving = _hot(rng, REQUESTS), _moving(rng, REQUESTS)
    return [m if rng.random() < n / REQUESTS else h for n, (h, m) in enumerate(zip(hot, moving, strict=True))]


def _scans(rng: random.Random) -> list[int]:
    """Popular objects, and scans of objects that are read once, throughout."""
    requests: list[int] = []
    scanned = 2_000_000
    while len(requests) < REQUESTS:
        requests += _hot(rng, rng.randrange(300, 900))
        length = rng.randrange(100, 500)
        requests += range(scanned, scanned + length)
        scanned += length
    return requests[:REQUESTS]


TRACES: dict[str, Callable[[random.Random], list[int]]] = {
    "popularity": lambda rng: _hot(rng, REQUESTS),
    "scans": _scans,
    "change at 60 %": _change(0.6),
    "change at 80 %": _change(0.8),
    "drift": _drift,
    "new working set": _new_set,
}
