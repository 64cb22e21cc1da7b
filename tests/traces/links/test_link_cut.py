"""A part of a link lets through what the whole lets through in that time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from vulcan.errors import UserError
from vulcan_traces.links import LinkTrace, cut_link, make_link, repeated


@st.composite
def any_link(draw: st.DrawFn) -> LinkTrace:
    gaps = draw(st.lists(st.integers(0, 50), min_size=1, max_size=30))
    if draw(st.booleans()):
        times = np.cumsum(gaps) + 1
        return make_link("x", "opportunities", times, int(times[-1]) + draw(st.integers(0, 20)))
    times = np.cumsum([0, *(gap + 1 for gap in gaps)])
    rates = draw(st.lists(st.integers(0, 9), min_size=len(times), max_size=len(times)))
    rates[draw(st.integers(0, len(rates) - 1))] = 7
    return make_link("x", "rates", times, int(times[-1]) + 1 + draw(st.integers(0, 20)), np.array(rates) * 1e9)


@given(link=any_link(), shares=st.lists(st.floats(0.01, 0.99), min_size=1, max_size=4))
@settings(max_examples=examples(200))
def test_the_parts_carry_together_what_the_whole_carries(link, shares):
    cuts = sorted({0, link.period, *(round(share * link.period) for share in shares)})
    carried = 0.0
    for start, stop in pairwise(cuts):
        try:
            part = cut_link(link, start, stop)
        except UserError:
            continue  # nothing is let through there
        assert part.period == stop - start
        carried += part.bits
    assert carried == pytest.approx(link.bits)


@given(link=any_link(), times=st.integers(1, 5))
@settings(max_examples=examples(100))
def test_a_repeated_link_is_the_same_link(link, times):
    longer = repeated(link, link.period * times)
    assert longer.period == link.period * times
    assert longer.mean_rate == pytest.approx(link.mean_rate)
    assert cut_link(longer, 0, link.period).digest == link.digest
    assert repeated(link, link.period * times - 1 if times > 1 else 1).period == longer.period


def test_a_part_without_any_capacity_is_refused():
    link = make_link("quiet", "opportunities", np.array([1, 2, 3]), 100)
    with pytest.raises(UserError, match=r"quiet: nothing is delivered from .* use --split none"):
        cut_link(link, 50, 100)
    with pytest.raises(ValueError, match="not within a period"):
        cut_link(link, 50, 101)


@pytest.mark.parametrize(
    ("kind", "times", "period", "rates"),
    [
        ("opportunities", [0, 1], 2, None), ("opportunities", [2, 1], 2, None), ("opportunities", [1, 3], 2, None),
        ("opportunities", [], 2, None), ("opportunities", [1], 0, None), ("opportunities", [1], 2, [1.0]),
        ("rates", [1], 2, [1.0]), ("rates", [0, 0], 2, [1.0, 1.0]), ("rates", [0, 2], 2, [1.0, 1.0]),
        ("rates", [0], 2, [0.0]), ("rates", [0], 2, [-1.0]), ("rates", [0], 2, [float("nan")]),
        ("rates", [0, 1], 2, [1.0]),
    ],
)  # fmt: skip
def test_what_is_no_link_is_refused(kind, times, period, rates):
    with pytest.raises(ValueError):
        make_link("x", kind, np.array(times, np.int64), period, None if rates is None else np.array(rates))
