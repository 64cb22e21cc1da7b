"""`vulcan cache`: what it shows, and what it deletes."""

from __future__ import annotations

from pathlib import Path

import pytest
from console import ZIPF, Console
from json_documents import faults

from vulcan.paths import TAG, cached_kinds, table_file


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with a decoded trace and a frame, in a directory that another program uses too."""
    import pandas

    place = tmp_path / "cache"
    (place / "others").mkdir(parents=True)
    (place / "others" / "precious.txt").write_text("1")
    monkeypatch.setenv("VULCAN_CACHE_DIR", str(place))
    table_file(pandas.DataFrame({"time": [0], "id": [1], "size": [1]}))
    return place


def test_the_cache_is_shown_and_emptied_by_kind(tmp_path: Path, cache: Path) -> None:
    vulcan = Console(tmp_path)
    vulcan.good("traces", "head", ZIPF, "-n", "1", VULCAN_CACHE_DIR=str(cache))
    (decoded := cache / "traces" / "ab").mkdir(parents=True, exist_ok=True)
    (decoded / "keys.npy").write_bytes(bytes(1_500_000))
    (cache / "traces" / TAG).touch()
    shown = vulcan.document("cache", VULCAN_CACHE_DIR=str(cache))
    assert faults(shown, "CacheDocument") == []
    kinds = {kind["kind"]: kind for kind in shown["kinds"]}
    assert set(kinds) <= {"traces", "tables", "kernels"}
    assert (kinds["tables"]["files"], kinds["tables"]["cleared"]) == (1, False)
    assert kinds["traces"]["bytes"] >= 1_500_000
    assert shown["files"] == sum(kind["files"] for kind in shown["kinds"])

    text = vulcan.good("cache", "--clear", VULCAN_CACHE_DIR=str(cache)).stdout
    assert "deleted" in text
    assert "kept    tables" in text
    assert not decoded.exists()
    assert [kind.name for kind in cached_kinds() if kind.files] == ["tables"]
    assert (cache / "others" / "precious.txt").exists()

    done = vulcan.document("cache", "tables", "--clear", VULCAN_CACHE_DIR=str(cache))
    assert [(kind["kind"], kind["cleared"]) for kind in done["kinds"]] == [("tables", True)]
    assert not any(kind.files for kind in cached_kinds())


def test_an_unknown_kind_is_named_with_those_there_are(tmp_path: Path, cache: Path) -> None:
    failed = Console(tmp_path)("cache", "others", "--clear", VULCAN_CACHE_DIR=str(cache))
    assert failed.returncode == 2
    assert "nothing of kind 'others'" in failed.stderr
    assert failed.stderr.rstrip().endswith("there are: tables")
    assert (cache / "others" / "precious.txt").exists()
