"""Random uses of exported caches that follow one of several policies, and what holds of these caches at any time."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Steps = list[tuple[str, int, int]]
STEPS: st.SearchStrategy[Steps] = st.lists(
    st.tuples(st.sampled_from("rpgdxs"), st.integers(0, 12), st.integers(1, 30)), max_size=120
)
"""Uses of a mapping: what is done, a key and a size."""


def check_uses(cache: Any, steps: Steps) -> None:
    """Use a cache of 40 so, and check after each step what holds of every such cache."""
    for step, key, size in steps:
        if step == "r":
            cache.request(key, size)
        elif step == "p":
            cache.put(key, size, size)
        elif step == "g":
            cache.get(key)
        elif step == "d":
            cache.pop(key, None)
        elif step == "x" and len(cache):
            cache.popitem()
        elif step == "s" and key == 0:
            cache.clear()
        assert cache.currsize == sum(obj.size for obj in cache._objects.values()) <= 40
        followed = cache._policies[cache._followed]
        assert set(cache._strays) == {key for key in cache if key not in followed}
        for policy, lacks in zip(cache._policies, cache._lacks, strict=True):
            assert set(lacks) == {key for key in policy if key not in cache}
            assert lacks.total == sum(lacks.values())
