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
from live import COMMAND, Server, ended, kill_group, only_run, record_of, start_search, unfinished, until
from locations import recorded_run
from playwright.sync_api import Browser, expect

from vulcan.dashboard.manage import NOTES, delete_run, read_notes, write_notes
from vulcan.errors import UserError
from vulcan.searches.steering import Inbox
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
def test_a_running_search_is_steered_and_replayed(
    tmp_path: Path, search: subprocess.Popen[str], browser: Browser, serve: Callable[..., Server]
) -> None:
    run = only_run(tmp_path)
    until(lambda: len(record_of(run).ranked()) > 3, "candidates are scored")
    pinned, banned = (record_of(run).ranked()[n].candidate for n in (0, 1))
    told = vulcan(tmp_path, "steer", "latest", "--ban", str(banned))
    assert (told.returncode, told.stderr) == (0, "")
    assert f"candidate {banned}" in told.stdout
    refused = vulcan(tmp_path, "steer", "latest", "--hint", "Try the square root.")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "the offline generator reads no prompt" in refused.stderr

    server = serve(tmp_path, run.name)
    with tab(browser, server.home, server.address) as one:
        page = one.page
        expect(page.locator("#steering-note")).to_contain_text("reads no prompt")
        expect(page.locator("#hint")).to_be_hidden()
        expect(page.locator("#instructions")).to_contain_text(f"candidate {banned} banned")
        one.open(f"/runs/{run.name}/candidates/{pinned}")
        page.get_by_role("button", name="Pin").click()
        expect(page.locator("#steered")).to_contain_text("keeps building on it")
        one.open(f"/runs/{run.name}/playground?from={pinned}")
        page.locator("#source").fill(OWN)
        page.locator("#send").click()
        expect(page.locator("#sent")).to_contain_text("Sent")
        until(lambda: any(c.origin == "user" for c in record_of(run).candidates.values()), "the policy is a candidate")
        until(lambda: {event.act for event in record_of(run).steered} == {"ban", "pin", "add"}, "all are applied")
        one.open(f"/runs/{run.name}")
        expect(page.locator("#instructions")).to_contain_text("from proposal")
        page.locator("#instructions tr", has_text="pinned").get_by_role("button").click()
        until(lambda: record_of(run).steered[-1].act == "release", "the pin is taken back")
        count = len(record_of(run).proposals)
        until(lambda: len(record_of(run).proposals) > count + 3, "the search continues")
        expect(page.locator("#delete")).to_be_disabled()
        with server.client() as client:
            refusal = client.post(f"/api/runs/{run.name}/delete", json={"name": run.name})
            assert (refusal.status_code, run.is_dir()) == (400, True)
            assert "another process is searching" in refusal.json()["error"]

    own = next(c for c in record_of(run).candidates.values() if c.origin == "user")
    assert (own.source, record_of(run).parents_of(own.candidate)) == (OWN, (pinned,))
    search.send_signal(2)
    assert ended(search) == 130
    replayed = vulcan(tmp_path, "search", "--replay", run.name, "--executor", "local", "--workers", "1", "--quiet")
    assert replayed.returncode == 0, replayed.stderr
    other = next(path for path in run.parent.iterdir() if path != run)
    original = events_of(run)
    assert events_of(other)[: len(original)] == original
    finished = vulcan(tmp_path, "steer", other.name, "--pin", "1")
    assert finished.returncode == 2
    assert "start a new one" in finished.stderr


def test_a_stopped_search_is_told_what_to_do_once_it_is_resumed(
    tmp_path: Path, browser: Browser, serve: Callable[..., Server]
) -> None:
    (tmp_path / "runs").mkdir()
    run = unfinished(tmp_path / "runs" / "stopped")
    best, second = (candidate.candidate for candidate in record_of(run).ranked()[:2])
    server = serve(tmp_path, run.name)
    with tab(browser, server.home, server.address) as one:
        page = one.page
        page.locator("#hint").fill("Objects are often read <b>twice</b>.")
        page.keyboard.press("Enter")
        expect(page.locator("#instructions q")).to_have_text("Objects are often read <b>twice</b>.")
        expect(page.locator("#instructions")).to_contain_text("once it is resumed")
        for candidate, button, said in ((best, "Pin", "keeps building on it"), (second, "Ban", "does not build on it")):
            one.open(f"/runs/stopped/candidates/{candidate}")
            page.get_by_role("button", name=button).click()
            expect(page.locator("#steered")).to_contain_text(said)
        one.open(f"/runs/stopped/playground?from={best}")
        page.locator("#source").fill("def priority(now, obj, cache, ghost):\n    return nothing\n")
        page.locator("#send").click()
        expect(page.locator("#trouble")).to_contain_text("the checker rejects")
        one.complaints.clear()  # of the answer 400
        page.locator("#source").fill("def priority(now, obj, cache, ghost):\n    return obj.count / 7 - obj.size\n")
        page.locator("#send").click()
        expect(page.locator("#sent")).to_contain_text("Sent")
        one.open("/runs/stopped")
        for button in page.locator("#instructions button").all():
            expect(button).to_be_visible()
        page.locator("#instructions tr", has_text="banned").get_by_role("button").click()
        expect(page.locator("#instructions")).to_contain_text(f"candidate {second} released")
    acts = [(one.act, one.candidate) for one in Inbox(run).waiting()]
    assert acts == [("hint", None), ("pin", best), ("ban", second), ("add", best), ("release", second)]


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded_run(), tmp_path / "runs" / "recorded"))


def check_refusals(kept: Path, server: Server) -> None:
    with server.client() as client:
        for given in ({}, {"name": "other"}):
            assert client.post("/api/runs/recorded/delete", json=given).status_code == 400
        assert client.get("/api/runs/recorded/delete").status_code == 405
        assert client.post("/api/runs/nothing/delete", json={"name": "nothing"}).status_code == 400
        for given, why in (({"act": "sing"}, "no act"), ({"act": "pin", "candidate": "1"}, "number is needed")):
            assert why in client.post("/api/runs/recorded/steer", json=given).json()["error"]
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
