"""Single pass over a trace that collects a fingerprint's counts; compiled, so import it late."""

from __future__ import annotations

import numpy as np

from vulcan.kernel_support import allocating_helper, allocating_kernel, from_dtype, types

PARTS = 8
"""Drift is measured between as many parts of equal length."""

RUN = 32
"""A scan or a loop is a run of at least as many requests."""

RECORD = np.dtype(
    [
        ("last", np.int64),  # index of the newest request, from 1: 0 says that there was none
        ("key", np.uint64),
        ("count", np.uint32),
        ("first_size", np.int64),
        ("in_part", np.uint32),  # requests in the part of the newest request, in the part before, in the first part
        ("in_part_before", np.uint32),
        ("in_first_part", np.uint32),
    ]
)
"""Record of an object: a cache line at most."""

TOTALS = np.dtype(
    [
        ("requested_bytes", np.int64),
        ("footprint", np.int64),
        ("in_sequences", np.int64),
        ("in_cold_runs", np.int64),
        ("in_loops", np.int64),
        ("late_cold", np.int64),
    ]
)

_SIGNATURE = types.void(
    *(types.Array(kind, 1, "C", readonly=True) for kind in (types.uint32, types.int64, types.uint64)),
    types.Array(from_dtype(RECORD), 1, "C"),
    types.Array(from_dtype(TOTALS), 1, "C"),
    types.float64[:, ::1],
)


@allocating_helper
def _closed_run(length):
    return length if length >= RUN else 0


@allocating_kernel(_SIGNATURE)
def observe(objects, sizes, keys, records, totals, parts):
    """Observe all requests in one pass.

    `objects` and `sizes` of shape (requests,) and `keys` of shape (objects,) are those of a Trace. `records` (objects,)
    and `totals` (1,), of zeros, are filled, and `parts` (3, PARTS), the sums that drift is computed of: over objects,
    c (c - 1) of the part; the product of c in this part and the one before; the product of c in this part and the first
    one.
    """
    n = len(objects)
    total = totals[0]
    requested_bytes = np.int64(0)
    footprint = np.int64(0)
    in_sequences = np.int64(0)
    in_cold_runs = np.int64(0)
    in_loops = np.int64(0)
    late_cold = np.int64(0)
    sequence = np.int64(0)
    cold_run = np.int64(0)
    loop = np.int64(0)
    key_before = np.uint64(0)
    size_before = np.uint64(0)
    gap_before = np.int64(0)
    for part in range(PARTS):
        start = part * n // PARTS
        end = (part + 1) * n // PARTS
        before_start = max(part - 1, 0) * n // PARTS
        repeats = np.float64(0)
        with_before = np.float64(0)
        with_first = np.float64(0)
        for i in range(start, end):
            obj = np.uint64(objects[i])
            size = sizes[i]
            record = records[obj]
            last = record.last - 1
            requested_bytes += size
            gap = np.int64(0)
            if last < 0:
                record.key = keys[obj]
                record.first_size = size
                late_cold += i >= n // 2
                footprint += size
                cold_run += 1
            else:
                gap = i - last
                in_cold_runs += _closed_run(cold_run)
                cold_run = 0
            if last < start:
                record.in_part_before = record.in_part if last >= before_start and last >= 0 else 0
                record.in_part = 0
            repeats += 2.0 * record.in_part
            with_before += record.in_part_before
            record.in_part += 1
            if part == 0:
                record.in_first_part = record.in_part
            else:
                with_first += record.in_first_part
            step = record.key - key_before
            if i and (
                step == np.uint64(1)
                or (step != np.uint64(0) and (step == size_before or step << np.uint64(9) == size_before))
            ):
                sequence += 1
            else:
                in_sequences += _closed_run(sequence)
                sequence = 1
            if gap >= RUN and gap == gap_before:
                loop += 1
            else:
                in_loops += _closed_run(loop)
                loop = 1 if gap >= RUN else 0
            key_before = record.key
            size_before = np.uint64(size)
            gap_before = gap
            record.last = i + 1
            record.count += 1
        parts[0, part] = repeats
        parts[1, part] = with_before
        parts[2, part] = with_first
    total.requested_bytes = requested_bytes
    total.footprint = footprint
    total.in_sequences = in_sequences + _closed_run(sequence)
    total.in_cold_runs = in_cold_runs + _closed_run(cold_run)
    total.in_loops = in_loops + _closed_run(loop)
    total.late_cold = late_cold
