"""What sampling costs in precision, on real traces: bounds that were measured, with a little room."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from effort import few

from vulcan_traces import load_trace
from vulcan_traces.fingerprint import Fingerprint, fingerprint
from vulcan_traces.fingerprint.measure import EXACT_REQUESTS, SAMPLED_OBJECTS

# path, format, largest and mean difference of a miss ratio from the exact one over 16 capacities
LONG = [
    ("arc/OLTP.lis.zst", None, 0.015, 0.005),
    ("arc/P3.lis.zst", None, 0.004, 0.002),
    ("caffeine/cloud_physics/w106.trace.xz", "be-u32", 0.018, 0.005),
    ("caffeine/scarab/scarab-recs.trace.xz", "be-i64", 0.045, 0.012),
    ("derived/tragen_eu3_social.oracleGeneral.bin.zst", None, 0.004, 0.001),
]


def differences(sampled: Fingerprint, exact: Fingerprint) -> tuple[float, float]:
    """Of requests and of bytes, over all curves."""
    off = []
    for one, other in zip(sampled.curves, exact.curves, strict=True):
        assert one.capacities == other.capacities
        off.append(np.abs(np.array(one.miss_ratios) - other.miss_ratios))
        off.append(np.abs(np.array(one.byte_miss_ratios) - other.byte_miss_ratios))
    return max(float(each.max()) for each in off), max(float(each.mean()) for each in off)


@pytest.mark.parametrize(("path", "format", "largest", "mean"), few(LONG, 1))
def test_the_error_of_sampling_is_bounded(
    cache_traces: Path, path: str, format: str | None, largest: float, mean: float
) -> None:
    trace = load_trace(cache_traces / path, format=format)
    sampled = fingerprint(trace)
    exact = fingerprint(trace, exact_requests=trace.requests)
    assert exact.sample_rate == 1
    assert sampled.sample_rate * trace.object_count == pytest.approx(SAMPLED_OBJECTS, rel=0.02)
    found_largest, found_mean = differences(sampled, exact)
    assert found_largest <= largest
    assert found_mean <= mean
    for share in (0.5, 0.9):
        near = exact.reuse_distances.quantile(share)
        assert sampled.reuse_distances.quantile(share) == pytest.approx(near, rel=0.25)


def test_all_but_curves_and_distances_is_the_same_sampled_or_not() -> None:
    trace = load_trace("zipf:requests=300000,objects=100000,alpha=0.8,seed=4")
    sampled, exact = fingerprint(trace, sampled_objects=5000), fingerprint(trace, exact_requests=10**6)
    assert sampled.sample_rate < 0.1
    for name in ("zipf_exponent", "gaps", "windows", "drift", "one_hit_share", "object_sizes", "loop_share"):
        assert getattr(sampled, name) == getattr(exact, name)


def test_short_traces_and_few_objects_are_not_sampled() -> None:
    short = load_trace(f"zipf:requests={EXACT_REQUESTS},objects=200000,alpha=0.2,seed=1")
    few = load_trace(f"zipf:requests={2 * EXACT_REQUESTS},objects=1000,alpha=0.8,seed=1")
    many = load_trace(f"zipf:requests={2 * EXACT_REQUESTS},objects=200000,alpha=0.2,seed=1")
    assert short.object_count > SAMPLED_OBJECTS
    assert [fingerprint(trace).sample_rate for trace in (short, few)] == [1.0, 1.0]
    assert fingerprint(many).sample_rate < 0.5
