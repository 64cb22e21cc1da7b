"""Samples of accesses."""

from __future__ import annotations

import numpy as np
import pytest

from vulcan.errors import UserError
from vulcan_tiering.page_sample import sample_of
from vulcan_tiering.simulate import sample_accesses
from vulcan_traces.memory import load_page_counts

SPEC = "ycsb:records=3000,intervals=8,loads=20000,cache=8192,seed=5"


@pytest.fixture(scope="module")
def counts():
    return load_page_counts(SPEC)


def test_with_a_period_of_one_all_is_seen(counts):
    samples = sample_accesses(counts, 1, 1)
    assert np.array_equal(samples.reads, counts.loads)
    assert np.array_equal(samples.writes, counts.stores)


@pytest.mark.parametrize("period", [2, 7, 32])
def test_each_access_is_sampled_with_the_same_probability(counts, period):
    samples = sample_accesses(counts, period, 1)
    for seen, all_of_them in ((samples.reads, counts.loads), (samples.writes, counts.stores)):
        total = int(all_of_them.sum())
        deviation = (total / period * (1 - 1 / period)) ** 0.5
        assert abs(int(seen.sum()) - total / period) < 4 * deviation
        assert (seen <= all_of_them).all()
    # and independently: the variance over pages of about one count is binomial
    same = counts.loads == np.bincount(counts.loads[counts.loads > 0]).argmax()
    found = samples.reads[same]
    expected = float(counts.loads[same][0]) / period * (1 - 1 / period)
    assert found.var() == pytest.approx(expected, rel=0.25)


def test_seeds_differ_and_repeat(counts):
    reads = [sample_accesses(counts, 8, seed).reads for seed in (1, 1, 2)]
    assert np.array_equal(reads[0], reads[1])
    assert not np.array_equal(reads[0], reads[2])


@pytest.mark.parametrize("period", [0, -3, 2**31 + 1])
def test_periods_that_make_no_sense(counts, period):
    with pytest.raises(UserError, match="sample period"):
        sample_accesses(counts, period, 1)


def test_a_sample_of_pages_is_some_of_the_columns(counts):
    samples = sample_accesses(counts, 4, 1)
    fewer, fewer_samples = sample_of(counts, samples, 8)
    assert counts.pages / 8 * 0.6 < fewer.pages < counts.pages / 8 * 1.5
    assert fewer.digest != counts.digest
    columns = {counts.loads[:, p].tobytes() + counts.stores[:, p].tobytes() for p in range(counts.pages)}
    taken = [fewer.loads[:, p].tobytes() + fewer.stores[:, p].tobytes() for p in range(fewer.pages)]
    assert set(taken) <= columns
    assert (np.diff(fewer.arrivals) >= 0).all()
    assert fewer_samples.reads.shape == fewer.loads.shape
    assert sample_of(counts, samples, 1) == (counts, samples)
