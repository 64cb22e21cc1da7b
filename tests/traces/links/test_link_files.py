"""Link traces are read from Mahimahi's files, from tables of rates and from bitrate logs; what is wrong is named."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from vulcan.errors import UserError
from vulcan_traces.links import OPPORTUNITY_BYTES, load_link

MS, S = 10**6, 10**9


def test_a_line_is_the_millisecond_of_an_opportunity(write):
    link = load_link(write("a", "1\n1\n4\n10\n"))
    assert (link.kind, link.name) == ("opportunities", "a")
    assert link.times.tolist() == [1 * MS, 1 * MS, 4 * MS, 10 * MS]
    assert link.period == 10 * MS
    assert link.bits == 4 * OPPORTUNITY_BYTES * 8
    assert link.mean_rate == pytest.approx(4 * 1504 * 8 / 0.01)
    assert len(link.rates) == 0


@pytest.mark.parametrize("text", ["3\n7\n", "3\r\n7\r\n", "\ufeff3\n7\n", "3\n7", " 3 \n7\n\n\n"])
def test_line_ends_marks_and_blank_lines_at_the_end_do_not_count(write, text):
    assert load_link(write("a", text)).times.tolist() == [3 * MS, 7 * MS]


BAD = {
    "mahimahi": [
        ("1\n2\nabc\n4\n", 3, "not a whole number of milliseconds: 'abc'"),
        ("1\n\n3\n", 2, "blank line"),
        ("1\n-2\n", 2, "not a whole number"),
        ("1\n2.5\n", 2, "not a whole number"),
        ("1\n1_0\n", 2, "not a whole number"),
        ("5\n9\n7\n", 3, "7 ms comes after 9 ms"),
        ("0\n0\n", 2, "the last time is 0 ms"),
        ("1\n99999999999\n", 2, "over 1000000000 ms"),
        ("1\n9999999999999999999999\n", 2, "over 1000000000 ms"),
    ],
    "csv": [
        ("time_s,rate_mbps\n0,1\n1,x\n", 3, "the rate is not a number: 'x'"),
        ("time_s,rate_mbps\n0,1\nnan,2\n", 3, "the time is not a number"),
        ("time_s,rate_mbps\n0,1\n0,2\n", 3, "times must increase"),
        ("time_s,rate_mbps\n0,1\n1,-2\n", 3, "the rate is out of range"),
        ("time_s,rate_mbps\n0,1\n1\n", 3, "too few fields"),
        ("time_s,rate_mbps\n0,1\n1e300,1\n", 3, "the time is out of range"),
    ],
}


@pytest.mark.parametrize(("format", "text", "line", "why"), [(name, *case) for name in BAD for case in BAD[name]])
def test_a_bad_line_is_named(write, format, text, line, why):
    path = write("bad", text)
    with pytest.raises(UserError) as error:
        load_link(path, format=format)
    assert str(error.value).startswith(f"{path}, line {line}: ")
    assert why in str(error.value)
    assert "\n" not in str(error.value)


@given(gaps=st.lists(st.integers(0, 300), min_size=1, max_size=60).filter(any))
@settings(max_examples=examples(60))
def test_every_opportunity_is_kept_and_lies_within_the_period(tmp_path_factory, gaps):
    milliseconds = np.cumsum(gaps)
    path = tmp_path_factory.mktemp("any") / "any"
    path.write_text("".join(f"{ms}\n" for ms in milliseconds))
    link = load_link(path)
    assert link.period == milliseconds[-1] * MS
    assert link.times[0] > 0 and link.times[-1] <= link.period
    assert (np.diff(link.times) >= 0).all()
    assert sorted(link.times % link.period) == sorted(int(ms) * MS % link.period for ms in milliseconds)


HEADERS = ["time_s,rate_mbps", "seconds,bandwidth (Mbit/s)", "t [s];throughput [Mbits/s]", "time(s)\tMbps", "s mbps"]


@pytest.mark.parametrize("header", HEADERS)
def test_a_table_of_rates_names_its_units(write, header):
    mark = "," if "," in header else ";" if ";" in header else "\t" if "\t" in header else " "
    rows = "".join(f"{time}{mark}{rate}\n" for time, rate in ((10, 6), (12, 24.5), (13, 0)))
    link = load_link(write("rates.csv", f"{header}\n{rows}"))
    assert link.kind == "rates"
    assert link.times.tolist() == [0, 2 * S, 3 * S]
    assert link.rates.tolist() == [6e6, 24.5e6, 0.0]
    assert link.period == 4 * S  # the last rate lasts as long as the one before it


@pytest.mark.parametrize(
    ("units", "rows", "times", "rates"),
    [
        ("ms,kbps", "0,500\n250,1500\n", [0, 250 * MS], [5e5, 1.5e6]),
        ("gbps,us", "1,0\n2,10\n", [0, 10_000], [1e9, 2e9]),
        ("-,ns,bps", "x,0,5\ny,8,7\n", [0, 8], [5.0, 7.0]),
        ("s,mbps", "time,rate\n0,1\n2,2\n", [0, 2 * S], [1e6, 2e6]),
        ("s,mbps", '"time","rate"\n"0","1"\n"2","2"\n', [0, 2 * S], [1e6, 2e6]),
    ],
)
def test_units_may_be_given_by_the_format(write, units, rows, times, rates):
    link = load_link(write("rates.csv", rows), format=f"csv:{units}")
    assert (link.times.tolist(), link.rates.tolist()) == (times, rates)


@pytest.mark.parametrize(
    ("text", "format", "why"),
    [
        ("time_s,rate_mbps\n", None, "no rate"),
        ("time_s,rate_mbps\n0,0\n1,0\n", None, "every rate is 0"),
        ("0,1\n1,2\n", None, "format is not clear"),
        ("0,1\n1,2\n", "csv", "its header does not name"),
        ("0,1\n1,2\n", "csv:s,mbs", "no unit 'mbs'"),
        ("0,1\n1,2\n", "csv:s,s", "exactly one time and one rate"),
        ("hello\n", None, "format is not clear"),
        ("\x00\x01", None, "format is not clear"),
        ("", None, "the trace is empty"),
        ("\n\n", None, "the trace is empty"),
        ("1\n2\n", "pcap", "no link format 'pcap'"),
        ("1\n2\n", "mahimahi:s", "no link format"),
    ],
)
def test_what_is_no_link_trace_is_refused(write, text, format, why):
    with pytest.raises(UserError) as error:
        load_link(write("x", text), format=format)
    assert why in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_a_directory_and_damage_are_errors(tmp_path, write):
    for path, why in (
        (tmp_path / "none", "no such file"),
        (tmp_path, "is a directory"),
        (write("cut.gz", gzip.compress(b"1\n2\n" * 5000)[:40]), "damaged or truncated"),
    ):
        with pytest.raises(UserError, match=why):
            load_link(path)


LOG = "Timestamp,Speed,DL_bitrate\n2019.12.16_13.40.04,0,72\n2019.12.16_13.40.05,0,100\n2019.12.16_13.40.05,0,300\n"


def test_a_bitrate_log_is_averaged_by_second(write):
    link = load_link(write("log.csv", LOG + "2019.12.16_13.40.08,0,5\n"))
    assert link.times.tolist() == [0, 1 * S, 4 * S]
    assert link.rates.tolist() == [72e3, 200e3, 5e3]
    with pytest.raises(UserError, match="line 5: times must increase"):
        load_link(write("back.csv", LOG + "2019.12.16_13.40.04,0,5\n"))
    with pytest.raises(UserError, match="line 5: the time is not a number"):
        load_link(write("bad.csv", LOG + "yesterday,0,5\n"))


def test_the_digest_is_of_the_content(write):
    one, same, other = (load_link(write(name, text)) for name, text in (("a", "1\n2\n"), ("b", "1\n2\n"), ("c", "2\n")))
    assert one.digest == same.digest != other.digest
    assert load_link("constant:rate=12").digest == load_link("constant:rate=12,name=x").digest
