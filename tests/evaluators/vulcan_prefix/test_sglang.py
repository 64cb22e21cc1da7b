"""SGLang's own caches, with its own strategies and with exported policies, find what the simulator finds.

These need the package sglang with PyTorch, and are skipped without; `make test-sglang` runs them.
"""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from exported_modules import POLICIES as SHARED
from exported_modules import TASK, exported
from locations import recorded_run
from plain_prefix import serve

from vulcan import load
from vulcan.anvil import Policy, check
from vulcan_prefix.simulate import simulate
from vulcan_traces.prompts import PromptTrace, load_prompts

if importlib.util.find_spec("sglang") is None:
    pytest.skip("sglang is not installed: make test-sglang", allow_module_level=True)

from sglang_replay import CacheInitParams, SglangTree, UnifiedTree, use_clock

POLICIES = {
    **SHARED,
    "requests": """
def priority(now, node, server):
    idle = now - node.last_access
    lasting = (1.0 + node.turn) ** 0.5 * (1.0 + 0.1 * node.children + 0.3 * (node.kind == 2.0))
    return -(idle + 50.0) * (1.0 + 50.0 * node.ended) / lasting
""",
    "events of requests": """
class policy:
    reuse = [0.5] * 64

class node:
    bucket = 0.0

def on_insert(now, node, server):
    node.bucket = 4.0 * min(node.turn, 15) + node.kind

def on_hit(now, node, server):
    policy.reuse[node.bucket] = policy.reuse[node.bucket] * 0.98 + 0.02
    node.bucket = 4.0 * min(node.turn, 15) + node.kind

def on_evict(now, node, server):
    policy.reuse[node.bucket] = policy.reuse[node.bucket] * 0.98

def priority(now, node, server):
    return node.last_access + 300.0 * policy.reuse[node.bucket] * (1.0 - node.ended)
""",
    "returning": TASK.seed_policies()["returning"],
}


@pytest.fixture(scope="module")
def trace() -> PromptTrace:
    return load_prompts("mix:requests=1200,seed=11")


def replayed(tree: SglangTree, trace: PromptTrace, capacity: int) -> list[int]:
    """Blocks found at every request by SGLang, which evicted something."""
    found, waits = serve(trace, tree, capacity, load=0.5)
    assert tree.evictions
    assert len(waits) == len(found)
    return found


@pytest.mark.parametrize("name", ["lru", "lfu", "fifo", "slru", "priority"])
@pytest.mark.parametrize("share", [0.05, 0.15])
@pytest.mark.parametrize("cache", [SglangTree, UnifiedTree])
def test_its_own_strategies_find_the_same_tokens_at_every_request(
    name: str, share: float, cache: type[SglangTree], trace: PromptTrace
) -> None:
    capacity = int(share * trace.block_count)
    found = replayed(cache(trace, capacity, name, use_clock()), trace, capacity)
    assert simulate(name, trace, capacity * trace.block_tokens, load=0.5).found.tolist() == found


def test_t_lru_of_its_unified_cache_finds_the_same_tokens_at_every_request(trace: PromptTrace) -> None:
    capacity = int(0.1 * trace.block_count)
    found = replayed(UnifiedTree(trace, capacity, "tlru", use_clock()), trace, capacity)
    assert simulate("tlru", trace, capacity * trace.block_tokens, load=0.5).found.tolist() == found


