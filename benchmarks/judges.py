"""The page docs/results/judges.md: what policies measure in software that we did not write.

    python -m benchmarks.judges [--prefix-cache-evolve CHECKOUT] [--caffeine CHECKOUT] [--tests]

A judge whose package or checkout is not there keeps the row and the table that the page has, and is named as not asked
again. With `--tests` the tests in other packages run, each in its own environment if that is installed.

github.com/ptuls/prefix-cache-evolve is asked as it is, but without its penalty for long formulas, which it cannot
count for a policy that it is handed as an object, for its own policies too, and without its limit of time, which a
busy machine exceeds. It needs loguru, click, pydantic and pyyaml; `benchmarks/caffeine.py` says what Caffeine needs.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks import caffeine
from benchmarks.harness import DATA
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


PAGE = Path(__file__).resolve().parents[1] / "docs" / "results" / "judges.md"
ROOT = PAGE.parents[2]
TRACE = DATA / "cache" / "libcachesim" / "cloudPhysicsIO.txt"
GITTINS = "tasks/cache_eviction/library/policies/gittins.py"
SHOWN = ("returning",)
"""The policies whose scores the page has."""
MARK = "Measured last, and not asked again when this page was made:"


_PYTEST = (sys.executable, "-m", "pytest", "-q", "-n", "0", "-m", "not slow")
_LIBCACHESIM = "tests/evaluators/vulcan_cache/baselines/test_baselines_equal_libcachesim.py"
TESTS = {
    "vLLM 0.33": (".venv-sglang/.installed", ("make", "test-sglang")),
    "SGLang 0.5.23": (".venv-sglang/.installed", ("make", "test-sglang")),
    "SQLite 3.40": ("/usr/include/sqlite3.h", (*_PYTEST, "tests/export/c/test_sqlite.py")),
    "SkyPilot 0.14": (".venv-skypilot/.installed", ("make", "test-skypilot")),
    "Envoy 1.40": (".venv-envoy/bin/envoy", ("make", "test-envoy")),
    "the public spot evaluator": ("benchmarks/spot_public.py", (*_PYTEST, "tests/benchmarks/test_spot_leaderboard.py")),
    "libCacheSim": ("tests", (*_PYTEST, _LIBCACHESIM)),
}
"""Judges by the beginning of their rows: the file that is there where they can be asked, and the tests that do."""


def evolve_table(checkout: Path | None) -> list[str]:
    """The table of prefix-cache-evolve's verifier; empty where it is not there."""
    if checkout is None:
        return []
    with tempfile.TemporaryDirectory() as folder:
        rows = [f"| {name} | {score:.3f} |" for name, score in scores(checkout, SHOWN, "validation", Path(folder))]
    return ["| policy | score |", "|---|---:|", *rows]


def caffeine_table(checkout: Path | None) -> list[str]:
    """The table of Caffeine's simulator; empty where it is not there, or the trace."""
    if checkout is None or caffeine.missing(checkout) or not TRACE.exists():
        return []
    task = find_task("cache_eviction")
    seeds = task.seed_policies()
    sources = {"gittins": (ROOT / GITTINS).read_text(encoding="utf-8"), "lhd": seeds["lhd"], "lru": seeds["lru"]}
    origin = Provenance(task.name, "", "", "", "")
    texts = {f"`{n}`": "".join(export_policy(check(s, task), "caffeine", origin).values()) for n, s in sources.items()}
    _, first, ids = np.unique(np.loadtxt(TRACE, dtype=np.int64), return_index=True, return_inverse=True)
    keys = np.argsort(np.argsort(first))[ids].tolist()
    measured = []
    for share in (0.01, 0.1):
        with tempfile.TemporaryDirectory() as folder:
            requests = ((key, 1) for key in keys)
            measured.append(caffeine.misses(texts, requests, int(len(first) * share), Path(folder), checkout))
    rows = sorted(measured[0], key=lambda name: measured[1][name])
    return [
        "| policy | misses at 1 % | at 10 % |",
        "|---|---:|---:|",
        *(f"| {name} | {measured[0][name]:,} | {measured[1][name]:,} |" for name in rows),
    ]


def passing() -> set[str]:
    """Run the tests of the judges that are there, and return their names. Raises SystemExit where one fails."""
    there = {name: command for name, (needed, command) in TESTS.items() if (ROOT / needed).exists()}
    for command in dict.fromkeys(there.values()):
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            sys.exit(f"{' '.join(command)} fails, so the page would say what is not so")
    return set(there)


def page(old: str, tables: dict[str, list[str]], measured: set[str]) -> str:
    """Return the page with those tables that are not empty below their headings, and what was not asked again."""
    text = old
    for title, table in tables.items():
        if table:
            head, heading, part = text.partition(f"\n## {title}\n")
            written = re.sub(r"(^\|.*\n)+", "\n".join(table) + "\n", part, count=1, flags=re.MULTILINE)
            text = head + heading + written
    left = [name for name in (*TESTS, *tables) if name not in measured]
    return re.sub(r"^Measured last, .*$", f"{MARK} {', '.join(left) or 'none'}.", text, flags=re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.judges", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--prefix-cache-evolve", type=Path)
    parser.add_argument("--caffeine", type=Path)
    parser.add_argument("--tests", action="store_true")
    given = parser.parse_args()
    tables = {
        "prefix-cache-evolve": evolve_table(given.prefix_cache_evolve),
        "Caffeine's simulator": caffeine_table(given.caffeine),
    }
    measured = {title for title, table in tables.items() if table}
    measured |= passing() if given.tests else set()
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), tables, measured), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
