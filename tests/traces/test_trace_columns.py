"""The columns of a trace against slow definitions of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traces_in_memory import build_trace

from vulcan.errors import UserError
from vulcan_traces.raw_requests import MAX_SIZE, RawRequests, unit_requests

KEYS = st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 5), min_size=1, max_size=200)


def built(keys, sizes=None):
    raw = unit_requests(np.array(keys, np.uint64))
    if sizes is not None:
        raw = RawRequests(raw.keys, np.array(sizes, np.int64), raw.times)
    return build_trace("t", "00", raw)


@settings(deadline=None)  # the first example loads a kernel
@given(KEYS)
def test_dense_ids_number_objects_in_order_of_first_appearance(keys):
    trace = built(keys)
    order = list(dict.fromkeys(keys))
    assert trace.keys.tolist() == order
    assert trace.objects.tolist() == [order.index(key) for key in keys]
    assert trace.object_count == len(order)
    assert trace.requests == len(keys)


@settings(deadline=None)  # the first example loads a kernel
@given(KEYS)
def test_next_access_is_the_next_request_for_the_same_key(keys):
    expected = [next((j for j in range(i + 1, len(keys)) if keys[j] == keys[i]), -1) for i in range(len(keys))]
    assert built(keys).next_access.tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, MAX_SIZE)), min_size=1, max_size=100))
def test_footprint_counts_each_object_at_its_first_size(requests):
    first: dict[int, int] = {}
    for key, size in requests:
        first.setdefault(key, size)
    assert built(*zip(*requests, strict=True)).footprint == sum(first.values())


def test_unit_sized_needs_every_size_to_be_one():
    assert built([7, 8, 7]).unit_sized
    assert not built([7, 8, 7], [1, 1, 2]).unit_sized


def test_a_trace_without_a_request_is_an_error():
    with pytest.raises(UserError, match="holds no request"):
        built([])
