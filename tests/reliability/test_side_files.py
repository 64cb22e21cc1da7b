"""Files beside a store, and caches: written whole or not at all, and left out where they can be."""

from __future__ import annotations

import errno
import json
import logging
import os
from pathlib import Path

import pytest
from test_store_faults import mounted, remount

from vulcan import files, paths
from vulcan.errors import UserError
from vulcan.files import replace_file, write_file, write_output
from vulcan.simulator.base import cached_metrics
from vulcan_traces import load_trace

CALLS = ("open", "fsync", "replace")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EMFILE, errno.EROFS])
def test_a_write_that_fails_leaves_the_file_as_it_was(
    call: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever call fails, and at whichever of its turns."""
    path = tmp_path / "seeds.json"
    path.write_text("before")
    genuine, turns = getattr(os, call) if call != "open" else open, 0

    def failing(*arguments: object, **named: object) -> object:
        nonlocal turns
        turns += 1
        if turns == 1:
            raise OSError(code, os.strerror(code))
        return genuine(*arguments, **named)  # type: ignore[operator]

    monkeypatch.setattr(files if call == "open" else os, call, failing, raising=False)
    with pytest.raises(UserError, match=rf"cannot write .*seeds.json: {os.strerror(code)}"):
        write_file(path, "after")
    assert [(found.name, found.read_text()) for found in tmp_path.iterdir()] == [("seeds.json", "before")]
    write_file(path, "after")
    assert [(found.name, found.read_text()) for found in tmp_path.iterdir()] == [("seeds.json", "after")]


def test_a_link_in_a_run_is_replaced_and_one_that_the_user_names_is_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("mine")
    target.chmod(0o600)
    link.symlink_to(target)
    write_output(link, "new")
    assert (target.read_text(), target.stat().st_mode & 0o777, link.is_symlink()) == ("new", 0o600, True)
    replace_file(link, "else")
    assert (target.read_text(), link.read_text(), link.is_symlink()) == ("new", "else", False)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "cache"
    monkeypatch.setenv("VULCAN_CACHE_DIR", str(place))
    monkeypatch.setattr(files, "_reported", set())
    monkeypatch.setattr(paths, "_temporary", [])
    return place


def test_measurements_are_not_cached_on_a_full_disk(small: Path, caplog: pytest.LogCaptureFixture) -> None:
    with mounted(small, "size=64k"), caplog.at_level(logging.WARNING):
        (small / "filler").write_bytes(bytes(40 << 10))
        large = {f"metric_{number}": 1.0 / (number + 1) for number in range(2000)}
        for identity in ("first", "second"):
            assert cached_metrics([identity], lambda: large) == large
        assert [path for path in (small / "baselines").iterdir() if path.suffix in (".json", ".part")] == []
        remount(small, "size=10m")
        assert cached_metrics(["first"], lambda: large) == large
        assert json.loads(next((small / "baselines").glob("*.json")).read_text()) == large
    (warning,) = caplog.messages
    assert "No space left on device" in warning


def test_measurements_that_are_damaged_are_made_again_with_a_warning(
    small: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cached_metrics(["cache"], lambda: {"misses": 3.0})
    (kept,) = (small / "baselines").glob("*.json")
    kept.write_text('{"misses": 3')
    with caplog.at_level(logging.WARNING):
        assert cached_metrics(["cache"], lambda: {"misses": 4.0}) == {"misses": 4.0}
    assert "computed again" in caplog.text
    assert cached_metrics(["cache"], dict) == {"misses": 4.0} != cached_metrics(["another"], dict)


@pytest.mark.parametrize("options", ["size=40k", "ro"])
def test_a_trace_is_decoded_to_a_temporary_cache(options: str, small: Path, caplog: pytest.LogCaptureFixture) -> None:
    with mounted(small, options), caplog.at_level(logging.WARNING):
        trace = load_trace("zipf:requests=5000,objects=500,alpha=0.9")
        again = load_trace("zipf:requests=5000,objects=500,alpha=0.9")
        assert trace.requests == again.requests == 5000
        temporary = Path(os.environ["VULCAN_CACHE_DIR"])
        assert temporary != small and len(list(temporary.rglob("meta.json"))) == 1
        assert list(small.rglob(".writing-*")) == []
    (warning,) = (record.getMessage() for record in caplog.records if record.name == "vulcan.paths")
    assert str(small) in warning and str(temporary) in warning
