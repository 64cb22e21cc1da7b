"""A search is steered from the page and from the command line while it runs; a replay repeats it."""

from __future__ import annotations

import io
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from browsing import tab
from live import COMMAND, Server, ended, kill_group, only_run, record_of, start_search, until
from locations import recorded_run
from playwright.sync_api import Browser, expect

from vulcan.dashboard.manage import NOTES, delete_run, read_notes, write_notes
from vulcan.errors import UserError
from vulcan.store.events import Event, RunStarted, RunStopped
from vulcan.store.runs import lock_run, open_store

OWN = "def decide(load, room):\n    return min(load, room) * 0.9 + load * 0.0123\n"


@pytest.fixture
def search(tmp_path: Path, cache_of_tests: Path) -> Iterator[subprocess.Popen[str]]:
    process = start_search(tmp_path, "--strategy", "evolve")
    yield process
    kill_group(process)


def events_of(run: Path) -> list[Event]:
    with closing(open_store(run)) as store:
        return [event for event in store.events() if not isinstance(event, RunStarted | RunStopped)]


def vulcan(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], cwd=directory, text=True, capture_output=True, check=False)


@pytest.mark.slow
def test_a_running_search_is_steered_and_replayed(tmp_path: Path, search: subprocess.Popen[str]) -> None:
    run = only_run(tmp_path)
    until(lambda: len(record_of(run).ranked()) > 3, "candidates are scored")
    refused = vulcan(tmp_path, "steer", "latest", "--hint", "Try the square root.")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "the offline generator reads no prompt" in refused.stderr
    (tmp_path / "own.py").write_text(OWN)
    told = vulcan(tmp_path, "steer", "latest", "--add", "own.py")
    assert (told.returncode, told.stderr) == (0, "")
    assert "waiting" in told.stdout
    until(lambda: any(c.origin == "user" for c in record_of(run).candidates.values()), "the policy is a candidate")
    assert "from proposal" in vulcan(tmp_path, "steer", "latest").stdout
    own = next(c for c in record_of(run).candidates.values() if c.origin == "user")
    assert (own.source, record_of(run).parents_of(own.candidate)) == (OWN, ())
    search.send_signal(2)
    assert ended(search) == 130
    replayed = vulcan(tmp_path, "search", "--replay", run.name, "--executor", "local", "--workers", "1", "--quiet")
    assert replayed.returncode == 0, replayed.stderr
    other = next(path for path in run.parent.iterdir() if path != run)
    original = events_of(run)
    assert events_of(other)[: len(original)] == original
    (tmp_path / "own.py").write_text(OWN.replace("0.9", "0.8"))
    finished = vulcan(tmp_path, "steer", other.name, "--add", "own.py")
    assert finished.returncode == 2
    assert "start a new one" in finished.stderr


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded_run(), tmp_path / "runs" / "recorded"))


def check_refusals(kept: Path, server: Server) -> None:
    with server.client() as client:
        for given in ({}, {"name": "other"}):
            assert client.post("/api/runs/recorded/delete", json=given).status_code == 400
        assert client.get("/api/runs/recorded/delete").status_code == 405
        assert client.post("/api/runs/nothing/delete", json={"name": "nothing"}).status_code == 400
    with lock_run(kept), pytest.raises(UserError, match="another process"):
        delete_run(kept)
    (link := kept.parent / "link").symlink_to(kept)
    with pytest.raises(UserError, match="link"):
        delete_run(link)
    link.unlink()
    assert (kept / "run.db").is_file()


def test_a_run_is_named_noted_exported_and_deleted(kept: Path, browser: Browser, serve: Callable[..., Server]) -> None:
    server = serve(kept.parents[1])
    check_refusals(kept, server)
    with tab(browser, server.home, server.address) as one:
        page = one.open("/runs/recorded")
        page.locator("#notes").click()
        page.locator("#notes-name").fill("First  try <b>")
        page.locator("#notes-text").fill("It reads\nthe ghost list.")
        page.locator("#notes-dialog .strong").click()
        expect(page.locator("#title")).to_have_text("First try <b>")
        expect(page.locator("#name")).to_have_text("recorded")
        expect(page.locator("#note")).to_have_text("It reads\nthe ghost list.")
        page.locator("#export").click()
        expect(page.locator("#formats a", has_text="python")).to_be_visible()
        with page.expect_download() as download:
            page.locator("#formats a", has_text="all of them").click()
        with zipfile.ZipFile(io.BytesIO(download.value.path().read_bytes())) as archive:
            names = {name.partition("/")[2] for name in archive.namelist()}
        assert {"README.md", "python/cache_eviction.py"} <= names
        page.keyboard.press("Escape")
        one.open("/")
        expect(page.locator("#runs")).to_contain_text("First try <b>")
        one.open("/runs/recorded")
        page.locator("#delete").click()
        page.locator("#delete-dialog .cancel").click()
        assert kept.is_dir()
        page.locator("#delete").click()
        page.locator("#delete-dialog .danger").click()
        page.wait_for_url(server.home + "/")
        expect(page.locator("#runs")).to_contain_text("no runs yet")
    assert list(kept.parent.iterdir()) == []


def test_notes_that_are_not_vulcans_are_none(kept: Path) -> None:
    for text in ("", "[]", "{", '{"title": 3}', "[" * 100_000):
        (kept / NOTES).write_text(text)
        assert read_notes(kept).note == ""
    with pytest.raises(UserError, match="at most 100 characters"):
        write_notes(kept, "x" * 101, "")
    assert write_notes(kept, " a \n title ", " a note\n") == read_notes(kept)
