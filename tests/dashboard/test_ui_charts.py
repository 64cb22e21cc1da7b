"""What a person does with the charts of a run: hover, click, zoom, other axes and runs, the maps, a small screen."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from browsing import Tab, tab
from live import Server, unfinished
from locations import recorded_run
from playwright.sync_api import Browser, Locator, Page, expect

from vulcan.store.events import RunStopped
from vulcan.store.runs import open_store

PHONE = {"width": 390, "height": 844}


def configured(run: Path, **changes: Any) -> None:
    """Change the configuration that a run was begun with."""
    with closing(sqlite3.connect(run / "run.db")) as db:
        rows = db.execute("SELECT id, data FROM events WHERE kind = 'Started'").fetchall()
        for row, data in rows:
            event = json.loads(data)
            event["config"].update(changes)
            db.execute("UPDATE events SET data = ? WHERE id = ?", (json.dumps(event), row))
        db.commit()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, serve: Callable[..., Server]) -> Server:
    """A server over the recorded search, with two more seeds of it."""
    directory = tmp_path_factory.mktemp("charts")
    for number, name in enumerate(("recorded", "second", "third"), 1):
        configured(Path(shutil.copytree(recorded_run(), directory / "runs" / name)), seed=number)
    return serve(directory)


@pytest.fixture
def opened(browser: Browser, server: Server) -> Iterator[Tab]:
    with tab(browser, server.home, server.address) as one:
        one.open("/runs/recorded")
        expect(one.page.locator("#chart canvas")).to_be_visible()
        yield one


def chart_data(server: Server, what: str = "chart") -> Any:
    with server.client() as client:
        return client.get(f"/api/runs/recorded/{what}").json()


def place_of(over: Locator, across: float, up: float) -> tuple[float, float]:
    """Where in the window a share of a plot's area is."""
    over.evaluate("element => element.closest('.chart').scrollIntoView({ block: 'center' })")
    box = over.bounding_box()
    assert box is not None
    return box["x"] + across * box["width"], box["y"] + (1 - up) * box["height"]


def numbers(page: Page) -> list[float]:
    """What stands beside the horizontal axis of the chart, by the legend as the pointer moves to both ends."""
    over, found = page.locator("#chart .u-over"), []
    for share in (0.001, 0.999):
        page.mouse.move(*place_of(over, share, 0.5))
        text = page.locator("#chart .u-series").first.locator(".u-value").inner_text()
        found.append(float(text.replace(",", "")))
    return found


def test_a_click_on_a_point_opens_its_candidate(opened: Tab, server: Server) -> None:
    page, data = opened.page, chart_data(server)
    low, high = data["range"]
    best = dict(map(tuple, data["best"]))
    candidate, score = next((n, s) for n, s in data["points"] if low < s and n not in best and n > 20)
    over = page.locator("#chart .u-over")
    page.mouse.move(*place_of(over, candidate / data["last"], (score - low) / (high - low)))
    legend = page.locator("#chart .u-legend")
    expect(legend).to_contain_text(f"candidate{candidate}a candidate{score:.4f}")
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url(f"**/runs/recorded/candidates/{candidate}")
    expect(page.locator("h1")).to_contain_text(f"Candidate {candidate}")


def test_the_chart_is_zoomed_and_put_over_other_axes(opened: Tab, server: Server) -> None:
    page, data = opened.page, chart_data(server)
    over = page.locator("#chart .u-over")
    assert numbers(page) == [0, data["last"]]
    page.mouse.move(*place_of(over, 0.5, 0.5))
    page.mouse.down()
    page.mouse.move(*place_of(over, 0.75, 0.5), steps=4)
    page.mouse.up()
    inside = numbers(page)
    assert 0.45 * data["last"] < inside[0] < inside[1] < 0.8 * data["last"]
    over.dblclick(position={"x": 5, "y": 5})
    expect(page.locator("#chart .u-over")).to_be_visible()
    assert numbers(page) == [0, data["last"]]
    for axis in ("minutes", "dollars", "tokens"):
        page.locator("#axis").select_option(axis)
        expect(page.locator("#chart .u-series").first).to_contain_text(axis)
    assert numbers(page)[1] == pytest.approx(data["at"][str(data["last"])]["tokens"], rel=0.05)


def test_seeds_of_one_search_become_a_band(opened: Tab) -> None:
    page = opened.page
    expect(page.locator("#other option")).to_have_count(3)
    page.locator("#other").select_option("second")
    expect(page.locator("#chart")).to_have_attribute("data-series", re.compile(r"\|second$"))
    page.locator("#other").select_option("third")
    expect(page.locator("#chart")).to_have_attribute("data-series", re.compile("2 seeds, best.2 seeds, worst"))
    page.get_by_role("button", name="take second off the chart").click()
    expect(page.locator("#chart")).to_have_attribute("data-series", re.compile(r"\|third$"))


