"""Requests per second of queue policies alongside libCacheSim's own C code of the same name, and alongside the heap.

Zipf(1.0) requests over many objects of log-normal sizes, a cache of 10% of the footprint. All contestants run in one
process, in turn; figures are medians over turns. libCacheSim is measured as it comes, and its FIFO and S3-FIFO once
more with a hash table of a size that suits this trace (2**20 buckets instead of 2**24). Policies with state are
compared with the native kernels of their names too, and W-TinyLFU with one that keeps the sketch that the policy keeps.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

import libcachesim
import numpy as np

from benchmarks.cache_engine import write_oracle_general
from benchmarks.harness import Goal, arguments, finish, interleaved, ratio
from benchmarks.sketched_w_tinylfu import sketched_w_tinylfu
from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_cache import simulate
from vulcan_cache.baselines import BASELINES
from vulcan_traces import load_trace

PEERS = {
    "fifo": "FIFO", "clock": "Clock", "sieve": "Sieve", "two_q": "TwoQ", "slru": "SLRU", "s3_fifo": "S3FIFO",
    "arc": "ARC", "lirs": "LIRS", "w_tinylfu": "WTinyLFU",
}  # fmt: skip
NATIVE = {
    "arc": ("arc", "0.27 to 0.48 on shared hosts: the queues' kernel asks the policy where the native one decides"),
    "lirs": ("lirs", ""),
    "w_tinylfu": (
        "w-tinylfu",
        "0.13 to 0.44 on shared hosts: the native kernel has a counter for each object and no sketch",
    ),
}
"""Native kernels, and why one is more than twice as fast where it is."""

SKETCHED = "native w-tinylfu with a sketch"
SKETCHED_SHORT = "0.29 to 0.53 on shared hosts: the queues' kernel asks the policy where the native one decides"

TUNED = ("FIFO", "S3FIFO")


def main() -> None:
    options = arguments(__doc__ or "")
    requests, objects = (1_000_000, 100_000) if options.quick else (5_000_000, 500_000)
    trace = load_trace(
        f"zipf:requests={requests},objects={objects},alpha=1.0,seed=1,sizes=lognormal,size_median=4096,size_sigma=1.2"
    )
    capacity = trace.footprint // 10
    columns = (np.asarray(trace.objects), np.asarray(trace.sizes))
    queues, ranking = find_task("cache_queues"), find_task("cache_eviction")
    policies = {name: check(source, queues) for name, source in queues.seed_policies(state=True).items()}
    gdsf = check(ranking.seed_policies()["gdsf"], ranking)

    with tempfile.TemporaryDirectory() as directory:
        file = write_oracle_general(trace, Path(directory) / "trace.oracleGeneral")

        def engine(policy: object, mechanism: str) -> float:
            return simulate(
                policy, *columns, capacity, mechanism=mechanism, object_count=trace.object_count  # type: ignore[arg-type]
            ).miss_ratio  # fmt: skip

        def peer(name: str, **settings: int) -> float:
            reader = libcachesim.TraceReader(str(file), libcachesim.TraceType.ORACLE_GENERAL_TRACE)
            return float(getattr(libcachesim, name)(capacity, **settings).process_trace(reader)[0])

        def native(name: str) -> float:
            run = BASELINES[name].kernel()
            misses, _, _ = run(*columns, np.asarray(trace.next_access), trace.object_count, capacity, 0)
            return misses / trace.requests

        def sketched() -> float:
            misses: int = sketched_w_tinylfu(*columns, trace.object_count, float(capacity))  # type: ignore[no-untyped-call]
            return misses / trace.requests

        contestants = {
            **{f"vulcan queues, {name}": lambda p=policy: engine(p, "queues") for name, policy in policies.items()},
            "vulcan heap, gdsf": lambda: engine(gdsf, "heap"),
            **{f"native {name}": lambda n=name: native(n) for name, _ in NATIVE.values()},
            SKETCHED: sketched,
            **{f"libcachesim {name}": lambda n=name: peer(n) for name in PEERS.values()},
            **{f"libcachesim {name}, tuned": lambda n=name: peer(n, hashpower=20) for name in TUNED},
        }
        ratios = {name: run() for name, run in contestants.items()}
        seconds = interleaved(contestants, 3 if options.quick else 5)

    def faster(name: str, tuned: bool = False) -> float:
        peers = f"libcachesim {PEERS[name]}{', tuned' if tuned else ''}"
        return ratio(seconds[peers], seconds[f"vulcan queues, {name}"])

    goals = [Goal(f"{name}, times libcachesim's {PEERS[name]}", faster(name), 2) for name in PEERS]
    goals += [
        Goal("fifo, times libcachesim's FIFO with a tuned hash table", faster("fifo", tuned=True), 1),
        Goal("s3_fifo, times libcachesim's S3-FIFO with a tuned hash table", faster("s3_fifo", tuned=True), 1),
        *(
            Goal(
                f"{name}, times the speed of its native kernel",
                ratio(seconds[f"native {native_name}"], seconds[f"vulcan queues, {name}"]),
                0.5,
                documented=why,
                margin=0.3,
            )
            for name, (native_name, why) in NATIVE.items()
        ),
        Goal(
            f"w_tinylfu, times the speed of a {SKETCHED}",
            ratio(seconds[SKETCHED], seconds["vulcan queues, w_tinylfu"]),
            0.5,
            documented=SKETCHED_SHORT,
            margin=0.3,
        ),
        Goal(
            "s3_fifo, times the speed of gdsf by the heap",
            ratio(seconds["vulcan heap, gdsf"], seconds["vulcan queues, s3_fifo"]),
            0.5,
        ),
    ]
    rows = {
        name: {"mreq_per_s": requests / statistics.median(times) / 1e6, "miss_ratio": ratios[name], "seconds": times}
        for name, times in seconds.items()
    }
    table = [
        f"{requests:,} requests, {trace.object_count:,} objects, cache {capacity:,} bytes (10% of the footprint)",
        "",
        *(
            f"{name:28} {row['mreq_per_s']:8.1f} Mreq/s   miss ratio {row['miss_ratio']:.4f}"
            for name, row in rows.items()
        ),
    ]
    finish(options, {"requests": requests, "engines": rows}, table, goals)


if __name__ == "__main__":
    main()
