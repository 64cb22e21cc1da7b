"""Prefix policies under the verifier of github.com/ptuls/prefix-cache-evolve: the table of docs/results/judges.md.

    python -m benchmarks.judges CHECKOUT [POLICY ...] [--split validation]

Policies are names of the task's own, by default all. The verifier is asked as it is, but without its penalty for long
formulas, which it cannot count for a policy that it is handed as an object, for its own policies too, and without its
limit of time, which a busy machine exceeds. It needs loguru, click, pydantic and pyyaml.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from vulcan.anvil import check
from vulcan.export import Provenance
from vulcan.export.formats import export_policy
from vulcan.registry import find_task

TASK = find_task("prefix_cache")
INCUMBENT = "src/prefix_cache_evolve/problems/prefix_kv_cache/incumbents/production_16tok_20260609/policy.py"


def exported(source: str, path: Path) -> ModuleType:
    """The module that an export writes, imported."""
    (text,) = export_policy(check(source, TASK), "python", Provenance(TASK.name, "", "", "", "")).values()
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class PrefixCandidate:
    """An exported prefix policy in the words of prefix-cache-evolve: a block is a node, a request takes a second."""

    def __init__(self, module: ModuleType, capacity: int, block_tokens: int) -> None:
        self.policy = module.PrefixPolicy()
        self.policy.server.capacity = float(capacity * block_tokens)
        self.nodes: dict[int, Any] = {}
        self.turns: dict[int, int] = {}
        self.kinds: dict[str, int] = {}
        self.request: Any = None
        self.last = 0.0

    def on_request_start(self, request: Any, now: int) -> None:
        self.request = request
        self.turns[request.session_id] = self.turns.get(request.session_id, 0) + 1
        self.kinds.setdefault(request.request_type, len(self.kinds) + 1)

    def shown(self, block: Any, node: Any) -> Any:
        node.tokens, node.depth, node.hits = float(block.token_count), float(block.end_token), block.hit_count + 1.0
        node.last_access, node.created = float(block.last_accessed_at), float(block.created_at)
        node.children = float(block.descendant_count)
        return node

    def used(self, node: Any) -> None:
        node.turn, node.priority = float(self.turns[self.request.session_id]), float(self.request.priority)
        node.kind = float(self.kinds[self.request.request_type])

    def on_cache_hit(self, block: Any, request: Any, now: int) -> None:
        if block.prefix_hash in self.nodes:
            node = self.shown(block, self.nodes[block.prefix_hash])
            self.used(node)
            self.policy.hit(node, float(now))

    def on_cache_miss(self, block: Any, request: Any, now: int) -> None:
        """Whether it is let in comes next."""

    def score_admission(self, block: Any, now: int) -> float:
        if (old := self.nodes.get(block.prefix_hash)) is not None:
            self.policy.evicted(old, float(now), self.last)
        node = self.nodes[block.prefix_hash] = self.shown(block, self.policy.new(block.block_id, float(now)))
        self.used(node)
        self.policy.inserted(node, float(now))
        return 1.0

    def score_eviction(self, block: Any, now: int) -> float:
        node = self.shown(block, self.nodes[block.prefix_hash])
        self.last = float(self.policy.priority(node, float(now)))
        return -self.last


def scores(checkout: Path, names: Sequence[str], split: str, folder: Path) -> Iterator[tuple[str, float]]:
    """Yield each policy's score on a panel of the verifier, its own two first."""
    sys.path.insert(0, str(checkout / "src"))
    theirs = importlib.import_module("prefix_cache_evolve.problems.prefix_kv_cache.evaluator")
    baselines = importlib.import_module("prefix_cache_evolve.evaluators.baselines")
    config = theirs.active_evaluator_config(theirs.DEFAULT_CONFIG)
    judge = theirs.candidate_evaluator(config, splits=(split,))
    kept = theirs.load_candidate_factory(
        str(checkout / INCUMBENT), exported_names=theirs.candidate_exported_names(config)
    )
    candidates: dict[str, Callable[..., Any]] = {
        "its production policy": kept,
        "its TinyLFU-LRU": baselines.baseline_tinylfu_lru,
    }
    seeds = TASK.seed_policies()
    for name in names or seeds:
        module = exported(seeds[name], folder / f"prefix_{name}.py")
        candidates[f"`{name}`"] = lambda capacity, tokens, seed=None, of=module: PrefixCandidate(of, capacity, tokens)
    for name, factory in candidates.items():
        yield name, judge(factory, scoring_fn_complexity=0).combined_score


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.judges", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("policies", nargs="*", choices=[*TASK.seed_policies(), []])
    parser.add_argument("--split", default="validation")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, score in scores(given.checkout, given.policies, given.split, Path(folder)):
            print(f"| {name} | {score:.3f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
