"""The report in Chromium, from its file and with no network: it draws, it asks nobody, and its links lead to rows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from locations import recorded_run
from playwright.sync_api import Browser, Page, Request, expect

from vulcan.results.report.data import Report, report_document
from vulcan.results.report.html_page import html_page


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    report = Report.of(Path(shutil.copytree(recorded_run(), folder / "run")))
    page = folder / "report.html"
    page.write_text(html_page(report, report_document(report, seconds=0.0)), encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def page(browser: Browser, written: Path) -> Iterator[Page]:
    """The report, opened from its file without a network; it complains of nothing and asks for nothing else."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    opened = context.new_page()
    asked: list[str] = []
    complaints: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    opened.on("request", note)
    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.set_default_timeout(60_000)
    opened.goto(written.as_uri())
    yield opened
    assert complaints == []
    assert [url for url in asked if not url.startswith(("data:", "blob:", written.as_uri()))] == []
    context.close()


def test_its_figures_are_drawn(page: Page) -> None:
    for section in ("progress", "instances", "lineage", "tradeoff", "behaviour"):
        expect(page.locator(f"#{section} svg.chart").first).to_be_visible()
    assert page.locator("#progress svg polyline").count() > 1
    page.locator("#progress svg a .ring").first.click()
    expect(page.locator("#panel-title")).to_contain_text("Judged")
    page.keyboard.press("Escape")


def test_a_number_leads_to_its_row(page: Page) -> None:
    """That each has one is tested in test_report.py."""
    page.locator("#result a[href^='#row-']").first.click()
    expect(page.locator("#panel")).to_be_visible()
    expect(page.locator("#panel-title")).to_contain_text("of the table events")
    page.keyboard.press("Escape")
    expect(page.locator("#panel")).to_be_hidden()
    for name in page.eval_on_selector_all("nav a", "all => all.map((link) => link.hash)"):
        assert page.locator(name).count() == 1
