"""Policies that libcachesim has and Vulcan does not: Cacheus, 3L-Cache and LRB, for `benchmarks.cache_instances`.

Each runs in a process of its own, as a fault of native code must not end the benchmark, with a limit of processor time.
"""

from __future__ import annotations

import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np

from vulcan.baseline_cache import cached_metrics
from vulcan.task import Metrics
from vulcan_traces import Trace

PEERS = {"cacheus": "Cacheus", "3l-cache": "ThreeLCache", "lrb": "LRB"}
SECONDS = 300
"""Of processor time, for one policy on one instance; one that takes longer is not compared with there."""

_RECORD = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])


def peers() -> dict[str, Callable[[Trace, int], Metrics]]:
    """Return a runner per peer, for a trace and a cache size in bytes; none if libcachesim is not installed."""
    if importlib.util.find_spec("libcachesim") is None:
        return {}
    return {
        name: lambda trace, capacity, policy=policy: _kept(policy, trace, capacity) for name, policy in PEERS.items()
    }


def _kept(policy: str, trace: Trace, capacity: int) -> Metrics:
    """Empty where the policy did not come to its end."""
    return cached_metrics(
        ["libcachesim", version("libcachesim"), policy, trace.digest, capacity, SECONDS],
        lambda: _run(policy, trace, capacity),
    )


def _run(policy: str, trace: Trace, capacity: int) -> Metrics:
    rows = np.zeros(trace.requests, _RECORD)
    rows["id"] = np.asarray(trace.objects).astype(np.uint64) + 1
    rows["size"] = np.maximum(np.asarray(trace.sizes), np.uint32(1))
    following = np.asarray(trace.next_access)
    rows["next"] = np.where((following < 0) | (following >= trace.requests), -1, following)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "trace.oracleGeneral.bin"
        rows.tofile(path)
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.instance_peers", str(path), str(capacity), policy],
            capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1],
        )  # fmt: skip
    if done.returncode:
        print(f"{policy} on {trace.name} with {capacity:,} bytes: exit code {done.returncode}", file=sys.stderr)
        return {}
    ratio, byte_ratio = json.loads(done.stdout.splitlines()[-1])
    return {"miss_ratio": ratio, "byte_miss_ratio": byte_ratio}


def main() -> None:
    import libcachesim

    path, capacity, policy = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    reader = libcachesim.TraceReader(trace=path, trace_type=libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    print(json.dumps(getattr(libcachesim, policy)(cache_size=int(capacity)).process_trace(reader)))


if __name__ == "__main__":
    main()
