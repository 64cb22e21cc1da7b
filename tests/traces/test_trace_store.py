"""Decoded traces in the cache directory: opened, shared, rebuilt when damaged, written by two at once."""

from __future__ import annotations

import logging
import os
import resource
from pathlib import Path

import numpy as np
import pytest

from vulcan.errors import UserError
from vulcan_traces import load_trace

COLUMNS = ("objects", "sizes", "times", "next_access", "keys")


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("VULCAN_CACHE_DIR", str(folder))
    return folder


def entry_of(cache, trace):
    return cache / "traces" / trace.digest[:2] / trace.digest


def test_columns_are_memory_mapped_from_one_entry(own_cache, write):
    path = write("t.txt", "5\n6\n5\n")
    first, second = load_trace(path), load_trace(path)
    for trace in (first, second):
        for column in COLUMNS:
            assert isinstance(getattr(trace, column), np.memmap)
            assert not getattr(trace, column).flags.writeable
    assert {file.name for file in entry_of(own_cache, first).iterdir()} == {
        "meta.json",
        *(f"{column}.npy" for column in COLUMNS),
    }
    assert os.listdir(entry_of(own_cache, first).parent) == [first.digest]


def test_the_digest_depends_on_content_and_options_and_not_on_the_name(own_cache, write):
    text = "1 2 3\n2 2 3\n"
    digest = load_trace(write("a.tr", text)).digest
    assert load_trace(write("b.tr", text)).digest == digest
    assert load_trace(write("c.tr", text + "3 2 3\n")).digest != digest
    assert load_trace(write("a.tr", text), skip_bad_lines=True).digest != digest
    one, other = (load_trace(write("a.tr", text), columns=columns) for columns in ("id=2", "id=3"))
    assert len({digest, one.digest, other.digest}) == 3


def flip_a_byte(path):
    content = bytearray(path.read_bytes())
    content[-6 if path.suffix == ".json" else -3] ^= 0x01  # a digit of a checksum, or a value
    path.write_bytes(content)


DAMAGE = {
    "truncated": lambda path: os.truncate(path, path.stat().st_size - 1),
    "empty": lambda path: os.truncate(path, 0),
    "removed": lambda path: path.unlink(),
    "changed": flip_a_byte,
    "junk": lambda path: path.write_bytes(b"\x93NUMPY junk" * 9),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("file", ["meta.json", *(f"{column}.npy" for column in COLUMNS)])
def test_a_damaged_entry_is_rebuilt(own_cache, write, caplog, damage, file):
    path = write("t.tr", "".join(f"{i} {i % 7} 512\n" for i in range(100)))
    trace = load_trace(path)
    intact = {column: getattr(trace, column).tolist() for column in COLUMNS}
    DAMAGE[damage](entry_of(own_cache, trace) / file)
    with caplog.at_level(logging.WARNING):
        rebuilt = load_trace(path)
    assert "is damaged" in caplog.text
    assert {column: getattr(rebuilt, column).tolist() for column in COLUMNS} == intact
    caplog.clear()
    load_trace(path)
    assert not caplog.text
    assert os.listdir(entry_of(own_cache, trace).parent) == [trace.digest]


def test_an_entry_that_cannot_be_mapped_is_no_damage(own_cache, write, caplog):
    path = write("t.tr", "".join(f"{i} {i} 512\n" for i in range(2_000_000)))
    load_trace(path)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + 10_000_000, limits[1]))
    try:
        with pytest.raises(UserError, match="cannot be opened: Cannot allocate memory"):
            load_trace(path)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert "damaged" not in caplog.text


def test_a_file_in_the_place_of_an_entry_is_replaced(own_cache):
    spec = "zipf:requests=50,objects=9"
    trace = load_trace(spec)
    entry = entry_of(own_cache, trace)
    for file in entry.iterdir():
        file.unlink()
    entry.rmdir()
    entry.write_text("not a directory")
    assert load_trace(spec).requests == 50
    assert entry.is_dir()


def test_a_cache_that_cannot_be_written_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VULCAN_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(UserError, match="set VULCAN_CACHE_DIR"):
        load_trace("zipf:requests=50,objects=9")