def with_exported(
    policy: Policy, name: str, cache: type[SglangTree], trace: PromptTrace, capacity: int, folder: Path
) -> SglangTree:
    """A cache of SGLang's with the exported policy."""
    module = exported(policy, "sglang", folder, name)
    module.time = clock = use_clock()  # type: ignore[attr-defined]

    def describe(node: Any) -> tuple[int, int, bool]:
        return tree.describe(node)

    module.register(name=f"vulcan_{name}", describe=describe)
    tree = cache(trace, capacity, f"vulcan_{name}", clock)
    return tree


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lru", "lfu", "slru", "fifo", "found"])
@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.2, 0.4])
def test_its_strategies_find_the_same_tokens_at_every_request_of_a_recorded_trace(
    name: str, share: float, mooncake: PromptTrace, tmp_path: Path
) -> None:
    capacity, policy = int(share * mooncake.block_count), None
    if name == "found":
        policy = check(load(recorded_run("prefix-cache")).best.source, TASK)
        tree = with_exported(policy, name, SglangTree, mooncake, capacity, tmp_path)
    else:
        tree = SglangTree(mooncake, capacity, name, use_clock())
    found = replayed(tree, mooncake, capacity)
    ours = simulate(policy or name, mooncake, capacity * mooncake.block_tokens, load=0.5).found
    print(f"{name} at {share:.0%}: {sum(found) * mooncake.block_tokens / 1e6:.2f} million tokens found", end="")
    last = mooncake.requests * 4 // 5
    for each in (found, ours):
        hits = sum(each[last:]) * mooncake.block_tokens / mooncake.prompt_tokens[last:].sum()
        print(f", {hits:.2%} of the last fifth", end="")
    assert ours.tolist() == found


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("cache", [SglangTree, UnifiedTree])
def test_an_exported_policy_finds_the_same_tokens_at_every_request(
    name: str, cache: type[SglangTree], trace: PromptTrace, tmp_path: Path
) -> None:
    policy = check(POLICIES[name], TASK)
    capacity = int(0.1 * trace.block_count)
    found = replayed(with_exported(policy, name, cache, trace, capacity, tmp_path), trace, capacity)
    assert simulate(policy, trace, capacity * trace.block_tokens, load=0.5).found.tolist() == found


class WithSessions(UnifiedTree):
    def make(self, params: CacheInitParams) -> Any:
        return super().make(replace(params, enable_session_radix_cache=True))


def test_a_session_that_sglang_closes_ends_the_nodes_that_it_alone_used(trace: PromptTrace, tmp_path: Path) -> None:
    policy = check("def priority(now, node, server):\n    return node.last_access - 1e6 * node.ended\n", TASK)
    module = exported(policy, "sglang", tmp_path, "ends")
    module.register(name="vulcan_ends")
    tree = WithSessions(trace, 1000, "vulcan_ends", use_clock())
    (component,) = tree.cache.session_refs.components
    leaves = {name: tree.node(tree.insert(1.0, [1, 2, last], 0, 0)[1]) for name, last in (("a", 3), ("b", 4))}
    for name, leaf in leaves.items():
        component.register_session_leaf(name, leaf)
    shared = leaves["a"].parent
    assert shared is leaves["b"].parent

    def ended() -> list[float]:
        return [node.vulcan_node.ended for node in (leaves["a"], leaves["b"], shared)]

    tree.cache.release_radix_session("a")
    assert ended() == [1.0, 0.0, 0.0]
    tree.cache.release_radix_session("b")
    assert ended() == [1.0, 1.0, 1.0]
    tree.insert(2.0, [1, 2, 3], 0, 0)
    assert ended() == [0.0, 1.0, 0.0]
    with pytest.raises(ValueError, match="the end of sessions: use --enable-session-radix-cache"):
        UnifiedTree(trace, 1000, "vulcan_ends", use_clock())


def test_its_tree_in_rust_is_left_for_a_policy_in_python(trace: PromptTrace, tmp_path: Path) -> None:
    policy = check("def priority(now, node, server):\n    return node.last_access\n", TASK)
    module = exported(policy, "sglang", tmp_path, "core")
    module.register(name="vulcan_core")
    cores = [UnifiedTree(trace, 1000, name, use_clock()).cache.tree_core for name in ("lru", "vulcan_core")]
    assert [type(core).__name__ for core in cores] == ["RustUnifiedTreeCore", "UnifiedTreeCore"]
    assert cores[1].eviction_strategy.is_of_vulcan
