"""SGLang's own `RadixCache` and `UnifiedRadixCache` behind the modelled server; run by `make test-sglang`."""

from __future__ import annotations

import time
from array import array
from typing import Any

import numpy as np
import torch
from sglang_without_gpu import import_sglang

from vulcan_prefix.simulate import TLRU_ESTIMATE, TLRU_THRESHOLD
from vulcan_traces.prompts import PromptTrace

import_sglang()

import sglang.srt.mem_cache.radix_cache as radix_module  # noqa: E402
import sglang.srt.mem_cache.unified_radix_cache as unified_module  # noqa: E402
from sglang.srt.mem_cache.base_prefix_cache import EvictParams, InsertParams, MatchPrefixParams  # noqa: E402
from sglang.srt.mem_cache.cache_init_params import CacheInitParams  # noqa: E402
from sglang.srt.mem_cache.radix_cache import RadixCache, RadixKey  # noqa: E402
from sglang.srt.mem_cache.unified_cache.components import ComponentType  # noqa: E402

unified_module.page_interleave_shard_size = lambda allocator: 1  # of an allocator that is not there


TLRU = {"threshold": int(TLRU_THRESHOLD), "next_prompt_estimate": int(TLRU_ESTIMATE)}


class Clock:
    """The time of the simulation; each reading is later than the one before, as a monotonic clock's."""

    perf_counter = staticmethod(time.perf_counter)

    def __init__(self) -> None:
        self.now = 0.0
        self._last = 0.0

    def monotonic(self) -> float:
        self._last = max(self._last + 1e-9, self.now)
        return self._last


class Allocator:
    """Counts free tokens, as SGLang's allocators do."""

    device = torch.device("cpu")

    def __init__(self, tokens: int) -> None:
        self.free = tokens

    def available_size(self) -> int:
        return self.free

    def free_segment(self, indices: torch.Tensor, start_pos: int) -> None:
        self.free += len(indices)


class SglangTree:
    """A tree of `plain_prefix.serve`. A block is a page of `block_tokens` tokens, each with the block's number."""

    def __init__(self, trace: PromptTrace, capacity: int, policy: str, clock: Clock) -> None:
        self.trace, self.clock, self.size = trace, clock, trace.block_tokens
        self.allocator = Allocator(capacity * self.size)
        self.cache = self.make(
            CacheInitParams(
                disable=False,
                req_to_token_pool=None,
                token_to_kv_pool_allocator=self.allocator,
                page_size=self.size,
                eviction_policy=policy,
                eviction_policy_config=TLRU if policy == "tlru" else None,
            )
        )
        self.computed: set[int] = set()
        self.ended: set[int] = set()
        self.last: dict[int, int] = {}
        self.inserting: int | None = None
        self.seconds = 0.0
        self.evictions = 0
        self.decisions = 0

    def make(self, params: CacheInitParams) -> Any:
        radix_module.TreeNode.counter = 0  # nodes are numbered as in a process of its own
        return RadixCache(params)

    def leaves(self) -> int:
        return len(self.cache.evictable_leaves)

    def key(self, blocks: list[int]) -> RadixKey:
        tokens = array("q")
        tokens.frombytes(np.repeat(np.array(blocks, np.int64), self.size).tobytes())
        return RadixKey(tokens)

    def match(self, now: float, blocks: list[int]) -> tuple[int, Any]:
        self.clock.now = now
        found = self.cache.match_prefix(MatchPrefixParams(key=self.key(blocks)))
        return found.device_prefix_len // self.size, found.last_device_node

    def insert(self, now: float, blocks: list[int], inserted: int, request: int) -> tuple[int, Any]:
        self.clock.now = now
        key = self.key(blocks)
        self.inserting = request
        result = self.cache.insert(
            InsertParams(
                key=key,
                value=torch.zeros(len(key), dtype=torch.int64),
                inserted_len=inserted * self.size,
                priority=int(self.trace.priorities[request]),
            )
        )
        self.inserting = None
        node = result.last_device_node
        self.remember(self.node(node), len(key), inserted * self.size, request)
        if request in self.computed and self.trace.ends[request]:
            self.ended.add(int(self.trace.sessions[request]))
        self.computed.add(request)
        return result.prefix_len // self.size, node

    def node(self, handle: Any) -> Any:
        return handle

    def remember(self, node: Any, end: int, inserted: int, request: int) -> None:
        """That the request went through the nodes that end after `inserted`, this one and those above it."""
        while end > inserted:
            self.last[node.id] = request
            end -= len(node.key)
            node = node.parent

    def describe(self, node: Any) -> tuple[int, int, bool]:
        """See `PolicyStrategy`; the upper part of a node that was split is what the lower one is."""
        if self.inserting is not None:
            return int(self.trace.turns[self.inserting]), int(self.trace.kinds[self.inserting]), False
        while node.id not in self.last and node.children:
            node = next(iter(node.children.values()))
        request = self.last.get(node.id, 0)
        session = int(self.trace.sessions[request])
        return int(self.trace.turns[request]), int(self.trace.kinds[request]), session in self.ended

    def pin(self, node: Any) -> None:
        self.cache.inc_lock_ref(node)

    def release(self, node: Any) -> None:
        self.cache.dec_lock_ref(node)

    def evictable(self) -> int:
        return self.cache.evictable_size() // self.size

    def evict(self, now: float, blocks: int, free: int) -> int:
        self.clock.now = now
        self.allocator.free = free * self.size
        before = time.perf_counter()
        self.decisions += self.leaves()
        done = self.cache.evict(EvictParams(num_tokens=blocks * self.size))
        self.seconds += time.perf_counter() - before
        self.evictions += 1
        return done.num_tokens_evicted // self.size


class UnifiedTree(SglangTree):
    """The same with a `UnifiedRadixCache`, SGLang's default, whose tree is in Rust for SGLang's own strategies."""

    def __init__(self, trace: PromptTrace, capacity: int, policy: str, clock: Clock) -> None:
        self.receipts: dict[int, list[Any]] = {}
        super().__init__(trace, capacity, policy, clock)

    def make(self, params: CacheInitParams) -> Any:
        params.tree_components = (ComponentType.FULL,)
        return unified_module.UnifiedRadixCache(params)

    def node(self, handle: Any) -> Any:
        core = self.cache.tree_core
        return core.node_by_id(handle) if hasattr(core, "eviction_strategy") else None  # the tree in Rust has no nodes

    def remember(self, node: Any, end: int, inserted: int, request: int) -> None:
        if node is not None:
            super().remember(node, end, inserted, request)

    def leaves(self) -> int:
        return len(getattr(self.cache.tree_core, "evictable_device_leaves", ()))

    def pin(self, node: Any) -> None:
        self.receipts.setdefault(node, []).append(self.cache.inc_lock_ref(node))

    def release(self, node: Any) -> None:
        self.cache.dec_lock_ref(node, self.receipts[node].pop().to_dec_params())


def use_clock() -> Clock:
    """Have SGLang read the time of a new simulation."""
    clock = Clock()
    radix_module.time = clock
    return clock
