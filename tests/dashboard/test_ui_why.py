"""Why a candidate scores so: its findings, computed in the sandbox when the page is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browsing import Tab, tab
from live import Server, ended, only_run, record_of, start_search
from locations import TASKS
from playwright.sync_api import Browser, expect

from vulcan.results.explanation import explain_candidate


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a search by an evaluator that explains."""
    directory = tmp_path_factory.mktemp("why")
    few = ("--budget-candidates", "3", "--rounds", "1", "--samples", "3")
    assert ended(start_search(directory, "--task", str(TASKS / "telling_task"), *few)) == 0
    return directory


@pytest.fixture
def opened(browser: Browser, searched: Path, serve: Callable[..., Server]) -> Iterator[Tab]:
    server = serve(searched)
    with tab(browser, server.home, server.address) as one:
        yield one


def test_a_candidate_s_page_leads_to_its_findings(opened: Tab, searched: Path) -> None:
    run = only_run(searched)
    record = record_of(run)
    best = record.ranked()[0]
    page = opened.open(f"/runs/{run.name}/candidates/{best.candidate}")
    expect(page.locator("#chart svg")).to_be_visible()
    page.keyboard.press("w")
    page.wait_for_url("**/why")
    explained = explain_candidate(record, best.candidate, 60.0)
    expect(page.locator(".findings h2")).to_have_text(list(explained.instances))
    opened.picture("live-why")
    for instance in explained.instances:
        for text in (one.text for one in explained.of(instance) if hasattr(one, "text")):
            expect(page.locator(".findings")).to_contain_text(text)
    assert page.locator(".findings svg rect.s0").count() == len(explained.instances)
    assert page.locator(".findings svg polyline").count() == 4 * len(explained.instances)  # a sweep, of four policies
    assert {one.split for one in explained.findings} == {"train"}
