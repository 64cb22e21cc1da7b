"""Selecting by radix is sorting and cutting off."""

from __future__ import annotations

import math

import numpy as np
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from vulcan_tiering.kernels.selection import DIGITS, order, pop_first, push_down

SCORES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 5e-324, 2.0**53, 1.0 + 2**-52]),
    st.floats(-1e300, 1e300),
    st.integers(0, 4).map(float),
)


def key_of(score: float) -> int:
    """Orders as scores do; both zeros are equal."""
    bits = int(np.float64(0.0 if score == 0 else score).view(np.uint64))
    return bits | 1 << 63 if bits < 1 << 63 else ~bits & (1 << 64) - 1


@settings(max_examples=examples(500))
@given(scores=st.lists(SCORES, min_size=1, max_size=60), share=st.floats(0, 1), backwards=st.booleans(), data=st.data())
def test_the_best_come_first_and_ties_go_to_the_lower_number(scores, share, backwards, data):
    chosen = data.draw(st.lists(st.sampled_from(range(len(scores))), min_size=1, unique=True).map(sorted))
    wanted = math.floor(share * len(chosen))
    pages = np.array(chosen, np.int64)
    keys = np.array([key_of(score) for score in scores], np.uint64)
    order(keys, pages, len(chosen), wanted, backwards, np.zeros(DIGITS, np.int64), np.zeros(2 * len(pages), np.int64))
    ranked = sorted(chosen, key=lambda page: (-scores[page], page), reverse=backwards)
    assert sorted(pages) == chosen
    assert list(pages[:wanted]) == sorted(ranked[:wanted])
    assert list(pages[wanted:]) == sorted(ranked[wanted:])


@settings(max_examples=examples(200))
@given(scores=st.lists(SCORES, min_size=1, max_size=40), backwards=st.booleans())
def test_a_heap_gives_pages_in_order(scores, backwards):
    keys = np.array([key_of(score) for score in scores], np.uint64)
    pages = np.arange(len(scores))
    for place in reversed(range(len(scores))):
        push_down(keys, pages, len(scores), place, backwards)
    found, left = [], len(scores)
    while left:
        found.append(int(pages[0]))
        left = pop_first(keys, pages, left, backwards)
    assert found == sorted(range(len(scores)), key=lambda page: (-scores[page], page), reverse=backwards)
