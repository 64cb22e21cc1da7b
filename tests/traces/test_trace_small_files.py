"""Formats on small files written by hand from their descriptions."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from split_mix import split_mix

from vulcan_traces import load_trace

MSR = (
    "128166372003061629,hm,1,Read,383496192,32768,413\n"
    "128166372016382155,hm,0,Write,383496192,4096,1245\n"
    "128166372026382245,hm,1,Write,383496192,512,99\n"
)


def test_msr_keys_are_host_disk_and_offset(write):
    trace = load_trace(write("hm.csv", MSR))
    assert trace.objects.tolist() == [0, 1, 0]
    assert trace.sizes.tolist() == [32768, 4096, 512]
    assert trace.times[1] - trace.times[0] == pytest.approx(1.3320526, abs=5e-6)


def test_alibaba_keys_are_device_and_offset_in_bytes(write):
    text = (
        "419,W,8792731648,16384,1577808144360767\n"
        "725,R,8792731648,4096,1577808144860767\n"
        "419,R,8792731648,4096,1577808145360767\n"
    )
    trace = load_trace(write("io_traces.csv", text))
    assert trace.objects.tolist() == [0, 1, 0]
    assert trace.sizes.tolist() == [16384, 4096, 4096]
    assert np.diff(trace.times).tolist() == pytest.approx([0.5, 0.5], abs=1e-6)


def test_tencent_counts_in_sectors_and_keys_by_volume(write):
    text = "1538323200,12910952,128,0,1063\n1538323200,6338688,8,1,1627\n1538323201,12910952,8,1,1627\n"
    trace = load_trace(write("cbs.csv", text))
    assert trace.objects.tolist() == [0, 1, 2]
    assert trace.sizes.tolist() == [65536, 4096, 4096]


def test_arc_lines_expand_to_runs_of_blocks(write):
    trace = load_trace(write("P.lis", "100 3 0 0\n101 2 0 1\n"))
    assert trace.keys[trace.objects].tolist() == [100, 101, 102, 101, 102]
    assert trace.times.tolist() == [0, 1, 2, 3, 4]
    assert trace.sizes.tolist() == [1] * 5


def test_vscsi_version_2_records(write):
    records = [
        struct.pack("<HHIIIQQQ", 0x2A, 0x0200, i, 512 * (i + 1), 1, 77 + i % 2, 1_500_000 * i, 9) for i in range(4)
    ]
    trace = load_trace(write("v2.vscsi", b"".join(records)))
    assert trace.keys[trace.objects].tolist() == [77, 78, 77, 78]
    assert trace.sizes.tolist() == [512, 1024, 1536, 2048]
    assert trace.times.tolist() == [0, 1.5, 3, 4.5]


@pytest.mark.parametrize(("format", "code"), [("be-u32", ">I"), ("be-i32", ">i"), ("be-i64", ">q")])
def test_fixed_integers_are_big_endian(write, format, code):
    numbers = [1, 2**31 - 1, 1] if code != ">i" else [1, -2, 1]
    trace = load_trace(write("ids", b"".join(struct.pack(code, n) for n in numbers)), format=format)
    assert trace.keys[trace.objects].view(np.int64).tolist() == numbers


def test_text_ids_are_hashed_the_same_on_every_machine(write):
    trace = load_trace(write("urls.txt", "/a\n/b\n/a\n"))
    assert trace.objects.tolist() == [0, 1, 0]
    assert [f"{key:016x}" for key in trace.keys] == HASHES_OF_A_AND_B


def fnv1a_splitmix(text: bytes) -> str:
    mask, value = 2**64 - 1, 0xCBF29CE484222325
    for byte in text:
        value = (value ^ byte) * 0x100000001B3 & mask
    return f"{split_mix(value, 1):016x}"


HASHES_OF_A_AND_B = [fnv1a_splitmix(b"/a"), fnv1a_splitmix(b"/b")]


@pytest.mark.parametrize("delimiter", ["comma", "tab", "semicolon", "pipe", "space", "#"])
def test_a_table_with_any_delimiter(write, delimiter):
    sign = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|", "space": "  "}.get(delimiter, delimiter)
    text = "\n".join(sign.join(row) for row in [("10", "x", "500"), ("20", "y", "600"), ("35", "x", "700")])
    trace = load_trace(write("t.log", text), columns=f"time=1,id=2,size=3,delimiter={delimiter},time-unit=ms,ids=text")
    assert trace.objects.tolist() == [0, 1, 0]
    assert trace.sizes.tolist() == [500, 600, 700]
    assert trace.times.tolist() == [0.01, 0.02, 0.035]


def test_ids_of_more_than_64_bits_are_text(write):
    trace = load_trace(write("t.csv", "time,id,size\n1,100000000000000000032,5\n2,7,5\n3,100000000000000000032,5\n"))
    assert trace.objects.tolist() == [0, 1, 0]


def test_quoted_fields_may_hold_the_delimiter(write):
    text = 'when,url,bytes\n1.5,"/a,b",10\n2.5,"/a,c",20\n3.5,"/a,b",30\n'
    trace = load_trace(write("t.csv", text), columns="time=when,id=url,size=bytes")
    assert trace.objects.tolist() == [0, 1, 0]
    assert trace.times.tolist() == [1.5, 2.5, 3.5]


def test_times_are_read_as_python_reads_them(write):
    times = ["0", "-1.5", "1538323200.123456", "1e3", "2.5E-3", ".5", "00012.0", "1577808144.360767", "3.0000001"]
    text = "".join(f"{time},{i}\n" for i, time in enumerate(times))
    trace = load_trace(write("t", text), columns="time=1,id=2")
    assert trace.times.tolist() == [float(time) for time in times]


def test_the_largest_numbers_fit(write):
    trace = load_trace(write("t", f"{2**64 - 1},{2**48}\n-1,2\n-{2**63},1\n"), columns="id=1,size=2")
    assert trace.keys.tolist() == [2**64 - 1, 2**63]
    assert trace.sizes.tolist() == [2**48, 2, 1]
