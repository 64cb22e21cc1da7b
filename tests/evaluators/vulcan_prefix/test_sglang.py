"""SGLang's own `RadixCache`, with its own strategies and an exported policy, finds what the simulator finds.

These need the package sglang with PyTorch, and are skipped without; `make test-sglang` runs them.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from plain_prefix import serve

from vulcan.anvil import Policy, check
from vulcan.export import Provenance, find_exporter
from vulcan.registry import find_task
from vulcan_prefix import Server, simulate
from vulcan_traces.prompts import PromptTrace, load_prompts

if importlib.util.find_spec("sglang") is None:
    pytest.skip("sglang is not installed: make test-sglang", allow_module_level=True)

from sglang_replay import SglangTree, use_clock

SERVER = Server()
TASK = find_task("prefix_cache")

POLICIES = {
    "features": """
def priority(now, node, server):
    idle = now - node.last_access
    return (node.hits + 1.0) * (1.0 + node.depth / 20000.0) / (idle + 60.0) + 0.01 * node.siblings - node.tokens * 1e-6
""",
    "statistics": """
def priority(now, node, server):
    return node.last_access + 30.0 * node.hits.max() + node.gap.ewma(0.3) - server.needed / server.capacity
""",
    "state": """
class policy:
    bonus = 10.0

class node:
    seen = 0.0

def on_hit(now, node, server):
    node.seen = node.seen + 1.0
    policy.bonus = policy.bonus * 0.99 + 0.01 * node.gap

def on_evict(now, node, server):
    policy.bonus = policy.bonus + 0.001

def priority(now, node, server):
    return node.last_access + policy.bonus * node.seen + server.evicted_priority * 0.01
""",
}


def exported(policy: Policy, directory: Path, name: str) -> ModuleType:
    """The module that `vulcan export --format sglang` writes, imported."""
    files = find_exporter("sglang", TASK).export(policy, Provenance("prefix_cache", name, "", "", ""))
    path = directory / f"strategy_{name}.py"
    path.write_text(next(iter(files.values())))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def trace() -> PromptTrace:
    return load_prompts("mix:requests=1200,seed=11")


@pytest.mark.parametrize("name", ["lru", "lfu", "fifo", "slru", "priority"])
@pytest.mark.parametrize("share", [0.05, 0.15])
def test_its_own_strategies_find_the_same_tokens_at_every_request(name: str, share: float, trace: PromptTrace) -> None:
    capacity = int(share * trace.block_count)
    tree = SglangTree(trace, capacity, name, use_clock())
    found, waits = serve(trace, tree, capacity, SERVER, load=0.5)
    result = simulate(name, trace, capacity * trace.block_tokens, SERVER, load=0.5)
    assert tree.evictions
    assert result.found.tolist() == found
    assert result.waits.tolist() == pytest.approx(waits)


@pytest.mark.parametrize("name", POLICIES)
def test_an_exported_policy_finds_the_same_tokens_at_every_request(
    name: str, trace: PromptTrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = check(POLICIES[name], TASK)
    module = exported(policy, tmp_path, name)
    clock = use_clock()
    monkeypatch.setattr(module, "time", clock)
    module.register(name=f"vulcan_{name}")
    capacity = int(0.1 * trace.block_count)
    tree = SglangTree(trace, capacity, f"vulcan_{name}", clock)
    found, _ = serve(trace, tree, capacity, SERVER, load=0.5)
    result = simulate(policy, trace, capacity * trace.block_tokens, SERVER, load=0.5)
    assert tree.evictions
    assert result.found.tolist() == found
