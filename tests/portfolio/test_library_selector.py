"""The exported selector decides as Vulcan does, in bounded memory, and is never much worse than its baseline."""

from __future__ import annotations

import ast
import math
import subprocess
import sys
import tracemalloc
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from effort import ALL, few, slow
from libraries import FIRST, HYPERBOLIC, LOOPS, MRU, TASK, ZIPF, exported, fingerprint, instance, keys_of, usual
from locations import DATA

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.portfolio.export import indented, selector_module
from vulcan.portfolio.selector import select
from vulcan_cache import simulate
from vulcan_cache.evaluator import CacheEvaluator
from vulcan_cache.online_fingerprint import OnlineFingerprint
from vulcan_traces import load_trace

TOLERANCE = 0.01


@pytest.fixture(scope="module")
def module() -> ModuleType:
    return exported(usual())


def capacity_of(spec: str) -> int:
    return int(instance(spec).parameters["capacity"])  # type: ignore[arg-type]


@pytest.mark.parametrize("spec", [*ZIPF, *LOOPS, "drift:requests=6000,objects=900,alpha=0.7,period=500,churn=0.3"])
def test_it_decides_as_vulcan_does(module: ModuleType, spec: str) -> None:
    cache = module.SelectingCache(capacity_of(spec), duel=False)
    for key in keys_of(spec)[:FIRST]:
        cache.request(key)
    ours = select(usual(), fingerprint(spec), "object")
    assert tuple(cache.decision.ranked) == ours.expected
    assert (cache.decision.name, cache.decision.confidence) == (ours.name, ours.confidence)
    assert cache.policy == ours.name


