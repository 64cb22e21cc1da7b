"""What one pass counts is what the definitions say, counted slowly."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_statistics import (
    gaps,
    loop_requests,
    morisita,
    parts_of,
    reuse_distances,
    scan_requests,
    sequence_requests,
    trace_of,
)

from vulcan_traces.fingerprint import QUANTILES, Distribution, fingerprint


@st.composite
def patterned(draw: st.DrawFn) -> list[int]:
    """Ids in pieces: at random, scans of ids that run on, and repetitions of what came before."""
    ids: list[int] = []
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["random", "scan", "again"]))
        length = draw(st.integers(1, 90))
        if kind == "random":
            ids += draw(st.lists(st.integers(0, 50), min_size=1, max_size=60))
        elif kind == "scan" or not ids:
            start = draw(st.integers(0, 300))
            ids += range(start, start + length)
        else:
            ids += ids[-length:]
    return ids


def assert_distribution(found: Distribution, numbers: list[int]) -> None:
    ordered = sorted(numbers)
    assert found.count == len(numbers)
    assert list(found.quantiles) == [
        ordered[max(1, math.ceil(share * len(ordered))) - 1] for share in QUANTILES if ordered
    ]
    for low, high, share in found.octaves:
        assert (low, high) in [(0, 0), *((1 << k, (2 << k) - 1) for k in range(63))]
        assert share == sum(low <= number <= high for number in numbers) / len(numbers) > 0
    assert sum(share for *_, share in found.octaves) == pytest.approx(1.0 if numbers else 0.0)


@settings(max_examples=examples(150))
@given(patterned(), st.integers(1, 8))
def test_every_statistic_is_its_definition(ids: list[int], sizes: int) -> None:
    size_of = [1 + (key * 7919 + i // 50) % sizes for i, key in enumerate(ids)]
    times = np.cumsum([0.5 + key % 3 for key in ids]).tolist()
    found = fingerprint(trace_of(ids, size_of, times))
    n, counts = len(ids), Counter(ids)
    first_size = dict(reversed(list(zip(ids, size_of, strict=True))))
    assert (found.requests, found.objects) == (n, len(counts))
    assert found.footprint == sum(first_size.values())
    assert found.requested_bytes == sum(size_of)
    assert found.cold_share == len(counts) / n
    assert found.one_hit_share == sum(count == 1 for count in counts.values()) / len(counts)
    assert found.duration == pytest.approx(times[-1] - times[0])
    assert_distribution(found.reuse_distances, reuse_distances(ids))
    assert_distribution(found.object_sizes, list(first_size.values()))
    assert found.size_mean == pytest.approx(np.mean(list(first_size.values())))
    assert found.scan_share == scan_requests(ids) / n
    assert found.loop_share == loop_requests(ids) / n
    assert found.sequence_share == sequence_requests(ids, size_of) / n
    assert found.late_cold_share == sum(gap == 0 for gap in gaps(ids)[n // 2 :]) / (n - n // 2)


@settings(max_examples=examples(100))
@given(st.lists(st.integers(0, 12), min_size=64, max_size=400))
def test_drift_is_one_less_morisitas_overlap(ids: list[int]) -> None:
    parts = parts_of(ids)
    if any(max(Counter(part).values()) == 1 for part in parts):
        return  # undefined, and said what it is then
    found = fingerprint(trace_of(ids))
    steps = [1 - min(1.0, morisita(one, other)) for one, other in pairwise(parts)]
    assert found.drift == pytest.approx(np.mean(steps))
    assert found.drift_from_start == pytest.approx(1 - min(1.0, morisita(parts[0], parts[-1])))


@pytest.mark.parametrize(
    ("keys", "size", "share"),
    [
        (range(0, 100), 1, 1.0),  # ids that are block numbers
        (range(0, 100 * 4096, 4096), 4096, 1.0),  # ids that are offsets in bytes
        (range(0, 100 * 8, 8), 4096, 1.0),  # ids that are sectors of 512 bytes
        (range(100, 0, -1), 1, 0.0),
        ([7] * 100, 0, 0.0),  # the same object again is no step
    ],
)
def test_a_sequence_is_ids_that_run_on(keys, size: int, share: float) -> None:
    found = fingerprint(trace_of(list(keys), [size] * 100))
    assert found.sequence_share == share


def test_rank_correlation_is_spearmans() -> None:
    """1 - 6 sum d^2 / (n (n^2 - 1)), which holds where no two values are equal."""
    counts, sizes = [1, 2, 3, 4, 5], [30, 10, 50, 20, 40]
    keys = [key for key, count in enumerate(counts) for _ in range(count)]
    found = fingerprint(trace_of(keys, [sizes[key] for key in keys])).size_correlation
    ranks = [sorted(sizes).index(size) + 1 for size in sizes]
    squares = sum((a - b) ** 2 for a, b in zip(ranks, counts, strict=True))
    assert found is not None
    assert math.isclose(found, 1 - 6 * squares / (5 * 24))
