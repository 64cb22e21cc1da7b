"""What is not a trace is a UserError that says where; nothing is guessed."""

from __future__ import annotations

import gzip
import logging
import lzma
import os
import random
import struct

import pytest
from traces_in_memory import skipped

from vulcan import zstd
from vulcan.errors import UserError
from vulcan_traces import load_trace
from vulcan_traces.readers import FORMATS
from vulcan_traces.storage.export import write_requests

DIGITS = "9" * 5000  # more than `int` reads by default: each reader must say so in a line

BAD_LINES = [
    ("arc", f"1 1 0 0\n{DIGITS} 1 0 1\n", 2, "64 bits"),
    ("arc", f"1 1 0 0\n1 {DIGITS} 0 1\n", 2, "count"),
    ("lirs", f"1\n{DIGITS}\n", 2, "64 bits"),
    ("time-id-size", f"1 2 3\n2 2 {DIGITS}\n", 2, "over 2^48 bytes"),
    ("mooncake", f'{{"timestamp": 0, "hash_ids": [1]}}\n{{"timestamp": {DIGITS}, "hash_ids": [1]}}\n', 2, ""),
    ("txt", "1\n2\nabc\n4\n", 3, "'abc'"),
    ("txt", "1\n2\n18446744073709551616\n", 3, "64 bits"),
    ("lirs", "1\n*\nx\n", 3, "not a whole number"),
    ("time-id-size", "1 2 3\n2 2\n", 2, "3 fields expected"),
    ("time-id-size", "1 2 3\n\n2 2 -5\n", 3, "the size is negative: '-5'"),
    ("time-id-size", "1 2 3\n2 2 281474976710657\n", 2, "over 2^48 bytes"),
    ("time-id-size", "1 2 3\nnan 2 3\n", 2, "time is not a number"),
    ("time-id-size", "1 2 3\n1e999 2 3\n", 2, "time is not a number"),
    ("arc", "1 1 0 0\n1 0 0 1\n", 2, "the count is not between 1 and 1048576: '0'"),
    ("arc", "1 1 0 0\n1 4000000000 0 1\n", 2, "count"),
    ("msr", "1,h,0,Read,5,512,1\n1,h,0,Read,5\n", 2, "6 fields expected"),
    ("twitter", "0,k,1,2,3,get,0\n0,,1,2,3,get,0\n", 2, "id is empty"),
    ("tencent", "0,1,8,0,5\n0,1,549755813889,0,5\n", 2, "over 2^48 bytes"),
    ("alibaba", "1,R,0,512,7\n1,R,zero,512,7\n", 2, "the id is not a whole number of 64 bits: 'zero'"),
    ("mooncake", '{"timestamp": 0, "hash_ids": [1]}\n{"timestamp": 0, "hash_ids": ["1"]}\n', 2, "hash_ids"),
    ("csv", "id,size\n1,2\n1,2.5\n", 3, "the size is not a whole number: '2.5'"),
    ("csv", 'id,time,size\n"a, b",0,1\n"a, b",t0,2\n', 3, ": 't0'"),
    ("csv", 'id,size\n"1,2\n', 2, "quoted"),
    ("csv", "id,size\n\x01,2\n", 2, "control character"),
]


@pytest.mark.parametrize(("format", "text", "line", "why"), BAD_LINES)
def test_a_malformed_line_is_an_error_with_file_and_line(write, format, text, line, why):
    path = write("bad.data", text)
    with pytest.raises(UserError) as error:
        load_trace(path, format=format)
    assert str(error.value).startswith(f"{path}, line {line}: ")
    assert why in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("case", BAD_LINES)
def test_skipping_counts_malformed_lines_and_warns(write, caplog, case):
    format, text, line, _ = case
    path = write("bad.data", text)
    if format == "csv" and line == 2:  # the only line below the header
        with pytest.raises(UserError, match="of 1 lines, 100% are malformed, 1 malformed lines skipped"):
            load_trace(path, format=format, skip_bad_lines=True)
        return
    trace = load_trace(path, format=format, skip_bad_lines=True)
    assert skipped(trace) == 1
    with caplog.at_level(logging.WARNING):
        again = load_trace(path, format=format, skip_bad_lines=True)
    assert (skipped(again), again.requests) == (1, trace.requests)
    assert "1 malformed lines skipped: " in caplog.text
    assert "over 1 % were skipped: " in caplog.text


def test_a_bad_line_far_into_a_long_file_is_named(write):
    lines = [f"{i} {i % 99} 4096" for i in range(1_000_000)]
    lines[987_653] += " 1"
    with pytest.raises(UserError, match=r"line 987654: 3 fields expected: '987653 \d+ 4096 1'"):
        load_trace(write("long.tr", "\n".join(lines)))


