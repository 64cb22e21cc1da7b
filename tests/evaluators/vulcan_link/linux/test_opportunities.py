"""A trace becomes the times at which the emulated link may carry a packet."""

from __future__ import annotations

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from vulcan_link.linux.bottleneck import opportunity_times
from vulcan_traces.links import make_link

MS = 1_000_000


def test_opportunities_repeat_with_the_period() -> None:
    link = make_link("two", "opportunities", np.array([2, 2, 5]) * MS, 5 * MS)
    assert (opportunity_times(link, 12 * MS) // MS).tolist() == [2, 2, 5, 7, 7, 10, 12, 12]


def test_a_link_carries_nothing_in_an_outage_and_goes_on_where_it_was() -> None:
    rates = np.array([12e6, 0.0, 24e6])
    link = make_link("outage", "rates", np.array([0, 1_500_000, 4_000_000]), 6 * MS, rates)
    # 1.5 packets, then nothing, then the other half after a quarter of a millisecond; 5.5 packets in each 6 ms
    times = opportunity_times(link, 12 * MS) / MS
    assert times == pytest.approx([1, 4.25, 4.75, 5.25, 5.75, 6.5, 7.5, 10.5, 11, 11.5, 12], abs=1e-5)


@settings(derandomize=True, max_examples=examples(60), deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 50), st.floats(0, 200)), min_size=1, max_size=8).filter(
        lambda steps: any(rate > 1 for _, rate in steps)
    ),
    st.integers(1, 300),
)
def test_as_many_packets_as_the_rates_can_carry(steps: list[tuple[int, float]], until_ms: int) -> None:
    begins = np.cumsum([0, *(lasting for lasting, _ in steps)]) * MS
    rates = np.array([rate * 1e6 for _, rate in steps])
    link = make_link("steps", "rates", begins[:-1], int(begins[-1]), rates)
    times = opportunity_times(link, until_ms * MS)
    carried = sum(rates[np.searchsorted(begins, ms * MS % begins[-1], "right") - 1] * 1e-3 for ms in range(until_ms))
    assert abs(len(times) - carried / 12_000) <= 1
    assert (np.diff(times) >= 0).all()
