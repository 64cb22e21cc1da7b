"""Generated links are what their specification says, and the same every time."""

from __future__ import annotations

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from vulcan.errors import UserError
from vulcan_traces.links import load_link

S = 10**9


def test_a_markov_link_stays_within_its_range_and_moves_to_neighbours():
    link = load_link("markov:low=2,high=32,states=5,dwell=0.2,jump=0,seconds=400,seed=4")
    levels = np.rint(np.geomspace(2, 32, 5) * 1e6)
    assert set(link.rates) == set(levels)
    states = np.searchsorted(levels, link.rates)
    assert np.abs(np.diff(states)).max() == 1
    stays = np.diff(np.append(link.times, link.period)) / S
    assert stays.mean() == pytest.approx(0.2, rel=0.1)
    assert stays.std() == pytest.approx(0.2, rel=0.15)  # as an exponential distribution has it
    jumping = load_link("markov:low=2,high=32,states=5,dwell=0.2,jump=1,seconds=400,seed=4")
    assert np.abs(np.diff(np.searchsorted(levels, jumping.rates))).max() > 1


def test_outages_are_as_long_and_as_frequent_as_said():
    link = load_link("outage:rate=10,every=5,length=0.5,seconds=20000,seed=2")
    stays = np.diff(np.append(link.times, link.period)) / S
    assert set(link.rates) == {0.0, 10e6}
    assert stays[link.rates == 0].mean() == pytest.approx(0.5, rel=0.1)
    assert stays[link.rates > 0].mean() == pytest.approx(5, rel=0.1)
    assert link.mean_rate == pytest.approx(10e6 * 5 / 5.5, rel=0.05)


@pytest.mark.parametrize("spec", ["constant:rate=30,seconds=2", "outage:rate=9,every=0.2,length=0.1,seed=3,seconds=5"])
@pytest.mark.parametrize("slot", [0.001, 0.0037, 0.02])
def test_slots_deliver_at_their_ends_the_whole_packets_that_came_until_then(spec, slot):
    smooth, slotted = load_link(spec), load_link(f"{spec},slot={slot}")
    assert slotted.kind == "opportunities"
    assert slotted.period == smooth.period
    ends = [*range(round(slot * S), smooth.period, round(slot * S)), smooth.period]
    sent, bits, piece = [], 0.0, 0
    now = 0
    for end in ends:
        while now < end:
            stop = int(smooth.times[piece + 1]) if piece + 1 < len(smooth.times) else smooth.period
            bits += (min(end, stop) - now) / S * smooth.rates[piece]
            now = min(end, stop)
            piece += now == stop
        sent.append(int(bits / (8 * 1504) + 1e-6))
    assert [int(n) for n in np.searchsorted(slotted.times, ends, side="right")] == sent
    assert set(slotted.times) <= set(ends)


@pytest.mark.parametrize("kind", ["markov", "outage"])
def test_the_seed_decides_the_rest(kind):
    one, again, other = (load_link(f"{kind}:seed={seed}") for seed in (1, 1, 2))
    assert one.digest == again.digest != other.digest


@given(
    kind=st.sampled_from(["markov", "outage"]),
    seed=st.integers(0, 10**6),
    seconds=st.floats(0.1, 50),
    often=st.floats(0.001, 20),
)
@settings(max_examples=examples(80))
def test_any_specification_makes_a_link_of_that_length(kind, seed, seconds, often):
    key = "dwell" if kind == "markov" else "every"
    link = load_link(f"{kind}:seed={seed},seconds={seconds!r},{key}={often!r}")
    assert link.seconds == pytest.approx(seconds, abs=1e-6)
    assert (np.diff(link.times) > 0).all()
    assert link.bits > 0


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("constnt:rate=12", "no generator 'constnt'; did you mean 'constant'?"),
        ("constant:rate=0", "between"),
        ("steps:rates=6-x", "rates in Mbit/s are needed"),
        ("steps:rates=0-0", "every rate is 0"),
        ("markov:low=5,high=2", "low is above high"),
        ("markov:seconds=1000000,dwell=0.001", "more than 1,000,000 changes"),
        ("markov:states=0", "between 1 and 1000"),
        ("constant:slot=2", "between 0 and 1"),
        ("constant:slot=0.000001", "over 1,000,000 slots"),
        ("constant:rate=100000,slot=0.01", "or 100,000,000 packets"),
        ("constant:rate=0.001,seconds=1,slot=0.01", "less than one packet"),
    ],
)
def test_a_wrong_specification_is_told(spec, why):
    with pytest.raises(UserError) as error:
        load_link(spec)
    assert why in str(error.value)
