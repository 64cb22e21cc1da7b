"""An exported class of diskcache has the hits of the simulator in the same places, and takes over a directory."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path

import pytest
from cache_formats import CASES, RANKED, made, requests, simulated
from effort import few

pytest.importorskip("diskcache")

FORMAT = "diskcache"


def read_through(cache, objects, sizes) -> list[bool]:
    """Look up, and store what is missing; a value is its own size."""
    hits = []
    for key, size in zip(objects.tolist(), sizes.tolist(), strict=True):
        hits.append(cache.get(f"object {key}") == size)
        if not hits[-1]:
            assert cache.set(f"object {key}", size) == (f"object {key}" in cache)
    return hits


@pytest.mark.parametrize("name", few(list(CASES), 6))
def test_the_class_has_the_misses_of_the_simulator(name: str, tmp_path: Path) -> None:
    objects, sizes = requests(500, 150, seed=5)
    with made(CASES[name], FORMAT, 5_000, directory=tmp_path, size_of=lambda size: size) as cache:
        cache.stats(enable=True)
        hits = read_through(cache, objects, sizes)
        assert cache.stats() == (sum(hits), len(hits) - sum(hits))
        assert sum(cache.get(key, 0) for key in list(cache)) <= 5_000
    for end in (250, len(hits)):
        expected, _ = simulated(CASES[name], objects[:end], sizes[:end], 5_000)
        assert end - sum(hits[:end]) == expected


def test_what_was_stored_before_is_the_policys_too(tmp_path: Path) -> None:
    def opened(capacity: int):
        return made(RANKED["lru"], FORMAT, capacity, directory=tmp_path)

    with opened(20) as cache:
        for key in range(20):
            cache[key] = str(key)
    with opened(12) as cache:
        assert sorted(cache) == list(range(8, 20)) and cache[8] == "8"
        assert cache.add(99, "new") and not cache.add(99, "newer") and 9 not in cache and 8 in cache
        assert cache.pop(8) == "8" and cache.get(8, "gone") == "gone"
        del cache[99]
        cache.set("short", "lived", expire=-1)
        assert cache.get("short") is None and len(cache) <= 12
        cache.incr("count")
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(cache)
        cache.clear()
        assert len(cache) == 0 and cache.set(1, 1) and list(cache) == [1]


def test_a_function_is_remembered(tmp_path: Path) -> None:
    objects, sizes = requests(300, 60, seed=4)
    called: list[int] = []
    with made(RANKED["gdsf"], FORMAT, 20, directory=tmp_path) as cache:

        @cache.memoize()
        def doubled(number: int) -> int:
            called.append(number)
            return 2 * number

        assert [doubled(number) for number in objects.tolist()] == [2 * number for number in objects.tolist()]
    expected, _ = simulated(RANKED["gdsf"], objects, sizes * 0 + 1, 20)
    assert len(called) == expected
    assert all(first != second for first, second in pairwise(called))
