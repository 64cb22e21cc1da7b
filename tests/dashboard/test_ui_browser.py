"""The page in Chromium: what it shows, by keyboard and in the dark, with hostile text and with 5,000 candidates."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from browsing import Tab, tab
from effort import slow
from live import MARKUP, Server, record_of
from playwright.sync_api import Browser, Page, expect

from vulcan.dashboard.api import PAGE
from vulcan.results.report.html_page import aligned

SCHEMES = (slow("light"), "dark")


@pytest.fixture(params=SCHEMES)
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def opened(browser: Browser, page_server: Server) -> Iterator[Tab]:
    """The list of runs, in a browser that was given the address."""
    with tab(browser, page_server.home, page_server.address) as one:
        yield one


def large_is_drawn(page: Page) -> None:
    expect(page.locator("#candidates tbody tr")).to_have_count(PAGE)
    expect(page.locator("#chart svg")).to_contain_text("best so far")


def test_from_the_list_to_a_candidate_by_keyboard(opened: Tab, page_server: Server) -> None:
    page = opened.page
    assert page.url == page_server.home + "/"  # the token is not in the address any more
    expect(page.locator("#runs tbody")).to_contain_text("finished")
    page.keyboard.press("Tab")
    assert opened.focused() == "Skip to the content"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    page.keyboard.press("Enter")
    page.keyboard.press("j")
    names = [text.split()[0] for text in opened.texts("#runs tbody td:nth-child(2)")]
    for _ in range(names.index("recorded")):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/recorded*")
    expect(page.locator("#best")).to_have_text(aligned(winner_of(page_server)))
    expect(page.locator("#state")).to_have_text("finished")

    expect(page.locator("#candidates tbody tr")).to_have_count(PAGE)
    page.keyboard.press("/")
    assert opened.focused() == "filter"
    page.keyboard.type("tuned")
    expect(page.locator("#shown")).to_have_text(re.compile(r"^[1-9] of 89$"))
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    first = opened.texts("#candidates tbody tr td:first-child")[0]
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/candidates/{first}")
    expect(page.locator("h1")).to_contain_text(f"Candidate {first}")
    page.keyboard.press("n")
    page.wait_for_url(f"**/candidates/{int(first) + 1}")
    expect(page.locator("#chart svg")).to_be_visible()
    page.keyboard.press("u")
    page.wait_for_url("**/runs/recorded*")


def winner_of(server: Server) -> float:
    record = record_of(server.directory / "runs" / "recorded")
    assert record.chosen is not None
    score = record.score_of(record.chosen.candidate, "test")
    assert score is not None
    return score


def test_everything_that_can_be_done_can_be_reached_with_tab(opened: Tab) -> None:
    page = opened.open("/runs/recorded")
    expect(page.locator("#tree svg a").first).to_be_visible()
    wanted = {"keys-button", "filter", "next", "TR", "BUTTON", "A"}
    for _ in range(200):
        page.keyboard.press("Tab")
        wanted.discard(opened.page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        if not wanted:
            break
    assert not wanted


def test_text_of_a_model_is_text_on_every_page(opened: Tab) -> None:
    for path in (
        "/",
        "/runs/hostile",
        "/runs/hostile/candidates/1",
        "/runs/hostile/candidates/2",
    ):
        page = opened.open(path)
        if path == "/runs/hostile":
            expect(page.locator("#candidates tbody tr").first).to_be_visible()
            expect(page.locator("#feed li").first).to_be_visible()
            assert any(MARKUP in text for text in opened.texts("#candidates td"))
        elif "candidates" in path:
            expect(page.locator("#chart svg")).to_be_visible()
            assert MARKUP in page.locator("pre.source").inner_text()
            assert MARKUP in page.locator("pre.text").first.inner_text()
        page.wait_for_timeout(300)
        assert "broken" not in page.title()
        assert page.locator("main img, main b, main script").count() == 0


def test_nothing_on_a_page_can_be_made_markup(opened: Tab) -> None:
    """What a script of the page would have to do by mistake, the browser refuses."""
    page = opened.open("/")
    refused = page.evaluate(
        "() => { try { document.body.innerHTML = '<b>x</b>'; return 'done' } catch (error) { return error.name } }"
    )
    assert refused == "TypeError"
    assert any("TrustedHTML" in text for text in opened.complaints)
    opened.complaints.clear()


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


CONTRASTS = """() => [...document.querySelectorAll('main *, header *')]
  .filter((one) => one.checkVisibility() && !one.disabled)
  .filter((one) => [...one.childNodes].some((child) => child.nodeType === 3 && child.data.trim()))
  .map((one) => {
    let behind = one;
    while (behind && getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
    const ink = one.closest('svg') ? getComputedStyle(one).fill : getComputedStyle(one).color;
    return [ink, getComputedStyle(behind || document.body).backgroundColor, one.textContent.trim().slice(0, 40)];
  })"""


def test_all_text_stands_out_in_light_and_dark(browser: Browser, page_server: Server, scheme: str) -> None:
    """A contrast of 4.5 to 1, as WCAG 2 asks of text at level AA."""
    with tab(browser, page_server.home, page_server.address, color_scheme=scheme) as one:
        expect(one.page.locator("#runs tbody")).to_contain_text("damaged")
        for path in (
            "/runs/recorded",
            "/runs/large/candidates/4990",
            "/runs/recorded/candidates/60",
        ):
            page = one.open(path)
            if path == "/runs/recorded":
                large_is_drawn(page)
            else:
                expect(page.locator("#chart svg")).to_be_visible()
            dark = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) < 0.2
            assert dark == (scheme == "dark")
            found = page.evaluate(CONTRASTS)
            assert len(found) > 20
            for ink, behind, text in found:
                low, high = sorted((luminance(ink), luminance(behind)))
                assert (high + 0.05) / (low + 0.05) >= 4.5, (path, text, ink, behind)
