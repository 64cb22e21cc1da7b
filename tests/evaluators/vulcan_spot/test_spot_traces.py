"""Reading and generating spot traces, and cutting them into windows."""

from __future__ import annotations

import io
import json
import tarfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from real_data import real_data

from vulcan.errors import UserError
from vulcan_spot.windows import Windows, apart, places_of
from vulcan_traces.spot import SpotTrace, load_spot

HOUR = 3600


def document(data, gap=600, **more):
    return json.dumps({"metadata": {"gap_seconds": gap}, "data": data, **more})


@pytest.fixture
def write(tmp_path):
    def make(name, text):
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        return str(place)

    return make


def test_a_number_is_how_many_vms_could_be_had(write):
    (trace,) = load_spot(write("zone.json", document([1, 0, 4, 2], 195)))
    assert (trace.name, trace.gap, list(trace.available), trace.start) == ("zone", 195, [1, 0, 1, 1], None)
    assert list(load_spot(write("zone.json", document([1, 0, 4, 2])), nodes=3)[0].available) == [0, 0, 1, 0]
    with pytest.raises(UserError, match="never 5 VMs at once"):
        load_spot(write("zone.json", document([1, 0, 4, 2])), nodes=5)


def test_prices_beside_the_data_are_dollars_an_hour_on_spot_and_no_part_of_a_traces_identity(write):
    (bare,) = load_spot(write("zone.json", document([1, 0])))
    (priced,) = load_spot(write("zone.json", document([1, 0], prices=[0.9731, 1])))
    assert bare.prices is None
    assert priced.prices.tolist() == [0.9731, 1.0]
    assert bare.digest == priced.digest
    (generated,) = load_spot("markov:hours=10,price=1.5")
    assert set(generated.prices) == {1.5}
    assert load_spot("markov:hours=10")[0].prices is None


@pytest.mark.parametrize("prices", [[1.0], [1.0, -1], [1.0, True], [1.0, "1"], [1.0, 1e7], [1.0, None], {}, "no"])
def test_prices_that_are_no_dollars_for_each_tick(write, prices):
    with pytest.raises(UserError, match=r"zone.json: .?prices.* should be"):
        load_spot(write("zone.json", document([1, 0], prices=prices)))


def test_a_folder_of_an_archive_is_the_same_as_a_directory(tmp_path):
    place = tmp_path / "traces=1.tar.gz"
    with tarfile.open(place, "w:gz") as archive:
        for name, data in (("a/b/2.json", [1]), ("a/b/1.json", [0, 1]), ("a/b/c/3.json", [1]), ("a/4.json", [1])):
            content = document(data).encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    assert [(t.name, t.ticks) for t in load_spot(f"{place}:a/b")] == [("1", 2), ("2", 1)]
    assert [t.name for t in load_spot(f"{place}:a/b/c/3.json")] == ["3"]
    with pytest.raises(UserError, match="no JSON file"):
        load_spot(f"{place}:b")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "not JSON"),
        ("[]", "not a spot trace"),
        ('{"data": [1]}', "not a spot trace"),
        ('{"metadata": {}, "data": [1]}', "gap_seconds"),
        (document([1], 0), "gap_seconds"),
        (document([1], 10.5), "gap_seconds"),
        (document([1], 10**6), "gap_seconds"),
        (document([]), "empty"),
        (document("no"), "none"),
        (document([1, 0.5]), r"data\[1\]"),
        (document([1, -1]), r"data\[1\]"),
        (document([2], generator="x"), "only 0 and 1"),
    ],
)
def test_files_that_are_no_spot_trace(write, text, what):
    place = write("bad.json", text)
    with pytest.raises(UserError, match=what) as raised:
        load_spot(place)
    assert place in str(raised.value) and "\n" not in str(raised.value)


def spells(trace):
    changes = np.flatnonzero(np.diff(trace.available)) + 1
    hours = np.diff(changes) * trace.gap / HOUR
    kinds = trace.available[changes[:-1]]
    return hours[kinds == 1], hours[kinds == 0]


@pytest.mark.parametrize(("up_spread", "down_spread"), [(1, 1), (2, 1.5), (1, 3)])
def test_spells_have_the_mean_and_the_spread_that_are_asked_for(up_spread, down_spread):
    spec = f"markov:up=4,down=3,up_spread={up_spread},down_spread={down_spread},hours=400000,gap=300,seed=5"
    (trace,) = load_spot(spec)
    for found, mean, spread in zip(spells(trace), (4, 3), (up_spread, down_spread), strict=True):
        assert found.mean() == pytest.approx(mean, rel=0.05)
        assert found.std() / found.mean() == pytest.approx(spread, rel=0.07)
    assert trace.available.mean() == pytest.approx(4 / 7, rel=0.03)


@pytest.mark.parametrize(
    "spec",
    ["markov:upp=2", "markov:up", "markov:up=0", "markov:up=x", "markov:up=1,up=2", "markov:up_spread=0.5",
     "markov:hours=1e6,gap=1", "markov:seed=1.5"],
)  # fmt: skip
def test_specifications_that_make_no_sense(spec):
    with pytest.raises(UserError, match="markov:"):
        load_spot(spec)


