"""What counts as a request in each format, as the page of formats defines it: LRU's misses against a plain LRU."""

from __future__ import annotations

import json
import re
import struct
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from baseline_traces import native_counts

from vulcan.errors import UserError
from vulcan_traces import load_trace

Request = tuple[object, int]
Written = tuple[str, str, dict[str, str], list[Request]]
OBJECTS = 30


def plain_lru(requests: Sequence[Request], capacity: int) -> int:
    """Return the misses of an LRU: an object has the size it entered with, and one too large does not enter."""
    cache: OrderedDict[object, int] = OrderedDict()
    used = misses = 0
    for key, size in requests:
        if key in cache:
            cache.move_to_end(key)
            continue
        misses += 1
        if size > capacity:
            continue
        while used + size > capacity:
            used -= cache.popitem(last=False)[1]
        cache[key] = size
        used += size
    return misses


def with_sizes(requests: Sequence[Request]) -> list[Request]:
    """Give a size of 0 the last known one of its object before, else the first one after; leave out those of none."""
    return with_all_sizes([(key, size, 1) for key, size in requests])


def drawn(seed: int, count: int = 400) -> list[tuple[int, int, int]]:
    """Number of an object, its size and a coin of 0 to 9, so skewed that all that is measured differs."""
    random = np.random.default_rng(seed)
    objects = np.minimum(random.zipf(1.3, count), OBJECTS) - 1
    return [
        (int(o), 1000 + 37 * int(o) ** 2, int(c)) for o, c in zip(objects, random.integers(0, 10, count), strict=True)
    ]


def web_log() -> Written:
    lines, sized = [], []
    for number, (key, size, coin) in enumerate(drawn(1)):
        method, status, body = (
            ("HEAD", 200, "-")
            if coin == 9
            else ("GET", 304, "0" if coin else "-")
            if coin < 5
            else ("GET", 200, str(size))
        )
        zone = f"[31/May/2024:10:{number // 60:02}:{number % 60:02} +0200]"
        lines.append(f'192.0.2.1 - - {zone} "{method} /{key}?a b HTTP/1.1" {status} {body} "-" "agent \\"x\\""')
        if method == "GET":
            sized.append((key, int(body) if body.isdigit() else 0))
    lines.append('192.0.2.9 - - [31/May/2024:11:00:00 +0200] "\\x16\\x03" 400 226')
    return "access.log", "\n".join(lines), {}, with_sizes(sized)


def json_lines() -> Written:
    records = [{"at": {"time": i}, "path": f"/{k}", "sent": s if c else None} for i, (k, s, c) in enumerate(drawn(2))]
    columns = {"columns": "time=at.time,id=path,size=sent"}
    sized = [(record["path"], record["sent"] or 0) for record in records]
    return "log.jsonl", "\n".join(map(json.dumps, records)), columns, with_sizes(sized)


def cachelib() -> Written:
    lines, sized = ["op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase"], []
    for i, (key, size, coin) in enumerate(drawn(3)):
        operation = "DELETE" if coin == 0 else "SET" if coin < 3 else "GET_LEASE" if coin == 3 else "GET"
        value = 0 if coin in (0, 9, 8, 7) else size
        lines.append(f"{1_700_000_000 + i},{key:x}k,40,{operation},{coin + 1},{value},0,300,u,s")
        if operation == "SET":
            sized.append((key, value + 40, 0))
        elif operation != "DELETE":
            sized.append((key, value and value + 40, coin + 1))
    full = with_all_sizes(sized)
    return "kv.csv", "\n".join(lines), {}, full


def with_all_sizes(rows: Sequence[tuple[object, int, int]]) -> list[Request]:
    """Give rows their sizes as `with_sizes` does, and then each as many requests as counted."""
    last: dict[object, int] = {}
    first = {key: size for key, size, _ in reversed(rows) if size}
    requests: list[Request] = []
    for key, size, count in rows:
        last[key] = size or last.get(key, first.get(key, 0))
        requests += [(key, last[key])] * (count if last[key] else 0)
    return requests


def twitter() -> Written:
    lines, sized = [], []
    for i, (key, size, coin) in enumerate(drawn(4)):
        operation, value = (
            ("set", size) if coin < 2 else ("delete", 0) if coin == 2 else ("get", 0 if coin == 3 else size)
        )
        lines.append(f"{i},k{key},10,{value},7,{operation},0")
        sized += [(key, value and value + 10, operation == "get")] if operation != "delete" else []
    return "cluster", "\n".join(lines), {}, with_all_sizes(sized)


def ibm() -> Written:
    lines, sized = ["# timestamp (ms), operation, object, size"], []
    for i, (key, size, coin) in enumerate(drawn(5)):
        operation = ("DELETE", "HEAD", "PUT")[coin] if coin < 3 else "GET"
        rest = {"DELETE": "", "HEAD": f" {size}", "PUT": f" {size}"}.get(operation, f" {size} 0 {size - 1}")
        lines.append(f"{i} REST.{operation}.OBJECT {key:016x}{rest}")
        sized.append((key, 0 if operation == "DELETE" else size, operation == "GET"))
    return "IBMObjectStoreTrace000", "\n".join(lines), {}, with_all_sizes(sized)


