"""Fingerprints of degenerate traces, of prefixes, and as documents."""

from __future__ import annotations

import dataclasses
import json

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_statistics import trace_of

from vulcan_traces.fingerprint import STATISTICS, Fingerprint, fingerprint
from vulcan_traces.fingerprint.fingerprint import document, summary
from vulcan_traces.raw_requests import MAX_SIZE


def test_always_the_same() -> None:
    found = fingerprint(trace_of([5] * 1000))
    assert found.cold_share == 0.001
    assert found.reuse_distances.octaves == ((0, 0, 1.0),)
    assert (found.drift, found.scan_share, found.loop_share, found.sequence_share) == (0, 0, 0, 0)
    assert found.top_percent_share == 1


def test_the_largest_sizes_and_times() -> None:
    found = fingerprint(trace_of([1, 2, 1] * 50, [MAX_SIZE] * 150, [i * 1e12 for i in range(150)]))
    assert found.requested_bytes == 150 * MAX_SIZE
    assert found.duration == 149e12
    json.dumps(document(found), allow_nan=False)


def same(one: Fingerprint, other: Fingerprint) -> bool:
    return dataclasses.asdict(one) == dataclasses.asdict(other)


@settings(max_examples=examples(60))
@given(st.lists(st.integers(0, 30), min_size=2, max_size=300), st.data())
def test_a_prefix_is_as_if_the_trace_ended_there(ids: list[int], data: st.DataObject) -> None:
    first = data.draw(st.integers(1, len(ids)))
    sizes = [key % 4 + 1 for key in ids]
    whole, cut = trace_of(ids, sizes), trace_of(ids[:first], sizes[:first])
    assert same(fingerprint(whole, first=first), fingerprint(cut))


@pytest.mark.parametrize("ids", [[1], [1] * 70, list(range(70)), [1, 2, 3] * 40])
def test_every_trace_can_be_told(ids: list[int]) -> None:
    found = fingerprint(trace_of(ids))
    told = "\n".join(summary(found))
    assert all(name in told for name in STATISTICS)
