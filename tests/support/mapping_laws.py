"""What every exported cache keeps as a mapping, whatever its policy evicts or turns away."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

KEYS = st.integers(0, 12)
LAWS = settings(deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])


class MappingLaws(RuleBasedStateMachine):
    """What is in the cache is what a dictionary would have there; only the policy may take more away."""

    cache: Any
    model: dict[int, str]

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
