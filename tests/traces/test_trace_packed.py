"""A file is what its content is, whatever it is packed in, and all of it or an error."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vulcan import zstd
from vulcan.errors import UserError
from vulcan_traces.parsing.compression import decompressed
from vulcan_traces.parsing.source import Source

PACKS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstd.compress}
PADDING = {"gzip": 1, "xz": 4}
TEXT = b"".join(b"%d %d 100\n" % (i, i * i % 97) for i in range(1000))


def content(path: Path) -> bytes:
    return b"".join(decompressed(path))


@pytest.mark.parametrize("name", PACKS)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(st.binary(max_size=300), min_size=1, max_size=4), where=st.integers(0), flip=st.integers(1, 255))
def test_streams_are_joined_and_damage_anywhere_is_an_error(tmp_path, name, parts, where, flip):
    path = tmp_path / "packed"
    packed = b"".join(map(PACKS[name], parts))
    path.write_bytes(packed)
    assert content(path) == b"".join(parts)
    path.write_bytes(packed + b"x")
    with pytest.raises(UserError, match="damaged"):
        content(path)
    path.write_bytes(packed[: 6 + where % (len(packed) - 6)])
    begun = len(PACKS[name](parts[0]))
    if path.stat().st_size not in {len(b"".join(map(PACKS[name], parts[: n + 1]))) for n in range(len(parts))}:
        with pytest.raises(UserError, match="damaged"):
            content(path)
    if len(parts) > 1 and name == "xz":  # which has a checksum over everything
        at = begun + where % (len(packed) - begun)
        path.write_bytes(packed[:at] + bytes([packed[at] ^ flip]) + packed[at + 1 :])
        with pytest.raises(UserError, match="damaged"):
            content(path)


@pytest.mark.parametrize(("name", "zeros"), [("gzip", 3), ("xz", 4), ("xz", 3), ("bzip2", 4), ("zstd", 4)])
def test_zeros_may_follow_where_they_are_padding(write, name, zeros):
    path = write("padded", PACKS[name](TEXT) + bytes(zeros))
    if zeros % PADDING.get(name, 99):
        with pytest.raises(UserError, match="damaged"):
            content(path)
    else:
        assert content(path) == TEXT


def test_an_archive_of_one_file_is_that_file(tmp_path):
    with zipfile.ZipFile(tmp_path / "one.zip", "w") as opened:
        opened.writestr("folder/a", TEXT)
    assert content(tmp_path / "one.zip") == content(tmp_path / "one.zip" / "folder" / "a") == TEXT
    with zipfile.ZipFile(tmp_path / "one.zip", "a") as opened:
        opened.writestr("b", TEXT)
    with pytest.raises(UserError, match="name one"):
        content(tmp_path / "one.zip")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_tar_archive_is_to_be_extracted(write, pack):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as opened:
        entry = tarfile.TarInfo("a")
        entry.size = len(TEXT)
        opened.addfile(entry, io.BytesIO(TEXT))
    with pytest.raises(UserError, match="a tar archive; extract"):
        Source(write("packed", pack(made.getvalue()))).check()


@pytest.mark.parametrize(("magic", "said"), [(b"\x04\x22\x4d\x18", "by lz4"), (b"ARROW1\0\0", "Feather")])
def test_what_is_not_read_is_named(write, magic, said):
    with pytest.raises(UserError, match=said):
        Source(write("packed", magic + bytes(64))).check()


@pytest.mark.parametrize("text", [TEXT.decode().encode("utf-16"), TEXT.replace(b"\n", b"\r"), b"\xef\xbb\xbf" + TEXT])
def test_text_is_utf_8_with_line_feeds(write, text):
    source = Source(write("text", text))
    assert source.text(1 << 20) == b"".join(block for _, block in source.line_blocks()) == TEXT
    assert source.is_text


def test_a_table_in_parquet_is_read_as_csv(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"id": [7, 8], "size": [1, 2]}).to_parquet(tmp_path / "packed")
    assert content(tmp_path / "packed").replace(b'"', b"") == b"id,size\n7,1\n8,2\n"


def test_a_package_that_is_missing_is_named(write, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(UserError, match="pip install pyarrow"):
        content(write("packed", b"PAR1" + bytes(99)))
