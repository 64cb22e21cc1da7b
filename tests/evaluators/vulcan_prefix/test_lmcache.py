"""Exported policies in LMCache's own cache in host memory.

These need the package lmcache with PyTorch, and are skipped without; `make test-sglang` runs them.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from exported_modules import TASK, exported

from vulcan.anvil import check

if importlib.util.find_spec("lmcache") is None:
    pytest.skip("lmcache is not installed: make test-sglang", allow_module_level=True)

import torch
from lmcache.utils import CacheEngineKey
from lmcache.v1.config import LMCacheEngineConfig
from lmcache.v1.memory_allocators.mixed_memory_allocator import MixedMemoryAllocator
from lmcache.v1.pin_monitor import PinMonitor
from lmcache.v1.storage_backend.local_cpu_backend import LocalCPUBackend

ROOM = 12
CHUNK = torch.Size([2, 1, 256, 8])
BYTES = 2 * 256 * 8 * 2


class Cache:
    """LMCache's `LocalCPUBackend` with room for some chunks, used as its engine uses it."""

    made: ClassVar[list[LocalCPUBackend]] = []

    def __init__(self, policy: str) -> None:
        config = LMCacheEngineConfig.from_defaults(cache_policy=policy, local_cpu=True)
        PinMonitor.GetOrCreate(config)
        self.backend = LocalCPUBackend(config, memory_allocator=MixedMemoryAllocator(ROOM * BYTES))
        self.made.append(self.backend)

    def key(self, chunk: int) -> CacheEngineKey:
        return CacheEngineKey("model", 1, 0, chunk, torch.float16)

    def use(self, chunks: list[int]) -> None:
        """Look the chunks of a prompt up, as far as they are there, and store the rest."""
        keys = [self.key(chunk) for chunk in chunks]
        found = 0
        while found < len(keys) and self.backend.contains(keys[found], pin=True):
            found += 1
        self.backend.touch_cache()
        for key in keys[found:]:
            chunk = self.backend.allocate(CHUNK, torch.float16, busy_loop=False)
            if chunk is not None:  # all others are pinned
                self.backend.submit_put_task(key, chunk)
                chunk.ref_count_down()
        for key in keys[:found]:
            self.backend.unpin(key)

    @property
    def chunks(self) -> list[int]:
        return sorted(key.chunk_hash for key in self.backend.hot_cache)


def prompts(seed: int, count: int = 300) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [[100 * int(rng.zipf(1.5) % 12) + i for i in range(int(rng.integers(1, 5)))] for _ in range(count)]


@pytest.fixture(autouse=True)
def _emptied() -> Iterator[None]:
    """Free what caches hold at the end, which LMCache warns about otherwise."""
    yield
    while Cache.made:
        backend = Cache.made.pop()
        for key in list(backend.hot_cache):
            backend.remove(key)


def module_of(source: str, directory: Path, name: str) -> Any:
    return exported(check(source, TASK), "lmcache", directory, name)


def test_lru_written_as_a_policy_keeps_what_its_own_keeps(tmp_path: Path) -> None:
    module_of("def priority(now, node, server):\n    return node.last_access\n", tmp_path, "lru").register("VULCAN_LRU")
    theirs, ours = Cache("LRU"), Cache("VULCAN_LRU")
    for chunks in prompts(1):
        theirs.use(chunks)
        ours.use(chunks)
        assert ours.chunks == theirs.chunks
    assert len(ours.chunks) == ROOM


def test_a_policy_with_statistics_and_state_is_told_what_happens(tmp_path: Path) -> None:
    source = """
class policy:
    hits = 0.0
    inserted = 0.0
    evicted = 0.0

def on_hit(now, node, server):
    policy.hits += 1.0

def on_insert(now, node, server):
    policy.inserted += 1.0

def on_evict(now, node, server):
    policy.evicted += 1.0

def priority(now, node, server):
    return node.hits + 1e-9 * node.gap.ewma(0.5) + 1e-12 * (policy.hits + server.leaves)
"""
    module_of(source, tmp_path, "state").register("VULCAN_STATE")
    cache = Cache("VULCAN_STATE")
    hits = 0
    for chunks in prompts(2):
        before = set(cache.chunks)
        cache.use(chunks)
        hits += next((i for i, chunk in enumerate(chunks) if chunk not in before), len(chunks))
    server = cache.backend.cache_policy.policy.server
    assert server.hits_ == hits
    assert server.inserted_ - server.evicted_ == len(cache.chunks) == ROOM
    kept = cache.chunks[0]
    cache.backend.remove(cache.key(kept))
    assert server.inserted_ - server.evicted_ == len(cache.chunks) == ROOM - 1


def test_a_pinned_chunk_stays(tmp_path: Path) -> None:
    module_of("def priority(now, node, server):\n    return node.hits\n", tmp_path, "pin").register("VULCAN_PIN")
    cache = Cache("VULCAN_PIN")
    cache.use([7])
    assert cache.backend.pin(cache.key(7))
    for chunk in range(100, 160):
        cache.use([chunk, chunk])
    assert 7 in cache.chunks
