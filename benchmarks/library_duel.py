"""Worst-case loss of an exported selector against its baseline, and its gain.

    python -m benchmarks.library_duel [--requests 200000] [--quick]

On real traces, and on generated ones made against it: the best policy changes over and over, as loops that only
`mru` wins alternate with skewed requests that it loses. The library is written by hand, so that it has members that are
far worse than the baseline somewhere: `mru` and `hyperbolic` alongside the baseline `lru`. For each trace the
misses of the baseline and of every member alone, those of the selector, how many more they are than the baseline's and
what the stated bound allows (without the sampling error), as shares of the requests, and the changes of policy.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from vulcan.portfolio.export import selector_module
from vulcan.portfolio.model import (
    Clustering,
    Fallback,
    FingerprintedInstance,
    Library,
    LibraryMember,
    Matrix,
    Origin,
    SelectionRule,
    Workload,
)
from vulcan.registry import find_task
from vulcan_cache.evaluator import CacheEvaluator
from vulcan_traces import load_trace

DATA = Path(os.environ.get("VULCAN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "cache"
REAL = (
    "arc/OLTP.lis.zst",
    "libcachesim/cloudPhysicsIO.oracleGeneral.bin",
    "mooncake/conversation_trace.jsonl",
    "caffeine/adapt_size/request.trace.xz",
    "tencent/tencentBlock.ns3300.sample.csv",
    "caffeine/lirs/2_pools.trace.gz",
    "caffeine/lirs/loop.trace.gz",
    "caffeine/lirs/multi3.trace.gz",
    "caffeine/lirs/sprite.trace.gz",
)
SHARES = (0.01, 0.1)
MEMBERS = {
    "mru": "def priority(now, obj, cache, ghost):\n    return -obj.last_access\n",
    "hyperbolic": "def priority(now, obj, cache, ghost):\n    return obj.count / (now - obj.insertion + 1)\n",
}

Requests = list[tuple[int, int]]


def library(members: dict[str, str]) -> Library:
    """Members that were never measured: the rule expects the same of all."""
    evaluator = CacheEvaluator()
    task = find_task("cache_eviction")
    settings = {s.name: s.default for s in task.settings if s.name not in ("trace", "cache_size")}
    given = {**settings, "trace": ["zipf:requests=2000,objects=200"], "cache_size": ["10%"]}
    instance = evaluator.instances(given, task.split)[0]
    found = evaluator.fingerprint(instance, 1000)
    one = dict.fromkeys(members, (0.0,))
    return Library(
        task="cache_eviction",
        settings=settings,
        objectives=("object",),
        seed=1,
        first=20_000,
        names=tuple(found),
        centre=tuple(0.0 for _ in found),
        scale=tuple(1.0 for _ in found),
        clustering=Clustering(1),
        workloads=(Workload("none", None),),
        instances=(FingerprintedInstance("none", "none", 0, tuple(found.values())),),
        members=tuple(LibraryMember(n, s, "cache_eviction", {}, Origin("by hand", "file")) for n, s in members.items()),
        fallbacks={"object": Fallback("lru", "lru")},
        rule=SelectionRule("neighbours", 1, 1e9, 0.0),
        margin=0.0,
        matrix={"object": Matrix(one, {"lru": (0.0,)}, {}, {"lru": (0.0,)}, {})},
    )


def exported(text: str, folder: Path) -> Any:
    """Return the module of that text."""
    path = folder / "selector.py"
    path.write_text(text, encoding="utf-8")
    spec = spec_from_file_location("selector", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def real(name: str, limit: int) -> Requests:
    trace = load_trace(DATA / name)
    keys = trace.keys[trace.objects[:limit]].tolist()
    return list(zip(keys, (max(1, size) for size in trace.sizes[:limit].tolist()), strict=True))


def adversarial(limit: int, period: int, objects: int) -> Requests:
    """Loops over `objects`, and skewed requests for others, `period` requests of each in turn."""
    looped = load_trace(f"loop:requests={limit},objects={objects}")
    skewed = load_trace(
        f"drift:requests={limit},objects={4 * objects},alpha=1.0,period={max(100, period // 4)},churn=0.5"
    )
    chosen: Requests = []
    for start in range(0, limit, period):
        source, offset = (looped, 0) if start // period % 2 == 0 else (skewed, 10**9)
        chosen += [
            (int(source.keys[o]) + offset, 1) for o in source.objects[start : min(limit, start + period)].tolist()
        ]
    return chosen


def workloads(limit: int, quick: bool) -> Iterator[tuple[str, Requests, int]]:
    for period in (1000, 10_000, 50_000):
        yield f"adversarial {period}", adversarial(limit, period, 1500), 1000
    for name in REAL[:2] if quick else REAL:
        if not (DATA / name).is_file():
            print(f"{name} is not there", file=sys.stderr)
            continue
        requests = real(name, limit)
        footprint = sum(dict(requests).values())
        for share in SHARES[1:] if quick else SHARES:
            yield f"{name.rpartition('/')[2].partition('.')[0]} {share:.0%}", requests, max(1, int(footprint * share))


def misses(cache: Any, requests: Requests) -> int:
    for key, size in requests:
        cache.request(key, size)
    return int(cache.misses)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        module = exported(selector_module(library(MEMBERS), "object").text, Path(folder))
    names = ["lru", *MEMBERS]
    print(
        f"{'trace':24s} {'requests':>9s} "
        + " ".join(f"{n:>10s}" for n in names)
        + "   selector     more    bound changes"
    )
    for name, requests, capacity in workloads(options.requests, options.quick):
        n = len(requests)
        alone = [misses(module.POLICIES[policy]()(capacity), requests) / n for policy in names]
        selector = module.SelectingCache(capacity)
        found = misses(selector, requests) / n
        leaders = selector._duel.share if selector._duel else 1.0
        bound = (0.01 * n + 2 * selector._held + 1 / leaders) / n
        print(
            f"{name:24s} {n:9d} "
            + " ".join(f"{ratio:10.4f}" for ratio in alone)
            + f" {found:10.4f} {found - alone[0]:8.4f} {bound:8.4f} {selector.switches:7d}",
            flush=True,
        )


if __name__ == "__main__":
    main()
