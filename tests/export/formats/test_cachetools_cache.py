"""An exported class of cachetools keeps that package's laws, and has the hits of the simulator in the same places."""

from __future__ import annotations

import copy
import pickle
import sys
from threading import Lock

import numpy as np
import pytest
from cache_formats import CASES, RANKED, made, requests, simulated, text_of
from effort import examples, few
from exported import load
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule
from mapping_laws import KEYS, MappingLaws

cachetools = pytest.importorskip("cachetools")
keys = pytest.importorskip("cachetools.keys")

FORMAT = "cachetools"


def read_through(cache, objects, sizes) -> list[bool]:
    """Look up, and store what is missing; a value is its own size."""
    hits = []
    for key, size in zip(objects.tolist(), sizes.tolist(), strict=True):
        try:
            assert cache[f"object {key}"] == size
            hits.append(True)
        except KeyError:
            hits.append(False)
            try:
                cache[f"object {key}"] = size
            except ValueError as error:
                assert size > cache.maxsize and str(error) == "value too large"
    return hits


@pytest.mark.parametrize("name", few(list(CASES), 10))
def test_the_class_has_the_misses_of_the_simulator(name: str) -> None:
    objects, sizes = requests(900, 250, seed=5)
    source = CASES[name]
    for capacity in (100_000, 5_000):
        cache = made(source, FORMAT, capacity, getsizeof=lambda size: size)
        hits = read_through(cache, objects, sizes)
        assert (cache.hits, cache.misses) == (sum(hits), len(hits) - sum(hits))
        assert cache.currsize == sum(cache.values()) <= capacity
        for end in (500, len(hits)):
            expected, _ = simulated(source, objects[:end], sizes[:end], capacity)
            assert end - sum(hits[:end]) == expected


@pytest.mark.parametrize("name", ["lfu sample", "lru_by_frequency heap", "s3_fifo queues"])
def test_a_function_is_remembered(name: str) -> None:
    """`cachetools.cached`, with a lock and without: the function is called for the misses of the simulator."""
    objects, sizes = requests(800, 150, seed=4)
    units = np.ones_like(sizes)
    source = CASES[name]
    expected, _ = simulated(source, objects, units, 40)
    for how in ({}, {"lock": Lock()}, {"key": keys.typedkey}, {"info": True}):
        cache = made(source, FORMAT, 40)
        called = []

        @cachetools.cached(cache, **how)
        def doubled(number: int, called: list[int] = called) -> int:
            called.append(number)
            return 2 * number

        assert [doubled(number) for number in objects.tolist()] == [2 * number for number in objects.tolist()]
        assert len(called) == expected
        assert len(cache) <= 40
        if "info" in how:
            info = doubled.cache_info()
            assert (info.hits, info.misses, info.maxsize) == (800 - expected, expected, 40)
            doubled.cache_clear()
            assert len(cache) == cache.currsize == 0


def test_a_subclass_may_make_what_is_missing() -> None:
    module = load(text_of(RANKED["lru"], FORMAT))

    class Squares(module.PolicyCache):  # type: ignore[name-defined,misc]
        def __missing__(self, key: int) -> int:
            self[key] = key**2
            return key**2

    squares = Squares(3)
    assert [squares[n] for n in (1, 2, 3, 1, 4)] == [1, 4, 9, 1, 16]
    assert (squares.hits, squares.misses, len(squares), squares.get(99)) == (1, 4, 3, None)


def test_it_is_pickled_whole_and_not_copied() -> None:
    module = load(text_of(RANKED["gdsf"], FORMAT), "made_for_pickling")
    sys.modules[module.__name__] = module
    try:
        cache = module.PolicyCache(20)
        for key in range(50):
            cache.get(key % 23)
            cache[key % 23] = key
        twin = pickle.loads(pickle.dumps(cache))
        assert twin == cache
        for one in (cache, twin):
            one["more"] = 1
        assert twin == cache and len(twin) == 20
        assert twin.popitem() == cache.popitem()
    finally:
        del sys.modules[module.__name__]
    with pytest.raises(TypeError, match="cannot be copied"):
        copy.copy(cache)


class KeepsTheLaws(MappingLaws):
    """What is in the cache is what a dictionary would have there; what the policy evicts or turns away may be gone."""

    @initialize(
        name=st.sampled_from(sorted(CASES)),
        maxsize=st.one_of(st.integers(0, 30), st.floats(1.5, 30.0)),
    )
    def start(self, name: str, maxsize: float) -> None:
        self.cache = made(CASES[name], FORMAT, maxsize, getsizeof=len)
        assert isinstance(self.cache, cachetools.Cache) and self.cache.maxsize == maxsize
        self.always_lets_in = "def admit" not in CASES[name] and "def insert" not in CASES[name]
        self.model = {}

    @rule(key=KEYS, size=st.integers(0, 35))
    def store(self, key: int, size: int) -> None:
        value = "x" * size
        if size > self.cache.maxsize:
            with pytest.raises(ValueError, match="value too large"):
                self.cache[key] = value
            return
        known = key in self.model
        self.model[key] = value
        self.cache[key] = value
        if self.always_lets_in and not known:
            assert key in self.cache
        self.asked()

    @rule(key=KEYS, size=st.integers(0, 3))
    def set_default(self, key: int, size: int) -> None:
        if key not in self.model and size > self.cache.maxsize:
            with pytest.raises(ValueError, match="value too large"):
                self.cache.setdefault(key, "d" * size)
            return
        expected = self.model.setdefault(key, "d" * size)
        assert self.cache.setdefault(key, "d" * size) == expected
        self.asked()

    @rule(pairs=st.dictionaries(KEYS, st.text(max_size=2), max_size=4))
    def update(self, pairs: dict[int, str]) -> None:
        if any(len(value) > self.cache.maxsize for value in pairs.values()):
            return
        self.cache.update(pairs)
        self.model.update(pairs)
        self.asked()

    def holds_more(self) -> None:
        cache = self.cache
        assert cache == self.model
        assert cache.currsize == sum(map(len, self.model.values())) <= cache.maxsize
        twin = cache._PolicyCache__twin
        assert set(twin) == set(self.model) and not twin.left


KeepsTheLaws.TestCase.settings = settings(max_examples=examples(60), stateful_step_count=30)
TestKeepsTheLaws = KeepsTheLaws.TestCase
