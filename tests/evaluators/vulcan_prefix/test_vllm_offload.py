"""Exported policies in vLLM's own offload to host memory find, request for request, what the simulator finds.

These need the package vllm with PyTorch, and are skipped without; `make test-serving` runs them.
"""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import Any

import pytest
from exported_modules import POLICIES, TASK, exported
from plain_prefix import serve

from vulcan.anvil import check
from vulcan_prefix.simulate import simulate
from vulcan_traces.prompts import PromptTrace, load_prompts

if importlib.util.find_spec("vllm") is None:
    pytest.skip("vllm is not installed: make test-serving", allow_module_level=True)

from vllm.v1.kv_offload.base import LookupResult, ReqContext, make_offload_key
from vllm.v1.kv_offload.cpu.manager import CPUOffloadingManager


class Clock:
    """The time of the simulation."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


class Offload:
    """A tree of `plain_prefix.serve`: vLLM's manager, told of requests as its connector tells it."""

    def __init__(self, trace: PromptTrace, capacity: int, policy: str, module: str | None, clock: Clock) -> None:
        self.manager = CPUOffloadingManager(capacity, policy, module)
        self.trace, self.clock = trace, clock
        self.requests: dict[int, ReqContext] = {}
        self.seconds, self.evictions = 0.0, 0

    def keys(self, request: ReqContext, blocks: list[int]) -> list[Any]:
        keys = [make_offload_key(block.to_bytes(8, "big"), 0) for block in blocks]
        for place, key in enumerate(keys):
            request.set_offload_key_position(key, (place + 1) * self.trace.block_tokens)
        return keys

    def match(self, now: float, blocks: list[int]) -> tuple[int, Any]:
        self.clock.now = now
        request = ReqContext(str(now))
        keys = self.keys(request, blocks)
        found = 0
        while found < len(keys) and self.manager.lookup(keys[found], request) is LookupResult.HIT:
            found += 1
        if found:
            self.manager.prepare_load(keys[:found], request)
        self.loading = request
        return found, (request, keys[:found])

    def insert(self, now: float, blocks: list[int], inserted: int, request: int) -> tuple[int, Any]:
        self.clock.now = now
        context = self.requests.setdefault(request, self.loading)
        keys = self.keys(context, blocks)
        stored = self.manager.prepare_store(keys[inserted:], context)
        assert stored is not None and not stored.evicted_keys
        self.manager.complete_store(stored.keys_to_store, context)
        if inserted or len(blocks) == len(keys[:inserted]):
            self.manager.on_request_finished(context)
        return len(keys) - len(stored.keys_to_store), (context, [])

    def pin(self, node: Any) -> None:
        """What a request loads is held by the manager."""

    def release(self, node: Any) -> None:
        request, loaded = node
        if loaded:
            self.manager.complete_load(loaded, request)

    def evictable(self) -> int:
        return self.manager._num_evictable_cache_chunks

    def evict(self, now: float, blocks: int, free: int) -> int:
        """Make room as the manager does when it stores, for the output and a last block that is not full too."""
        self.clock.now = now
        before = time.perf_counter()
        evicted = self.manager._policy.evict(blocks, set())
        self.seconds += time.perf_counter() - before
        self.evictions += 1
        assert evicted is not None and len(evicted) == blocks
        for _, chunk in evicted:
            self.manager._free_chunk(chunk)
        self.manager._num_evictable_cache_chunks -= blocks
        return blocks


def found_by(source: str, trace: PromptTrace, capacity: int, path: Path, patch: pytest.MonkeyPatch) -> list[int]:
    clock = Clock()
    module = exported(check('MECHANISM = "blocks"\n' + source, TASK), "vllm-offload", path, "policy")
    patch.setattr(module, "time", clock)
    return served(Offload(trace, capacity, "PolicyCachePolicy", module.__name__, clock), trace, capacity)


def served(tree: Offload, trace: PromptTrace, capacity: int) -> list[int]:
    found, _ = serve(trace, tree, capacity, load=0.5, decode_ms=0.0)  # chunks are held while they are copied alone
    assert tree.evictions
    name = type(tree.manager._policy).__name__
    print(f"{name}: {sum(found):,} chunks found, {1e3 * tree.seconds / tree.evictions:.2f} ms an eviction")
    return found


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("share", [0.03, 0.1])
def test_an_exported_policy_finds_the_same_chunks_at_every_request(
    name: str, share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = load_prompts("mix:requests=1200,seed=11")
    capacity = int(share * trace.block_count)
    policy = check('MECHANISM = "blocks"\n' + POLICIES[name], TASK)
    ours = simulate(policy, trace, capacity * trace.block_tokens, load=0.5, decode_ms=0.0).found.tolist()
    assert found_by(POLICIES[name], trace, capacity, tmp_path, monkeypatch) == ours


@pytest.mark.slow
@pytest.mark.parametrize(("name", "share"), [("features", 0.005), ("state", 0.02), ("statistics", 0.05)])
def test_an_exported_policy_finds_the_same_chunks_of_a_recorded_trace(
    name: str, share: float, mooncake: PromptTrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capacity = int(share * mooncake.block_count)
    policy = check('MECHANISM = "blocks"\n' + POLICIES[name], TASK)
    ours = simulate(policy, mooncake, capacity * mooncake.block_tokens, load=0.5, decode_ms=0.0).found.tolist()
    assert found_by(POLICIES[name], mooncake, capacity, tmp_path, monkeypatch) == ours
