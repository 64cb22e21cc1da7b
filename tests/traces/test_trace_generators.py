"""Generated traces: the same for the same specification, and of the distribution that they name."""

from __future__ import annotations

import numpy as np
import pytest

from vulcan.errors import UserError
from vulcan_traces import load_trace
from vulcan_traces.synthetic.generator_spec import GENERATORS, generate_requests, parse_generator_spec

SIZED = "sizes=lognormal,size_median=1000,size_sigma=1.5"


def generated(spec):
    return generate_requests(parse_generator_spec(spec))


def original(trace):
    return trace.keys[trace.objects].astype(np.int64)


@pytest.mark.parametrize("kind", GENERATORS)
def test_the_same_specification_gives_the_same_trace(kind):
    spec = f"{kind}:requests=20000,objects=2000,{SIZED},seed=5"
    one, two = generated(spec), generated(spec)
    for column in ("keys", "sizes", "times"):
        assert np.array_equal(getattr(one, column), getattr(two, column))
    assert len(one.keys) == 20_000


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 1.4])
def test_zipf_counts_fall_with_the_power_of_the_rank(alpha):
    counts = np.bincount(generated(f"zipf:requests=300000,objects=1000,alpha={alpha}").keys.astype(int))
    expected = np.arange(1, 1001) ** -alpha
    expected *= 300_000 / expected.sum()
    head = slice(0, 100)
    assert np.abs(counts[head] - expected[head]).max() < 5 * np.sqrt(expected[0])
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert 1000 - 250 < chi_square < 1000 + 250  # 999 degrees of freedom, standard deviation 45


def test_scans_run_in_sequence_from_places_all_over():
    keys = generated("scan:requests=50000,objects=5000,length=100").keys.astype(int).reshape(500, 100)
    assert np.all((np.diff(keys, axis=1) % 5000) == 1)
    assert abs(keys[:, 0].mean() - 2500) < 5 * 5000 / np.sqrt(12 * 500)


def test_a_mix_has_the_shares_it_names():
    spec = "scan-mix:requests=200000,objects=1000,scan_share=0.2,scan_objects=50000,scan_length=50"
    trace = load_trace(f"{spec},loop_share=0.3,loop_objects=2000,once_share=0.1,loop_burst=20")
    ids = original(trace)
    assert trace.object_count > 1000 + 2000 + 15_000
    assert np.count_nonzero(ids < 1000) / 200_000 == pytest.approx(0.4, abs=0.01)
    in_sequence = (np.diff(ids) == 1) & (ids[1:] > 1000)
    assert in_sequence.mean() == pytest.approx(0.2 * 49 / 50 + 0.3 * 19 / 20 + 0.1 * 0.1, abs=0.02)


def test_drift_moves_popularity_and_zipf_does_not():
    def overlap(spec):
        keys = generated(spec).keys.astype(int)
        early, late = (np.bincount(part, minlength=5000) for part in (keys[:20_000], keys[-20_000:]))
        return len(set(np.argsort(early)[-50:]) & set(np.argsort(late)[-50:]))

    still = overlap("zipf:requests=200000,objects=5000,alpha=1.0")
    moved = overlap("drift:requests=200000,objects=5000,alpha=1.0,period=1000,churn=0.05")
    assert still > 40
    assert moved < 10


@pytest.mark.parametrize("correlation", [-0.8, 0.0, 0.8])
def test_lognormal_sizes_have_their_median_spread_and_correlation(correlation):
    spec = f"zipf:requests=300000,objects=5000,alpha=0.6,{SIZED},size_correlation={correlation}"
    raw = generated(spec)
    counts = np.bincount(raw.keys.astype(int))
    sizes = np.zeros(len(counts))
    sizes[raw.keys.astype(int)] = raw.sizes
    logs = np.log(sizes[counts > 0])
    assert np.exp(np.median(logs)) == pytest.approx(1000, rel=0.1)
    assert logs.std() == pytest.approx(1.5, rel=0.05)
    ranks = [np.argsort(np.argsort(values)) for values in (logs, counts[counts > 0])]
    spearman = np.corrcoef(*ranks)[0, 1]
    assert spearman == pytest.approx(6 / np.pi * np.arcsin(correlation / 2), abs=0.05)


def test_pareto_sizes_have_their_tail_and_limits():
    raw = generated("loop:requests=20000,objects=20000,sizes=pareto,size_min=1000,size_shape=1.5,size_max=50000")
    assert (raw.sizes.min(), raw.sizes.max()) == (1000, 50_000)
    assert np.mean(raw.sizes > 4000) == pytest.approx(0.125, abs=0.002)


def test_arrivals_have_the_rate():
    times = generated("zipf:requests=100000,rate=250").times
    assert np.all(np.diff(times) >= 0)
    assert times[-1] == pytest.approx(400, rel=0.02)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("zpif:requests=5", "did you mean 'zipf'"),
        ("zipf:requets=5", "did you mean 'requests'"),
        ("zipf:loop_share=0.5", "no key 'loop_share'"),
        ("zipf:requests=many", "a whole number is needed"),
        ("zipf:requests=1.5", "a whole number is needed"),
        ("zipf:alpha=nan", "between 0 and 10"),
        ("zipf:requests=0", "between 1 and"),
        ("zipf:requests", "not of the form requests=value"),
        ("zipf:seed=1,seed=2", "given twice"),
        ("zipf:sizes=lognorml", "did you mean 'lognormal'"),
        ("zipf:size_sigma=2", "size_sigma is for sizes=lognormal"),
        ("scan-mix:scan_share=0.6,loop_share=0.6", "is over 1"),
        ("zipf:,", "no key ''"),
    ],
)
def test_wrong_specifications_are_errors(spec, why):
    with pytest.raises(UserError) as error:
        load_trace(spec)
    assert why in str(error.value)
    assert "\n" not in str(error.value)
