"""libCacheSim as the oracle: exact counts of misses, from the ratios that it reports."""

from __future__ import annotations

import os
import tempfile

import numpy as np
import pytest
from baseline_traces import Columns

_RECORD = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])


def oracle_counts(policy: str, trace: Columns, capacity: int) -> tuple[int, int]:
    """Misses and missed bytes of libCacheSim's policy; its ratios must be those of whole numbers."""
    libcachesim = pytest.importorskip("libcachesim", reason="libcachesim is the oracle and is not installed")
    rows = np.zeros(len(trace.objects), _RECORD)
    rows["id"] = trace.objects.astype(np.uint64) + 1
    rows["size"] = trace.sizes
    rows["next"] = trace.next_access
    handle, path = tempfile.mkstemp(suffix=".oracleGeneral.bin")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(rows.tobytes())
        reader = libcachesim.TraceReader(trace=path, trace_type=libcachesim.TraceType.ORACLE_GENERAL_TRACE)
        cache = getattr(libcachesim, policy)(cache_size=capacity, hashpower=16)
        ratio, byte_ratio = cache.process_trace(reader)
    finally:
        os.unlink(path)
    total = int(trace.sizes.astype(np.int64).sum())
    misses, missed_bytes = ratio * len(rows), byte_ratio * total
    assert abs(misses - round(misses)) < 1e-3
    assert abs(missed_bytes - round(missed_bytes)) < 1e-9 * total + 0.3
    return round(misses), round(missed_bytes)
