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
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vulcan.errors import UserError
from vulcan_traces.parsing.compression import decompressed
from vulcan_traces.parsing.source import Source

PACKS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstandard.compress}
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


def archive(*names: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as opened:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size = len(TEXT)
            opened.addfile(entry, io.BytesIO(TEXT))
    return made.getvalue()


def test_archives_of_one_file_are_that_file(tmp_path, write):
    with zipfile.ZipFile(tmp_path / "one.zip", "w") as opened:
        opened.writestr("folder/a", TEXT)
    assert content(tmp_path / "one.zip") == content(tmp_path / "one.zip" / "folder" / "a") == TEXT
    assert content(write("one.tar", archive("a"))) == content(write("one.tgz", gzip.compress(archive("a")))) == TEXT
    with zipfile.ZipFile(tmp_path / "one.zip", "a") as opened:
        opened.writestr("b", TEXT)
    for path, why in ((tmp_path / "one.zip", "name one"), (write("two.tar", archive("a", "b")), "several files")):
        with pytest.raises(UserError, match=why):
            content(path)


@pytest.mark.parametrize("text", [TEXT.decode().encode("utf-16"), TEXT.replace(b"\n", b"\r"), b"\xef\xbb\xbf" + TEXT])
def test_text_is_utf_8_with_line_feeds(write, text):
    source = Source(write("text", text))
    assert source.text(1 << 20) == b"".join(block for _, block in source.line_blocks()) == TEXT
    assert source.is_text


@pytest.mark.parametrize("kind", ["lz4", "parquet", "feather"])
def test_what_needs_a_package_says_so_or_is_read(tmp_path, kind):
    pytest.importorskip("lz4.frame" if kind == "lz4" else "pyarrow")
    path, frame = tmp_path / "packed", pd.DataFrame({"id": [7, 8], "size": [1, 2]})
    if kind == "lz4":
        import lz4.frame

        path.write_bytes(lz4.frame.compress(TEXT) * 2)
        assert content(path) == TEXT * 2
    else:
        (frame.to_parquet if kind == "parquet" else frame.to_feather)(path)
        assert content(path).replace(b'"', b"") == b"id,size\n7,1\n8,2\n"


@pytest.mark.parametrize(
    ("magic", "package"), [(b"\x04\x22\x4d\x18", "lz4"), (b"PAR1", "pyarrow"), (b"ARROW1", "pyarrow")]
)
def test_a_package_that_is_missing_is_named(write, monkeypatch, magic, package):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(UserError, match=f"pip install {package}"):
        content(write("packed", magic + bytes(99)))