def test_the_map_shows_what_policies_do(opened: Tab, server: Server) -> None:
    page, data = opened.page, chart_data(server, "behaviour")
    assert data["axes"][:2] == data["first"] == ["miss_ratio", "byte_miss_ratio"]
    kinds = [point["kind"] for point in data["points"]]
    assert kinds.count("candidate") > 40 and kinds.count("oracle") == 2 and kinds.count("baseline") > 10
    shown = page.locator("#map")
    expect(shown).to_have_attribute("data-points", str(len(kinds)))
    best = next(point for point in data["points"] if point["candidate"] == data["best"])
    page.locator("#map-up").select_option("size in nodes")
    expect(shown).to_have_attribute("data-points", str(kinds.count("candidate")))  # the others have no program
    page.locator("#map-up").select_option("byte_miss_ratio")
    expect(shown).to_have_attribute("data-points", str(len(kinds)))
    ends = [[point["values"][n] for point in data["points"]] for n in (0, 1)]
    rooms = [(max(values) - min(values)) * 0.05 for values in ends]
    across, up = (
        (best["values"][n] - min(ends[n]) + rooms[n]) / (max(ends[n]) - min(ends[n]) + 2 * rooms[n]) for n in (0, 1)
    )
    page.mouse.move(*place_of(page.locator("#map .u-over"), across, up))
    expect(page.locator("#map-said")).to_contain_text(re.compile(r"candidate \d+, score 0\.\d{4}: miss_ratio"))
    number = re.findall(r"\d+", page.locator("#map-said").inner_text())[0]
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url(f"**/runs/recorded/candidates/{number}")


def test_the_tree_shows_who_descends_from_whom(opened: Tab, server: Server) -> None:
    page = opened.page
    lines = {one["candidate"]: one for one in chart_data(server, "tree?best=10")["candidates"]}
    expect(page.locator("#tree a")).to_have_count(len(lines))
    best = chart_data(server)["descent"][-1]
    assert best["candidate"] in lines
    edges = sum(parent in lines for one in lines.values() for parent in one["parents"])
    assert page.locator("#tree path.edge").count() == edges >= 10
    node = page.locator(f"#tree a[href$='/candidates/{best['candidate']}']")
    expect(node.locator("title")).to_have_text(
        re.compile(rf"candidate {best['candidate']}: {best['operator']}, .*; score {best['score']:.4f}")
    )
    expect(node.locator("circle")).to_have_class(re.compile("of-best"))
    expect(page.locator("#tree circle.of-best")).to_have_count(len(chart_data(server)["descent"]))
    page.locator("#tree-best").select_option("1")
    expect(page.locator("#tree a")).to_have_count(len(chart_data(server, "tree?best=1")["candidates"]))
    node.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/candidates/{best['candidate']}")


def test_any_two_candidates_are_compared(opened: Tab) -> None:
    page = opened.open("/runs/recorded/candidates/30")
    page.locator("#against").fill("12")
    page.locator("#against").press("Enter")
    page.wait_for_url("**/candidates/30?against=12")
    expect(page.locator("#diff-title")).to_have_text("Against candidate 12")
    expect(page.locator("pre.diff")).to_contain_text("--- candidate 12")
    assert page.locator("pre.diff mark").count() > 0
    assert page.locator("pre.source .code-keyword").count() > 0


def test_the_headline_is_of_held_out_data(opened: Tab) -> None:
    page = opened.page
    expect(page.locator("#best-title")).to_have_text("Score on test, held out")
    (winner,) = opened.texts("#policies tr.ours td:last-child")
    expect(page.locator("#best")).to_have_text(winner)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_of_it_fits_a_telephone(scheme: Any, server: Server, browser: Browser) -> None:
    with tab(browser, server.home, server.address, color_scheme=scheme) as one:
        one.page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        for path in ("/", "/runs/recorded", "/runs/recorded/candidates/30"):
            page = one.open(path)
            if "candidates" in path or path.endswith("recorded"):
                expect(page.locator("#chart canvas")).to_be_visible()
                box = page.locator("#chart .u-over").bounding_box()
                assert box is not None and box["height"] > 200 and box["width"] > 200
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
            for height in page.eval_on_selector_all("tbody tr", "all => all.map((row) => row.offsetHeight)"):
                assert height < 140, path


def test_a_server_that_died_is_said_within_two_seconds(
    tmp_path: Path, browser: Browser, serve: Callable[..., Server]
) -> None:
    """Two seconds by the page's own clock, which stands still otherwise."""
    (tmp_path / "runs").mkdir()
    run = unfinished(tmp_path / "runs" / "stopped")
    server = Server(tmp_path, run.name)
    try:
        with tab(browser, server.home, server.address) as one:
            page = one.page
            expect(page.locator("#live")).to_have_text("live")
            page.clock.install()
            page.clock.pause_at(page.evaluate("Date.now() + 1000"))
            server.process.kill()
            server.process.wait()
            page.clock.run_for(2000)
            expect(page.locator("#state")).to_have_text("unreachable")
            expect(page.locator("#trouble")).to_contain_text("is `vulcan ui` still running?")
            expect(page.locator("#pace")).to_have_text("")
            one.complaints.clear()  # the browser's own, of the connection that was lost
    finally:
        if server.process.poll() is None:
            server.process.kill()
        server.process.communicate()


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
            page.clock.run_for(2000)
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
