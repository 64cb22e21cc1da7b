"""What a person does with the charts of a run, on a small screen too, and with a server that hangs."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from browsing import Tab, tab
from live import Server, unfinished
from locations import recorded_run
from playwright.sync_api import Browser, expect

from vulcan.store.events import RunStopped
from vulcan.store.runs import open_store

PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, serve: Callable[..., Server]) -> Server:
    """A server over the recorded search."""
    directory = tmp_path_factory.mktemp("charts")
    shutil.copytree(recorded_run(), directory / "runs" / "recorded")
    return serve(directory)


@pytest.fixture
def opened(browser: Browser, server: Server) -> Iterator[Tab]:
    with tab(browser, server.home, server.address) as one:
        one.open("/runs/recorded")
        expect(one.page.locator("#chart svg")).to_be_visible()
        yield one


def test_a_click_on_a_point_opens_its_candidate(opened: Tab) -> None:
    page = opened.page
    point = page.locator("#chart svg a").last
    address = str(point.get_attribute("href"))
    number = address.rpartition("/")[2]
    expect(point.locator("title")).to_have_text(re.compile(rf"^candidate {number}: 0\.\d{{4}}$"))
    point.locator("circle").click()
    page.wait_for_url(f"**{address}")
    expect(page.locator("h1")).to_contain_text(f"Candidate {number}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_of_it_fits_a_telephone(scheme: Any, server: Server, browser: Browser) -> None:
    with tab(browser, server.home, server.address, color_scheme=scheme) as one:
        one.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        for path in ("/", "/runs/recorded", "/runs/recorded/candidates/30"):
            page = one.open(path)
            if path != "/":
                expect(page.locator("#chart svg")).to_be_visible()
                box = page.locator("#chart svg").bounding_box()
                assert box is not None and box["height"] > 120 and box["width"] > 200
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
            for height in page.eval_on_selector_all("tbody tr", "all => all.map((row) => row.offsetHeight)"):
                assert height < 140, path


def test_a_server_that_hangs_is_said_within_two_seconds_and_listened_to_once_it_goes_on(
    tmp_path: Path, browser: Browser, serve: Callable[..., Server]
) -> None:
    """As one that is stopped: it takes requests, and answers none."""
    (tmp_path / "runs").mkdir()
    run = unfinished(tmp_path / "runs" / "stopped")
    server = serve(tmp_path, run.name)
    with tab(browser, server.home, server.address) as one:
        page = one.page
        page.clock.install()
        page.reload()
        expect(page.locator("#live")).to_have_text("live")
        page.clock.pause_at(page.evaluate("Date.now() + 100"))
        server.process.send_signal(signal.SIGSTOP)
        try:
            for _ in range(20):  # two seconds after the last that it sent, some of which may arrive only now
                page.clock.run_for(200)
            expect(page.locator("#state")).to_have_text("unreachable")
            expect(page.locator("#live")).to_have_text("not connected")
            expect(page.locator("#trouble")).to_contain_text("is `vulcan ui` still running?")
        finally:
            server.process.send_signal(signal.SIGCONT)
        page.clock.resume()
        expect(page.locator("#live")).to_have_text("live")
        expect(page.locator("#state")).to_have_text("waits for replies")
        expect(page.locator("#trouble")).to_be_hidden()
        with closing(open_store(run)) as store:
            store.append(RunStopped("interrupted"))
        expect(page.locator("#feed li").first).to_contain_text("stopped: interrupted")
