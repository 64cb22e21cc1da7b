"""Caches that learn, which libcachesim has and Vulcan does not, for `benchmarks.cache_instances`.

Cacheus, 3L-Cache, LRB and GL-Cache, each in a process of its own, as a fault of native code must not end the benchmark,
with one thread and an hour of processor time. 3L-Cache and LRB learn for requests or for bytes, and are run for both
where sizes differ. GL-Cache trains once a day by the trace's clock, which most traces do not have: each takes ten days
here, its requests evenly spread. Its segments have 100 objects, as by default, or fewer where the cache would hold
less than a hundred segments. All else is libcachesim's default.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import numpy as np

from vulcan.baseline_cache import cached_metrics
from vulcan.task import Metrics
from vulcan_traces import Trace

PEERS = {"cacheus": "Cacheus", "3l-cache": "ThreeLCache", "lrb": "LRB", "gl-cache": "GLCache"}
LEARNS_FOR = {"miss_ratio": "object-miss-ratio", "byte_miss_ratio": "byte-miss-ratio"}
SECONDS = 3600
"""Of processor time, for one policy on one instance; one that takes longer is not compared with there."""

DAYS = 10
MAX_SEGMENT, MIN_SEGMENT, SEGMENTS = 100, 4, 100

_RECORD = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])


def peers_installed() -> bool:
    return importlib.util.find_spec("libcachesim") is not None


def settings_of(policy: str, trace: Trace, capacity: int) -> list[dict[str, str | int]]:
    """Return the settings that a policy of libcachesim runs under, one or two."""
    if policy in ("ThreeLCache", "LRB"):
        has_sizes = int(trace.sizes.min()) != int(trace.sizes.max())
        return [{"objective": each} for each in list(LEARNS_FOR.values())[: 1 + has_sizes]]
    if policy == "GLCache":
        objects = capacity * trace.object_count // trace.footprint
        size = min(max(objects // SEGMENTS, MIN_SEGMENT), MAX_SEGMENT)
        return [{"segment_size": size, "merge_consecutive_segs": 1}]
    return [{}]


def measure_peer(name: str, trace: Trace, capacity: int) -> Metrics:
    """Measure a peer on a trace with so many bytes; empty where it did not come to its end. Cached on disk."""
    policy = PEERS[name]
    runs = [_kept(policy, settings, trace, capacity) for settings in settings_of(policy, trace, capacity)]
    if not all(runs):
        return {}
    return {metric: run[metric] for metric, run in zip(LEARNS_FOR, (runs[0], runs[-1]), strict=True)}


def _kept(policy: str, settings: Mapping[str, str | int], trace: Trace, capacity: int) -> Metrics:
    return cached_metrics(
        ["libcachesim", version("libcachesim"), policy, dict(settings), trace.digest, capacity, SECONDS, DAYS],
        lambda: _run(policy, settings, trace, capacity),
    )


def _run(policy: str, settings: Mapping[str, str | int], trace: Trace, capacity: int) -> Metrics:
    rows = np.zeros(trace.requests, _RECORD)
    rows["time"] = 1 + np.arange(trace.requests) * (DAYS * 86_400) // trace.requests
    rows["id"] = np.asarray(trace.objects).astype(np.uint64) + 1
    rows["size"] = np.maximum(np.asarray(trace.sizes), np.uint32(1))
    following = np.asarray(trace.next_access)
    rows["next"] = np.where((following < 0) | (following >= trace.requests), -1, following)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "trace.oracleGeneral.bin"
        rows.tofile(path)
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.instance_peers", str(path), str(capacity), policy, json.dumps(settings)],
            capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
    if done.returncode:
        print(f"{policy} on {trace.name} with {capacity:,} bytes: exit code {done.returncode}", file=sys.stderr)
        return {}
    ratio, byte_ratio = json.loads(done.stdout.splitlines()[-1])
    return {"miss_ratio": ratio, "byte_miss_ratio": byte_ratio}


def main() -> None:
    import libcachesim

    path, capacity, policy, settings = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    reader = libcachesim.TraceReader(trace=path, trace_type=libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    cache = getattr(libcachesim, policy)(cache_size=int(capacity), **json.loads(settings))
    print()
    print(json.dumps(cache.process_trace(reader)))


if __name__ == "__main__":
    main()
