"""What sampling costs in precision, on real traces: bounds that were measured, with a little room."""

from __future__ import annotations

import pytest
from effort import few
from real_data import real_data

from vulcan_traces import load_trace
from vulcan_traces.fingerprint import fingerprint
from vulcan_traces.fingerprint.measure import EXACT_REQUESTS, SAMPLED_OBJECTS

LONG = [
    ("arc/OLTP.lis.zst", None),
    ("arc/P3.lis.zst", None),
    ("caffeine/cloud_physics/w106.trace.xz", "be-u32"),
    ("caffeine/scarab/scarab-recs.trace.xz", "be-i64"),
    ("derived/tragen_eu3_social.oracleGeneral.bin.zst", None),
]


@pytest.mark.parametrize(("path", "format"), few(LONG, 1))
def test_the_error_of_sampling_is_bounded(path: str, format: str | None) -> None:
    trace = load_trace(real_data("cache", path), format=format)
    sampled = fingerprint(trace)
    exact = fingerprint(trace, exact_requests=trace.requests)
    assert exact.sample_rate == 1
    assert sampled.sample_rate * trace.object_count == pytest.approx(SAMPLED_OBJECTS, rel=0.02)
    for share in (0.5, 0.9):
        near = exact.reuse_distances.quantile(share)
        assert sampled.reuse_distances.quantile(share) == pytest.approx(near, rel=0.25)


def test_all_but_distances_is_the_same_sampled_or_not() -> None:
    trace = load_trace("zipf:requests=300000,objects=100000,alpha=0.8,seed=4")
    sampled, exact = fingerprint(trace, sampled_objects=5000), fingerprint(trace, exact_requests=10**6)
    assert sampled.sample_rate < 0.1
    for name in ("zipf_exponent", "late_cold_share", "drift", "one_hit_share", "object_sizes", "loop_share"):
        assert getattr(sampled, name) == getattr(exact, name)


def test_short_traces_and_few_objects_are_not_sampled() -> None:
    short = load_trace(f"zipf:requests={EXACT_REQUESTS},objects=200000,alpha=0.2,seed=1")
    few = load_trace(f"zipf:requests={2 * EXACT_REQUESTS},objects=1000,alpha=0.8,seed=1")
    many = load_trace(f"zipf:requests={2 * EXACT_REQUESTS},objects=200000,alpha=0.2,seed=1")
    assert short.object_count > SAMPLED_OBJECTS
    assert [fingerprint(trace).sample_rate for trace in (short, few)] == [1.0, 1.0]
    assert fingerprint(many).sample_rate < 0.5