@given(st.integers(1, 5000), st.integers(1, 40), st.integers(1, 600), st.floats(0, 0.9), st.floats(0.05, 1))
def test_windows_of_a_long_trace_lie_in_their_part(ticks, count, needed, low, share):
    high = min(1.0, low + share)
    trace = SpotTrace("long", 300, np.zeros(ticks, np.uint8))
    first, last = round(low * ticks), round(high * ticks)
    if last - first < needed:
        with pytest.raises(UserError, match="longer trace"):
            places_of([trace], needed * 300, count, low, high, "long")
        return
    places = places_of([trace], needed * 300, count, low, high, "long")
    begins = [begin for _, begin, _ in places]
    assert len(places) == count and begins == sorted(begins)
    assert all(first <= begin and begin + needed <= end == last for _, begin, end in places)
    if count > 1:
        assert (begins[0], begins[-1]) == (first, last - needed)
        assert max(np.diff(begins)) - min(np.diff(begins)) <= 1


def test_ready_made_windows_are_divided_by_where_they_were_cut_from():
    traces = [SpotTrace(str(i), 600, np.zeros(100, np.uint8), start) for i, start in enumerate((0, 900, 450, 50, 600))]
    # of 1,000 ticks in all
    assert places_of(traces, 60_000, 9, 0.0, 0.6, "x") == ((0, 0, 100), (2, 0, 100), (3, 0, 100))
    assert places_of(traces, 600, 9, 0.0, 0.5, "x") == ((0, 0, 100), (2, 0, 50), (3, 0, 100))
    assert places_of(traces, 600, 9, 0.5, 0.8, "x") == ((2, 50, 100), (4, 0, 100))
    assert places_of(traces, 60_000, 9, 0.5, 0.8, "x") == ((4, 0, 100),)
    assert [p[0] for p in places_of(traces, 600, 9, 0.8, 1.0, "x")] == [1]
    assert [p[0] for p in places_of(traces, 600, 9, 0.0, 1.0, "x")] == [0, 1, 2, 3, 4]
    assert [p[0] for p in places_of(traces, 600, 3, 0.0, 1.0, "x")] == [0, 2, 4]
    with pytest.raises(UserError, match="no window"):
        places_of(traces, 600 * 101, 9, 0.0, 1.0, "x")


def test_ready_made_windows_of_unknown_time_are_divided_by_their_order():
    traces = [SpotTrace(str(i), 600, np.zeros(100, np.uint8)) for i in range(10)]
    parts = [[p[0] for p in places_of(traces, 600, 99, *part, "x")] for part in ((0, 0.6), (0.6, 0.8), (0.8, 1))]
    assert parts == [[0, 1, 2, 3, 4, 5], [6, 7], [8, 9]]


def test_windows_of_several_traces_keep_apart():
    traces = [SpotTrace("a", 60, np.array([1, 0], np.uint8)), SpotTrace("b", 60, np.array([1, 1, 1], np.uint8))]
    windows = Windows.of(traces, [(1, 0, 3), (0, 1, 2)])
    assert [list(windows.available[b:e]) for b, e in zip(windows.begins, windows.ends, strict=True)] == [[1, 1, 1], [0]]
    mixed = [*traces, SpotTrace("c", 61, np.array([1], np.uint8))]
    with pytest.raises(UserError, match="different gaps"):
        places_of(mixed, 60, 1, 0.0, 1.0, "x")


def test_public_traces_are_read():
    found = {place: load_spot(str(place)) for place in sorted(real_data("spot").glob("skypilot-spot-traces/**/*.json"))}
    assert len(found) == 34
    shares = {f"{p.parent.name}/{p.stem}": round(float(t[0].available.mean()), 3) for p, t in found.items()}
    assert shares["aws-10-26-2022/us-west-2a_k80_1"] == 0.893
    assert shares["aws-10-26-2022/us-west-2b_k80_1"] == 0.117
    assert shares["aws-10-26-2022/us-west-2a_v100_1"] == 0.793
    assert shares["aws-02-15-2023/us-east-1a_v100_1"] == 0.167
    assert shares["aws-02-15-2023/us-west-2b_v100_1"] == 0.905


def test_windows_of_the_simulator_are_the_complement_of_the_trace_they_were_cut_from():
    """Which settles the sign of both."""
    archive = real_data("spot", "adrs", "cant_be_late_real_traces.tar.gz")
    whole = real_data("spot") / "skypilot-spot-traces" / "availability" / "1-node" / "aws-10-26-2022"
    for zone in ("us-west-2a_v100_1", "us-west-2b_k80_8"):
        long = load_spot(str(whole / f"{zone}.json"))[0].available
        folder = f"real/ddl=search+task=48+overhead=0.02/real/{zone}/traces/random_start"
        windows = load_spot(f"{archive}:{folder}")
        assert len(windows) == 300
        agree = 0
        for window in windows[::5]:
            ticks = np.lib.stride_tricks.sliding_window_view(long, window.ticks)
            agree += bool((ticks == window.available).all(axis=1).any())
        assert agree >= 30, zone


@given(st.integers(1, 40), st.integers(0, 900), st.integers(1, 200), st.integers(1, 8))
def test_windows_of_one_trace_are_moved_apart(count: int, begin: int, ticks: int, blocks: int) -> None:
    end = begin + ticks + 7 * count
    places = [(0, begin + 7 * k, end) for k in range(1, count + 1)]
    sets = apart(places, blocks)
    assert 1 <= len(sets) <= blocks and all(sets)
    stops = [begin + 7, *(stop for one in sets for _, _, stop in one[:1])]
    for one, start in zip(sets, stops, strict=False):
        assert all(start <= first and stop - first >= ticks and stop <= end for _, first, stop in one)