def test_it_needs_python_alone(tmp_path: Path) -> None:
    text = selector_module(usual(), "object").text
    assert "vulcan" not in {
        name.partition(".")[0]
        for node in ast.walk(ast.parse(text))
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        )
    }  # fmt: skip
    (tmp_path / "selector.py").write_text(text)
    code = (
        "import sys; sys.path.insert(0, '.')\nfrom selector import SelectingCache\nc = SelectingCache(10)\n"
        "c['a'] = 1\nassert c['a'] == 1 and c.get('b') is None and len(c) == 1\nprint(c.hits, c.misses)"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["1", "2"]


def test_policies_are_the_modules_that_export_writes() -> None:
    """Indented into a function, a module means the same: also its texts of several lines."""
    text = f"import math\n\n\nTEXT = '''one\n two\nthree'''\n\n\n{MRU}"
    wrapped = ast.parse(f"def policy():\n{indented(text)}\n").body[0]
    assert isinstance(wrapped, ast.FunctionDef)
    assert [ast.dump(node) for node in wrapped.body] == [ast.dump(node) for node in ast.parse(text).body]


def test_its_policies_are_those_of_the_members(module: ModuleType) -> None:
    trace = CacheEvaluator()._trace({"trace": ZIPF[0], "trace_format": None, "columns": None, "skip_bad_lines": False})
    for name, source in (("hyperbolic", HYPERBOLIC), ("mru", MRU)):
        cache = module.POLICIES[name]()(90)
        for key in keys_of(ZIPF[0]):
            cache.request(key)
        assert cache.misses == simulate(check(source, TASK), trace.objects, trace.sizes, 90).misses


def adversarial(requests: int, period: int) -> list[int]:
    """A loop that `mru` wins, then skewed requests that it loses, again and again."""
    loop, skewed = keys_of(LOOPS[0]), keys_of(ZIPF[0])
    found: list[int] = []
    for start in range(0, requests, period):
        keys, offset = (loop, 10**6) if start // period % 2 == 0 else (skewed, 0)
        found += [keys[n % len(keys)] + offset for n in range(start, min(requests, start + period))]
    return found


@pytest.mark.parametrize("period", [500, slow(6000), slow(12000)])
def test_it_is_never_much_worse_than_its_baseline(module: ModuleType, period: int) -> None:
    """The stated bound; as caches are small the leader sets are everything, and there is no error of a sample."""
    keys = adversarial(36000 if ALL else 8000, period)
    baseline = module.POLICIES["lru"]()(100)
    cache = module.SelectingCache(100, window=FIRST)
    for number, key in enumerate(keys, 1):
        baseline.request(key)
        cache.request(key)
        assert cache.excess <= cache.allowed + 1 / cache._duel.share if cache._duel else cache.policy == "lru"
        if cache._duel:
            assert cache._duel.share == 1.0
        assert cache.misses <= baseline.misses + TOLERANCE * number + 2 * cache._held + 1 + 1e-9
    assert cache.hits + cache.misses == len(keys)


@pytest.mark.parametrize(("file", "capacity"), few([("2_pools.trace.gz", 990), ("sprite.trace.gz", 700)], 1))
def test_the_bound_holds_on_real_traces(module: ModuleType, file: str, capacity: int) -> None:
    """With leader sets that are a sample: the stated bound and three deviations of its error."""
    path = DATA / "cache" / "caffeine" / "lirs" / file
    if not path.is_file():
        pytest.skip(f"no real trace at {path}; set VULCAN_DATA")
    trace = load_trace(path)
    keys = trace.keys[trace.objects[: 40_000 if ALL else 12_000]].tolist()
    baseline, cache = module.POLICIES["lru"]()(capacity), module.SelectingCache(capacity, window=4000)
    differences: Counter[int] = Counter()
    for key in keys:
        differences[key] += baseline.request(key) - cache.request(key)
    share = cache._duel.share
    assert 0.4 < share < 1.0
    error = 3 * math.sqrt((1 / share - 1) * sum(d * d for d in differences.values()))
    assert cache.misses - baseline.misses <= TOLERANCE * len(keys) + 2 * cache._held + 1 / share + error


@pytest.mark.slow
def test_it_wins_where_there_is_something_to_win_and_gives_up_a_member_that_turns_bad(module: ModuleType) -> None:
    many = 36000 if ALL else 30000
    keys = adversarial(many, many)
    cache = module.SelectingCache(100, window=FIRST)
    lru, mru = module.POLICIES["lru"]()(100), module.POLICIES["mru"]()(100)
    for key in keys:
        for each in (cache, lru, mru):
            each.request(key)
    assert cache.policy == "mru"
    assert cache.switches == 1
    assert lru.misses == many, "a loop larger than the cache"
    assert cache.misses - mru.misses < (lru.misses - mru.misses) / 2
    for key in keys_of(ZIPF[1]) * 3:
        cache.request(key + 10**7)
    assert cache.policy != "mru"


def test_leader_sets_are_a_share_of_a_large_cache(module: ModuleType) -> None:
    duel = module._Duel(100_000, 100_000)
    duel.fight(["mru", "lru"])
    assert duel.share == 1 / 32
    chosen = sum(duel.request(key, 1) is not None for key in range(64_000))
    assert abs(chosen / 64_000 - 1 / 32) < 3 * math.sqrt(1 / 32 / 64_000)
    assert all(len(cache) <= 100_000 // 32 for cache in duel._leaders.values())


def test_memory_is_bounded(module: ModuleType) -> None:
    """Whatever there is to see: what is remembered beside the cache itself does not grow."""
    seen = OnlineFingerprint(1000, 10**9, tracked=1000)
    tracemalloc.start()
    peaks = []
    many = 40_000 if ALL else 8_000
    for start in range(0, 3 * many, many):
        for key in range(start, start + many):
            seen.observe(key, 1)
            seen.observe(key // 2, 1)
        tracemalloc.reset_peak()
        peaks.append(tracemalloc.get_traced_memory()[0])
        assert len(seen._objects) <= 1000
        assert sum(map(len, (seen._lru.held, seen._fifo.held, seen._small.held, seen._large.held))) <= 4000
    tracemalloc.stop()
    assert max(peaks) < 2_000_000
    assert peaks[-1] < 1.5 * peaks[0]


def test_a_sampled_fingerprint_is_like_the_whole() -> None:
    spec = "zipf:requests=30000,objects=6000,alpha=0.8,seed=3"
    whole, sampled = OnlineFingerprint(600, 30000), OnlineFingerprint(600, 30000, tracked=1500)
    for key in keys_of(spec):
        whole.observe(key)
        sampled.observe(key)
    assert whole._weight == 1.0
    assert sampled._weight >= 4.0
    one, other = whole.features(), sampled.features()
    for name in ("cold_share", "one_hit_share", "lru", "room"):
        assert other[name] == pytest.approx(one[name], abs=0.06), name


def test_values_outlive_a_change_of_policy(module: ModuleType) -> None:
    cache = module.SelectingCache(1000, duel=False, window=500)
    for number in range(499):
        cache.put(f"key {number}", number, 2)
    assert cache.policy == "lru"
    stored = dict(cache.items())
    cache._use("mru")
    assert dict(cache.items()) == stored
    assert cache.currsize == 2 * len(stored) == 998
    assert all(cache[key] == value for key, value in stored.items())
    assert (cache.hits, cache.misses) == (499, 499)
    assert cache.pop("key 1") == 1
    assert "key 1" not in cache


def test_low_confidence_keeps_the_baseline() -> None:
    library = usual()
    module = exported(replace(library, rule=replace(library.rule, reach=1e-9)))
    cache = module.SelectingCache(90, duel=False)
    for key in keys_of("drift:requests=6000,objects=700,alpha=0.7,period=500,churn=0.3"):
        cache.request(key)
    assert cache.decision.confidence < 0.5
    assert cache.policy == cache.decision.name == "lru"


def test_members_that_nothing_can_run_are_left_out() -> None:
    library = usual()
    other = "def cwnd(now, flow, path, round_trip):\n    return 10\n"
    congested = replace(library.members[1], name="far", task="congestion_control", source=other)
    library = replace(library, members=(library.members[0], congested))
    matrix = library.matrix["object"]
    members = {"hyperbolic": matrix.members["hyperbolic"], "far": matrix.members["mru"]}
    library = replace(library, matrix={"object": replace(matrix, members=members)})
    made = selector_module(library, "object")
    assert (made.members, made.left_out, made.baseline) == (("hyperbolic",), ("far",), "lru")
    assert "far" not in exported(library).TABLE.scores


def test_a_task_without_a_template_cannot_export() -> None:
    with pytest.raises(UserError, match=r"cannot export libraries: it has no file .*selector\.py"):
        selector_module(replace(usual(), task="spot_single"), "object")
