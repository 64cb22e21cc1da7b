"""What the search for faults has found once is refused in a line now, and in every run of the tests."""

from __future__ import annotations

import json
import lzma

import pytest
from fuzz import tried
from fuzz_targets import TARGETS, small_library, tarred

IN_NO_FLOAT, IN_NO_INT = b"9" * 400, b"9" * 5000  # the second is more than int() takes
LONG = b"[" + b"1, 0, 2, 1, 0, 0, " * 30_000 + b"0]"


def damaged(packed: bytes) -> bytes:
    """The bytes, one of which is another, in the middle."""
    middle = len(packed) // 2
    return packed[:middle] + bytes([packed[middle] ^ 0xFF]) + packed[middle + 1 :]


def library_with(scale: str) -> bytes:
    """The library, with a number that no float holds."""
    plain = json.loads(small_library())
    return json.dumps(plain | {"margin": "HERE"}).replace('"HERE"', scale).encode()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("generator", b"scan:requests=5,objects=" + IN_NO_FLOAT),
        ("generator", b"scan:requests=5,objects=" + IN_NO_INT),
        ("memory workload", b"gups:pages=" + IN_NO_FLOAT),
        ("free program", b"SIZE = " + IN_NO_FLOAT + b"\n" + TARGETS["free program"].examples[0]),
        ("free program", b"SIZE = -" + IN_NO_FLOAT + b"\n" + TARGETS["free program"].examples[0]),
        ("trace of no name", b"1 1 0 " + IN_NO_INT + b"\n"),
        ("trace of no name", IN_NO_INT + b" 1 2\n"),
        ("spot archive", damaged(lzma.compress(tarred("folder/a.json", LONG)))),
        ("trace as a table", b"time=1,id=" + IN_NO_INT + b",size=3\n1,2,3\n"),
        ("trace as a table", b"time=1,id=--1,size=3\n1,2,3\n"),
        ("link", b"1\n1\n" + IN_NO_INT + b"\n"),
        ("link", b"1\n1\n5\n7\x0b"),
        ("configuration", b"rounds = 0x" + b"f" * 5000),
        ("library", library_with("1" + 400 * "0")),
        ("library", small_library().replace(b'"seed": 1', b'"seed": Infinity')),
        ("journal", b'{"kind": "search", "time": "", "config": {"limit": 1e999}, "version": ""}'),
        ("journal", b'{"kind": "search", "time": "", "config": {"limit": NaN}, "version": ""}'),
        ("journal", b'{"kind": "search", "time": "", "config": ' + b'{"a": ' * 500 + b"1" + b"}" * 500 + b"}"),
    ],
)
def test_it_is_refused(name: str, data: bytes) -> None:
    assert tried(name, data) is None
