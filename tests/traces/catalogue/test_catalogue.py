"""The catalogue says what is known and nothing else, and what it says of the traces at hand is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from effort import few
from real_data import DATA

from vulcan.errors import UserError
from vulcan_traces import open_trace
from vulcan_traces.catalogue import TraceFile, TraceSet, find_file, read_catalogue
from vulcan_traces.catalogue.catalogue import checksum_like
from vulcan_traces.readers import FORMATS

SETS = read_catalogue()
FILES = [file for each in SETS for file in each.files]


def local(file: TraceFile) -> Path | None:
    """The file in the folder of real traces that has this one's name and length."""
    for path in sorted((DATA / "cache").rglob(file.file_name)):
        if path.stat().st_size == file.bytes:
            return path
    return None


AT_HAND = [file for file in FILES if file.bytes is not None and local(file) is not None]


@pytest.mark.parametrize("each", SETS, ids=lambda each: each.name)
def test_every_set_names_source_and_licence_and_every_trace_a_format_and_how_it_is_got(each: TraceSet) -> None:
    assert re.fullmatch(r"https?://\S+", each.source)
    assert each.title
    assert each.licence
    assert each.kind in ("block", "key-value", "object", "application")
    for file in each.files:
        assert re.fullmatch(rf"{re.escape(each.name)}/[A-Za-z0-9._-]+", file.name)
        assert file.format in FORMATS
        assert (file.url is None) != (file.obtain is None)
        assert file.url is None or re.fullmatch(r"https?://[^\s/]+/\S*", file.url)
        assert file.file_name.strip(".")
        assert file.checksum is None or re.fullmatch(
            "sha256:[0-9a-f]{64}|md5:[0-9a-f]{32}|git-blob-sha1:[0-9a-f]{40}", file.checksum
        )


def test_every_name_and_address_is_given_once_and_what_github_has_is_pinned_and_has_a_checksum() -> None:
    urls = [file.url for file in FILES if file.url is not None]
    for once in (urls, [each.name for each in SETS], [file.name for file in FILES]):
        assert len(set(once)) == len(once)
    for file in FILES:
        if file.url is not None and "githubusercontent" in file.url:
            assert re.match(r"https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/", file.url)
            assert file.checksum is not None


@pytest.mark.parametrize("file", few(AT_HAND, 10), ids=lambda file: file.name)
def test_what_it_says_of_a_trace_at_hand_is_so(
    file: TraceFile, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VULCAN_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "decoded"))
    path = local(file)
    assert path is not None
    assert file.checksum is not None
    assert checksum_like(file.checksum, path) == file.checksum
    trace = open_trace(path, format=None if file.columns else file.format, columns=file.columns)
    assert file.requests in (None, trace.requests)
    assert file.objects in (None, trace.object_count)


def test_checksums_are_what_the_tools_print(tmp_path: Path) -> None:
    path = tmp_path / "hello"
    path.write_bytes(b"hello\n")
    for checksum in (
        "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
        "md5:b1946ac92492d2347c6235b4d2611184",
        "git-blob-sha1:ce013625030ba8dba906f756967f9e9ca394464a",
    ):
        assert checksum_like(checksum, path) == checksum


def test_a_set_of_one_is_found_by_its_own_name() -> None:
    assert find_file("scarab", SETS).name == "scarab/recs"
    assert find_file("arc/P3", SETS).format == "arc"
    for name, told in {
        "arc": "is a set; fetch one of arc/OLTP, arc/P1",
        "arc/P33": "did you mean 'arc/P3'",
        "google-thesios": "see https://console.cloud",
    }.items():
        with pytest.raises(UserError, match=re.escape(told)):
            find_file(name, SETS)