def test_a_cut_binary_trace_names_the_record(write):
    records = b"".join(struct.pack("<IQIq", i, i, 100, -1) for i in range(5))
    path = write("t.bin", records[:-7])
    with pytest.raises(UserError, match="record 5: cut short: 17 of 24 bytes"):
        load_trace(path, format="oracleGeneral")
    trace = load_trace(path, format="oracleGeneral", skip_bad_lines=True)
    assert (trace.requests, skipped(trace)) == (4, 1)


def test_a_damaged_vscsi_record_is_named(write):
    records = [struct.pack("<IIIHHQQ", i, 512, 1, 42, 0x0100, i, i) for i in range(300)]
    records[200] = b"\xff" * 32
    path = write("t.vscsi", b"".join(records))
    with pytest.raises(UserError, match="record 201: malformed vscsi record"):
        load_trace(path)
    trace = load_trace(path, skip_bad_lines=True)
    assert (trace.requests, skipped(trace)) == (299, 1)


@pytest.mark.parametrize("name", ["junk.vscsi", "junk.oracleGeneral.bin", "junk.lis", "junk.jsonl", "junk.csv", "junk"])
@pytest.mark.parametrize("length", [1, 24, 960, 1000, 4096])
def test_junk_is_refused_under_any_name(write, name, length):
    path = write(name, random.Random(length).randbytes(length))
    with pytest.raises(UserError) as error:
        load_trace(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "the quick brown fox\njumps over\n", "1 2 3 4 5\n6 7 8 9 10\n", "9 2 3\n1 5 6\n", "a,b\n1,2\n",
        "1,2,3,4\n4,5,6,7\n", "key,io_size\n1,2\n", "key,id\n1,2\n",
    ],
)  # fmt: skip
def test_an_unclear_text_is_refused(write, text):
    with pytest.raises(UserError, match="format is not clear"):
        load_trace(write("unclear.txt", text))


@pytest.mark.parametrize(
    "content",
    [b"", gzip.compress(b"", mtime=0), lzma.compress(b""), zstd.compress(b"")],
    ids=["plain", "gzip", "xz", "zstd"],
)
def test_an_empty_file_is_an_error(write, content):
    for format in (None, *FORMATS):
        with pytest.raises(UserError, match="the trace is empty"):
            load_trace(write("empty.trace", content), format=format)


def test_a_file_without_requests_is_an_error(write):
    with pytest.raises(UserError, match="no request"):
        load_trace(write("t", "*\n*\n"), format="lirs")
    with pytest.raises(UserError, match="no request"):
        load_trace(write("t.csv", "id,size\n"), format="csv")


def test_a_pipe_is_not_replaced_by_a_converted_trace(tmp_path):
    os.mkfifo(tmp_path / "out.csv")
    with pytest.raises(UserError, match="no regular file"):
        write_requests(load_trace("zipf:requests=100,objects=9"), tmp_path / "out.csv", replace=True)
    assert (tmp_path / "out.csv").is_fifo()


def test_what_cannot_be_opened_is_an_error(tmp_path):
    with pytest.raises(UserError, match="there is no such file"):
        load_trace(tmp_path / "missing.csv")
    with pytest.raises(UserError, match="is a directory"):
        load_trace(tmp_path)
    with pytest.raises(UserError, match="not a regular file"):
        load_trace("/dev/null")
    with pytest.raises(UserError, match="cannot be read"):
        load_trace("x" * 5000)
    with pytest.raises(UserError, match="cannot be read"):
        load_trace("/proc/self/mem")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"format": "vcsci"}, "did you mean 'vscsi'"),
        ({"columns": "id=1,tme=2"}, "did you mean 'time'"),
        ({"columns": "time=1"}, "no id"),
        ({"columns": "id=0"}, "numbered from 1"),
        ({"columns": "id=4"}, "has 2 columns"),
        ({"columns": "id=1,size=1"}, "one column twice"),
        ({"columns": "id=1,id=2"}, "given twice"),
        ({"columns": "id=keys"}, "no column is named 'keys'"),
        ({"columns": "id=1,header=yes"}, "'header' alone"),
        ({"columns": "id"}, "'id=...'"),
        ({"columns": "id=1,delimiter=ab"}, "one punctuation character"),
        ({"columns": "id=1,time-unit=h"}, "one of s, ms, us, ns"),
        ({"columns": ""}, "unknown key ''"),
        ({"columns": "id=1", "format": "msr"}, "leave one of them out"),
    ],
)
def test_wrong_options_are_errors(write, options, why):
    with pytest.raises(UserError) as error:
        load_trace(write("t.csv", "1,2\n3,4\n"), **options)
    assert why in str(error.value)
    assert "\n" not in str(error.value)


def test_more_bytes_than_sums_can_hold_are_refused(write):
    at_most = "".join(f"{i} 1 {2**48}\n" for i in range(2**14))
    assert load_trace(write("most.txt", at_most), format="time-id-size").requests == 2**14
    with pytest.raises(UserError, match=r"2\^62 bytes in all"):
        load_trace(write("more.txt", at_most + "99999 1 1\n"), format="time-id-size")
