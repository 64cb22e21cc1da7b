"""The exported `Cache` keeps the laws of a mapping, and of a cache of limited size."""

from __future__ import annotations

from functools import cache
from types import ModuleType

import pytest
from cache_formats import ADMISSION, QUEUES, exported, queue_policy, under
from effort import examples
from exported import POLICIES, TASK, export, load
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule
from mapping_laws import KEYS, MappingLaws


@cache
def module_of(name: str, mechanism: str = "sample") -> ModuleType:
    """The exported module of a policy; of the mechanism `queues` where there is one of that name."""
    is_of_queues = mechanism != "sample" and name in QUEUES
    return load(export(QUEUES[name] if is_of_queues else under(mechanism, POLICIES[name])))


class LikeADictionary(MappingLaws):
    """What is in the cache is what a dictionary would have there; only evictions and bypasses may take it away."""

    @initialize(
        name=st.sampled_from(sorted({*POLICIES, *QUEUES})),
        capacity=st.integers(1, 40),
        sample_size=st.integers(0, 4),
    )
    def start(self, name: str, capacity: int, sample_size: int) -> None:
        if sample_size and name in POLICIES:
            self.cache = module_of(name).Cache(capacity, sample_size=sample_size, getsizeof=len)
        else:
            self.cache = module_of(name, "heap").Cache(capacity, getsizeof=len)
        self.model = {}
        self.sizes: dict[int, int] = {}
        self.requests = 0

    def stored(self, key: int, value: str, size: int) -> None:
        self.model[key] = value
        self.sizes[key] = max(1, size)
        if self.sizes[key] > self.cache.maxsize:
            assert key not in self.cache
        self.model = {k: v for k, v in self.model.items() if k in self.cache}

    @rule(key=KEYS, size=st.integers(0, 45))
    def store(self, key: int, size: int) -> None:
        completes = key in self.cache._open
        self.cache[key] = "x" * size
        self.requests += not completes
        self.stored(key, "x" * size, size)

    @rule(key=KEYS, value=st.text(max_size=3), size=st.integers(0, 9))
    def put(self, key: int, value: str, size: int) -> None:
        completes = key in self.cache._open
        self.cache.put(key, value, size)
        self.requests += not completes
        self.stored(key, value, size)

    def asked(self) -> None:
        self.requests += 1

    @rule(key=KEYS, size=st.integers(0, 45))
    def request(self, key: int, size: int) -> None:
        self.requests += 1
        hit = self.cache.request(key, size)
        assert hit == (key in self.model)
        if not hit:
            self.stored(key, None, size)  # type: ignore[arg-type]

    @rule(key=KEYS)
    def set_default(self, key: int) -> None:
        self.requests += 1
        known = self.model.get(key, "d")
        assert self.cache.setdefault(key, "d") == known
        if key not in self.model:
            self.stored(key, "d", 1)

    @rule()
    def evict(self) -> None:
        if self.model:
            del self.model[self.cache.evict()]
        else:
            with pytest.raises(KeyError):
                self.cache.evict()

    def holds_more(self) -> None:
        cache = self.cache
        assert list(reversed(cache)) == list(cache)[::-1]
        assert cache._state.objects == len(self.model)
        assert cache.currsize == sum(self.sizes[key] for key in self.model) <= cache.maxsize
        assert cache.hits + cache.misses == self.requests
        if hasattr(cache, "_policy"):  # not of queues
            assert len(cache._policy.ghost._left) <= 40
        assert not cache._open.keys() & self.model.keys()
        for population in [v for name, v in vars(cache._state).items() if name.endswith("_population")]:
            assert population._live == len(self.model)


LikeADictionary.TestCase.settings = settings(max_examples=examples(150), stateful_step_count=40)
TestLikeADictionary = LikeADictionary.TestCase


def test_missed_keys_are_not_remembered_without_end() -> None:
    cache = module_of("lru").Cache(10)
    for key in range(5_000):
        cache.get(key)
    assert len(cache._open) == 1_024
    cache[0] = "long forgotten"
    assert cache.misses == 5_001


@pytest.mark.parametrize(
    ("arguments", "options"),
    [((0,), {}), ((-1,), {}), ((2**54,), {}), ((float("nan"),), {}),
     ((5,), {"sample_size": 0})],
)  # fmt: skip
def test_a_cache_that_cannot_be_is_refused(arguments: tuple[float, ...], options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"must be"):
        module_of("fifo").Cache(*arguments, **options)
    with pytest.raises(ValueError, match="capacity"):
        module_of("clock", "queues").Cache(0)


@pytest.mark.parametrize("size", [-1, float("nan"), 2**49])
def test_a_size_that_cannot_be_is_refused_and_changes_nothing(size: float) -> None:
    cache = module_of("rich").Cache(2**40)
    with pytest.raises(ValueError, match="a size must be"):
        cache.put("a", 1, size)
    assert (len(cache), cache.currsize, cache.misses) == (0, 0, 0)


def test_what_is_not_admitted_is_not_stored() -> None:
    cache = exported(ADMISSION["lru_by_frequency"], "python").Cache(2)
    cache.update({"a": 1, "b": 2, "c": 3})
    assert (dict(cache.items()), cache.bypassed) == ({"a": 1, "b": 2}, 1)
    assert cache.get("c", "not there") == "not there"
    assert cache.setdefault("a", 7) == 1
    cache.put("a", "larger than all", size=3)
    assert ("a" in cache, cache.bypassed) == (False, 2)


LETS_NOTHING_STAY = queue_policy(hit="2", tail="0", share="0 if queue == 2 else cache.capacity")


def test_a_hit_that_makes_its_object_leave_still_gives_the_value() -> None:
    cache = exported(LETS_NOTHING_STAY, "python").Cache(10)
    cache.put("a", 1)
    assert cache["a"] == 1
    assert "a" not in cache
    cache.put("b", 2)
    assert cache.get("b") == 2
    cache.put("c", 3)
    cache.put("c", 4)  # a request that hits: the object leaves, and its new value with it
    assert (cache.hits, cache.misses, len(cache), cache.currsize) == (3, 3, 0, 0)


def test_the_template_works_as_it_stands() -> None:
    module = load((TASK.directory / "export" / "python.py").read_text(encoding="utf-8"))
    cache = module.Cache(2)
    cache.update({"a": 1, "b": 2, "c": 3})
    assert list(cache) == ["b", "c"]
