"""What every exported cache keeps as a mapping, whatever its policy evicts or turns away."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

KEYS = st.integers(0, 12)


class MappingLaws(RuleBasedStateMachine):
    """What is in the cache is what a dictionary would have there; only the policy may take more away."""

    cache: Any
    model: dict[int, str]

    def asked(self) -> None:
        """Note a request, after which what the policy evicted is gone."""
        self.model = {key: value for key, value in self.model.items() if key in self.cache}

    @rule(key=KEYS)
    def look_up(self, key: int) -> None:
        if key in self.model:
            assert self.cache[key] == self.model[key]
        else:
            with pytest.raises(KeyError):
                self.cache[key]
        self.asked()

    @rule(key=KEYS)
    def get(self, key: int) -> None:
        hits, known = self.cache.hits, key in self.model
        assert self.cache.get(key, "absent") == self.model.get(key, "absent")
        assert self.cache.hits - hits == known
        self.asked()

    @rule(key=KEYS)
    def delete(self, key: int) -> None:
        if key in self.model:
            del self.cache[key]
            del self.model[key]
        else:
            with pytest.raises(KeyError):
                del self.cache[key]

    @rule(key=KEYS)
    def pop(self, key: int) -> None:
        assert self.cache.pop(key, "absent") == self.model.pop(key, "absent")
        with pytest.raises(KeyError):
            self.cache.pop(key)

    @rule()
    def pop_item(self) -> None:
        if self.model:
            key, value = self.cache.popitem()
            assert self.model.pop(key) == value
        else:
            with pytest.raises(KeyError, match="empty"):
                self.cache.popitem()

    @rule()
    def clear(self) -> None:
        self.cache.clear()
        self.model.clear()

    @invariant()
    def holds_what_it_says(self) -> None:
        if not hasattr(self, "cache"):
            return
        cache = self.cache
        before = cache.hits + cache.misses
        assert dict(cache.items()) == self.model
        assert list(cache) == list(cache.keys()) and set(cache) == set(self.model)
        assert sorted(map(str, cache.values())) == sorted(map(str, self.model.values()))
        assert len(cache) == len(self.model)
        assert cache.hits + cache.misses == before
        self.holds_more()

    def holds_more(self) -> None:
        """Assert what this cache says of itself besides; nothing by default."""
