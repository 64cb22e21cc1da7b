"""A search that runs, in Chromium: seen live, across a reload and a lost connection, stopped and gone on with."""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest
from browsing import SCREENSHOTS, Tab, tab
from live import Server, kill_group, only_run, start_search, until
from playwright.sync_api import Browser, expect

from vulcan.dashboard.live_run import LiveRun


class Cable:
    """Carries bytes between a port of its own and a server's; while it is cut it takes nobody on."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._whole = True
        self._carried: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._whole = False
        for end in self._carried:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._carried.clear()

    def mend(self) -> None:
        self._whole = True

    def _accept(self) -> None:
        with suppress(OSError):  # it is closed
            while True:
                near, _ = self._listening.accept()
                if not self._whole:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._to))
                self._carried += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    @staticmethod
    def _carry(one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while data := one.recv(1 << 16):
                other.sendall(data)
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.cut()
        self._listening.close()


FOR_PICTURES = (
    "--task", "cache_eviction", "--trace", "zipf:requests=12000,objects=2000,alpha=0.9,seed=3,sizes=lognormal",
    "--rounds", "40", "--samples", "25", "--tune", "40",
)  # fmt: skip


@pytest.fixture
def search(tmp_path: Path) -> Iterator[Path]:
    """The run of a search that goes on and on."""
    process = start_search(tmp_path, *(FOR_PICTURES if SCREENSHOTS else ()))
    try:
        yield only_run(tmp_path)
    finally:
        kill_group(process)


def feed_rows(one: Tab) -> list[int]:
    return [int(row) for row in one.page.eval_on_selector_all("#feed li", "all => all.map((line) => line.dataset.row)")]


def shown_candidates(one: Tab) -> int:
    (text,) = one.texts("#shown")
    return int(text.rpartition(" ")[2].replace(",", "") or 0)


def stored_rows(run: Path, low: int, high: int) -> list[int]:
    watched = LiveRun(run)
    watched.refresh()
    return [one.row for one in watched.log if low <= one.row <= high]


def take_pictures(one: Tab) -> None:
    """Of the search for the docs, in light and dark, and of its best candidate."""
    page, here = one.page, one.page.url
    until(lambda: shown_candidates(one) > 250, "there is something to see")
    one.picture("live-search", 1350)
    page.emulate_media(color_scheme="dark")
    one.picture("live-search-dark", 1350)
    page.emulate_media(color_scheme="light")
    expect(page.locator("#tree svg")).to_be_visible()
    one.picture_of("live-maps", "section:has(#map)", "section:has(#tree)")
    page.locator("#best-note a").click()
    expect(page.locator("#chart svg")).to_be_visible()
    one.picture("live-candidate", 1220)
    page.goto(here)
    expect(page.locator("#live")).to_have_text("live")
    until(lambda: feed_rows(one), "the list is there again")


def test_a_search_is_seen_live(search: Path, browser: Browser, serve: Callable[..., Server]) -> None:
    server = serve(search.parents[1], search.name)
    with Cable(server.port) as cable, tab(browser, *server.through(cable.port)) as one:
        page = one.page
        page.wait_for_url(f"**/runs/{search.name}")
        expect(page.locator("#state")).to_have_text("running")
        expect(page.locator("#live")).to_have_text("live")
        until(lambda: shown_candidates(one) > 5, "candidates come in")
        first = shown_candidates(one)
        until(lambda: shown_candidates(one) > first, "more come in without a reload")
        expect(page.locator("#chart svg")).to_contain_text("best so far")
        if SCREENSHOTS:
            until(lambda: shown_candidates(one) > 60, "there is something to see")
            take_pictures(one)

        before = feed_rows(one)
        page.reload()
        expect(page.locator("#live")).to_have_text("live")
        until(lambda: feed_rows(one) and feed_rows(one)[0] > before[0], "it goes on after a reload")
        assert shown_candidates(one) >= first

        cable.cut()
        server_side = LiveRun(search)
        expect(page.locator("#live")).to_have_text("not connected")
        last = feed_rows(one)[0]

        def further() -> bool:
            server_side.refresh()
            return len(server_side.after(last)) > 10

        until(further, "the search goes on unseen")
        cable.mend()
        until(lambda: feed_rows(one)[0] > server_side.row, "it is told what it missed")
        rows = feed_rows(one)
        assert rows == sorted(set(rows), reverse=True)
        assert rows == stored_rows(search, rows[-1], rows[0])[::-1]
        one.complaints.clear()  # the browser's own, of the connection that was cut

        os.kill(int(re.search(r"kill (\d+)", page.locator("#command").inner_text())[1]), signal.SIGINT)  # type: ignore[index]
        expect(page.locator("#state")).to_have_text("interrupted")
        expect(page.locator("#feed li").first).to_contain_text("stopped: interrupted")
        expect(page.locator("#command")).to_have_text(f"vulcan resume {search.name}")
