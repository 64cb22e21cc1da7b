"""Built-in traces: seven generated workloads, so that a first search needs no file.

Each resembles a situation that caches meet, and they call for different policies: at a cache of 10 % of the
footprint LFU beats LRU on most and loses to it under fast drift, and where sizes differ a policy that looks at them
beats both (`tests/traces/test_trace_workloads.py` checks it). All have 200,000 requests.
"""

from __future__ import annotations

_TRAIN = (
    # block storage: random I/O of a skewed working set, with backups that scan through the disk
    "scan-mix:name=block-scans,seed=11,objects=12000,alpha=0.9,scan_share=0.3,scan_objects=60000,scan_length=400,"
    "sizes=lognormal,size_median=16384,size_sigma=0.8,size_max=1048576",
    # key-value cache: small values, and a quarter of the requests for keys that never come again
    "scan-mix:name=kv-one-hit-wonders,seed=12,objects=30000,alpha=1.0,scan_share=0,once_share=0.25,"
    "sizes=lognormal,size_median=300,size_sigma=1.0,size_max=1048576",
    # web: what is popular changes all the time
    "drift:name=web-drift,seed=14,objects=40000,alpha=0.9,period=2000,churn=0.05,"
    "sizes=lognormal,size_median=12000,size_sigma=0.8",
)
_VALIDATION = (
    # content delivery: sizes that vary, small objects being the more popular
    "zipf:name=cdn-popular-is-small,seed=13,objects=30000,alpha=0.8,"
    "sizes=lognormal,size_median=65536,size_sigma=1.0,size_correlation=-0.2",
    # analytics: queries loop over tables that are larger than the cache; pages of one size
    "scan-mix:name=analytics-loop,seed=15,objects=8000,alpha=0.8,scan_share=0.05,loop_share=0.45,"
    "loop_objects=6000,loop_burst=200",
)
_TEST = (
    # block storage with scans, a loop and a skewed working set together
    "scan-mix:name=block-mixed,seed=16,objects=15000,alpha=1.0,scan_share=0.2,scan_objects=30000,"
    "scan_length=1000,loop_share=0.2,loop_objects=3000,loop_burst=300,"
    "sizes=pareto,size_min=4096,size_shape=1.5,size_max=524288",
    # video: heavy-tailed sizes, and a hot set that moves slowly
    "drift:name=video-drift,seed=17,objects=30000,alpha=1.0,period=4000,churn=0.02,"
    "sizes=pareto,size_min=100000,size_shape=2.0,size_max=100000000",
)

EMBEDDED: dict[str, tuple[str, ...]] = {"train": _TRAIN, "validation": _VALIDATION, "test": _TEST}
"""Specifications for `vulcan_traces.load_trace`, by the split they belong to."""