def ios(seed: int) -> list[tuple[int, int, bool]]:
    return [
        ((key * 4096) % 65536 + (coin % 2) * 65536, 4096 * (1 + coin % 3), coin < 5) for key, _, coin in drawn(seed)
    ]


def pages(requests: Sequence[tuple[int, int]], size: int) -> list[Request]:
    return [
        (page, size) for start, length in requests for page in range(start // size, (start + length - 1) // size + 1)
    ]


def msr(page: int = 0) -> Written:
    lines = [
        f"{128166372000000000 + i * 10_000},hm,1,{'Read' if r else 'Write'},{s},{n},7"
        for i, (s, n, r) in enumerate(ios(6))
    ]
    whole = [(start, length) for start, length, _ in ios(6)]
    return "hm_1.csv", "\n".join(lines), {"page_size": str(page)} if page else {}, pages(whole, page) if page else whole


def blkparse() -> Written:
    lines = []
    for i, (start, length, is_read) in enumerate(ios(7)):
        end = f"1000  {{}}   {'R' if is_read else 'WS'} {start // 512} + {length // 512} [fio]"
        lines += [f"  8,0    1  {i}    {i}.{k:09} {end.format(e)}" for k, e in enumerate("QGC")]
    lines += ["CPU0 (8,0):", " Reads Queued:           1,        4KiB"]
    return "sda.txt", "\n".join(lines), {}, [(start, length) for start, length, _ in ios(7)]


def iolog() -> Written:
    lines = ["fio version 3 iolog", "0 /dev/sdb add", "0 /dev/sdb open"]
    lines += [f"{i * 9} /dev/sdb {'read' if r else 'write'} {s} {n}" for i, (s, n, r) in enumerate(ios(8))]
    lines += ["9999 /dev/sdb close"]
    return "job.log", "\n".join(lines), {"page_size": "8KiB"}, pages([(s, n) for s, n, _ in ios(8)], 8192)


def iolog_2() -> Written:
    lines = ["fio version 2 iolog", "/dev/sdb add"] + [f"/dev/sdb read {s} {n}" for s, n, _ in ios(9)]
    return "job2.log", "\n".join(lines), {}, [(s, n) for s, n, _ in ios(9)]


def monitor() -> Written:
    lines, requests = ["OK"], []
    for i, (key, _, coin) in enumerate(drawn(10)):
        command = '"SET" "k{}" "v"' if coin < 3 else '"MGET" "k{}" "other"' if coin == 3 else '"get" "k{}"'
        lines.append(f"{1_700_000_000 + i}.5 [0 127.0.0.1:5000] {command.format(key)}")
        requests += [] if coin < 3 else [(key, 1), ("other", 1)] if coin == 3 else [(key, 1)]
    return "monitor.log", "\n".join(lines), {}, requests


def huge() -> Written:
    requests: list[Request] = [(key, (size << 23) + coin) for key, size, coin in drawn(11)]
    rows = (f"{i},{key},{size}" for i, (key, size) in enumerate(requests))
    return "huge.csv", "\n".join(["time,id,size", *rows]), {}, requests


SHAPES = (web_log, huge, json_lines, cachelib, twitter, ibm, msr, lambda: msr(4096), blkparse, iolog, iolog_2, monitor)


@pytest.mark.parametrize("shape", SHAPES)
def test_lru_misses_what_a_plain_lru_misses(shape: Callable[[], Written], write: Callable[..., Path]) -> None:
    name, text, options, requests = shape()
    trace = load_trace(write(name, text + "\n"), **options)
    assert trace.sizes.tolist() == [size for _, size in requests]
    footprint = sum(dict(reversed(requests)).values())
    assert trace.footprint == footprint
    for share in (0.05, 0.2, 0.6):
        assert native_counts("lru", trace, int(share * footprint))[0] == plain_lru(requests, int(share * footprint))


def test_notes_count_what_was_left_out_and_changed(write: Callable[..., Path]) -> None:
    name, text, options, _ = web_log()
    first, again = (load_trace(write(name, text), **options) for _ in range(2))
    counts = {note.kind.split()[0]: note.count for note in again.notes}
    assert first.notes == again.notes
    assert counts["sizes"] + counts.get("requests", 0) == text.count(" 304 ")
    assert counts["lines"] == text.count("HEAD") + 1
    other = load_trace(
        write(name, text.replace(" 200 -", " 500 -").replace(" 304 -", " 404 9").replace(" 304 ", " 206 "))
    )
    (note,) = [str(note) for note in other.notes if "status" in note.kind]
    found = text.count(" 304 -"), text.count(" 304 0")  # of those of HEAD, none
    assert note.startswith(f"{sum(found)} replies of a status other than 200 or 304 are requests too, of the size")
    assert all(f"{count} {status}xx" in note for count, status in zip(found, (4, 2), strict=True))


def test_overlapping_ios_are_counted_and_pages_do_not_overlap(write: Callable[..., Path]) -> None:
    text = "1,h,0,Read,0,65536,1\n2,h,0,Read,4096,4096,1\n3,h,1,Read,4096,4096,1\n4,h,0,Write,1048576,512,1\n"
    (note,) = load_trace(write("a.csv", text)).notes
    assert (note.count, "overlap" in note.kind) == (2, True)
    split = load_trace(write("b.csv", text), page_size="4KiB")
    assert (split.requests, split.object_count, split.notes) == (19, 18, ())


def test_the_operations_of_a_table_are_chosen_by_name(write: Callable[..., Path]) -> None:
    path = write("t.csv", "1,a,GET,5\n2,a,put,5\n3,b,GET,6\n4,b,DELETE,0\n")
    columns = "time=1,id=2,op=3,size=4,ids=text"
    assert load_trace(path, columns=columns).times.tolist() == [1, 3]
    assert load_trace(path, columns=f"{columns},ops=get+put").times.tolist() == [1, 2, 3]


@pytest.mark.parametrize("version", [1, 2])
def test_all_commands_of_vscsi_are_requests(version: int, tmp_path: Path) -> None:
    commands = (0x28, 0x2A, 0x88, 0x00, 0x8A)
    path = tmp_path / "a.vscsi"
    path.write_bytes(
        b"".join(
            struct.pack("<IIIHHQQ", i, 512, 1, cmd, 0x100, 7 + i, i * 10**6)
            if version == 1
            else struct.pack("<HHIIIQQQ", cmd, 0x200, i, 512, 1, 7 + i, i * 10**6, 9)
            for i, cmd in enumerate(commands)
        )
    )
    assert load_trace(path, page_size="4KiB").times.tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(UserError, match="no operations to choose"):
        load_trace(path, columns="ops=read")


@pytest.mark.parametrize(
    ("header", "first", "seconds"),
    [
        ("op_time,key,size", "7,a,1", 7.0),
        ("timestamp_ms,id,size", "1500,1,1", 1.5),
        ("date,key,size", "1970-01-02,1,1", 86400.0),
        ("# timestamp, op, id, size", "3,get,1,1", 3.0),
        ("# timestamp (us), id, size", "2500000,1,1", 2.5),
    ],
)
def test_the_time_is_known_by_the_names_that_it_has(write, header: str, first: str, seconds: float) -> None:
    assert load_trace(write("t.csv", f"{header}\n{first}\n")).times.tolist() == [seconds]


def test_a_line_of_a_million_requests_takes_memory_for_a_few(write: Callable[..., Path]) -> None:
    trace = load_trace(write("P.lis", "".join(f"0 1000000 0 {i}\n" for i in range(4))))
    assert (trace.requests, trace.object_count) == (4_000_000, 1_000_000)


def test_a_column_that_could_be_the_time_is_asked_about(write: Callable[..., Path]) -> None:
    with pytest.raises(UserError, match="'moment' could be it"):
        load_trace(write("t.csv", "moment,id,size\n1,2,3\n"))


def test_a_header_alone_is_no_trace(write: Callable[..., Path]) -> None:
    with pytest.raises(UserError, match="it has one line"):
        load_trace(write("a.csv", "time,id,size\n"))


TABLES = {
    "regular": [(1_500_000_000 + n, n % 7, (n * 31) % 97 + 1) for n in range(3_000)],
    "any size": [(n, n % 50, size) for n, size in enumerate(np.random.default_rng(1).integers(1, 100_000, 3_000))],
    "skewed": [(n, i, i * 37 % 100 + 1) for n, i in enumerate(np.random.default_rng(1).zipf(1.3, 3_000) % 500)],
}


@pytest.mark.parametrize(
    ("table", "columns", "said"),
    [
        ("regular", "time=1,id=2,size=3", []),
        (
            "regular",
            "time=3,id=2,size=1",
            ["sizes climb as times do.*swapped", "backwards, a quarter or.*swapped"],
        ),
        ("any size", "time=1,id=2,size=3", ["another size than the one before: is that column a size"]),
        ("skewed", "time=1,id=2,size=3", []),
        ("skewed", "time=1,id=3,size=2", ["with many sizes: are columns swapped"]),
    ],
)
def test_columns_that_are_swapped_are_doubted(
    write: Callable[..., Path], table: str, columns: str, said: list[str]
) -> None:
    path = write("a.csv", "\n".join(",".join(map(str, row)) for row in TABLES[table]))
    notes = list(map(str, load_trace(path, columns=columns).notes))
    assert len(notes) == len(said)
    assert all(re.search(rf"{part}\?$", note) for part, note in zip(said, notes, strict=True))
