"""The site: it builds without a warning, has every page, asks nothing of another host, and finds without a server."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from docs_pages import ROOT
from html_elements import elements
from site_pages import elsewhere, reference

LOADS = {
    "script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src", "use": "href", "form": "action",
}  # fmt: skip
"""What a browser fetches, or sends to, by itself."""


@pytest.fixture(scope="module")
def site() -> Path:
    """The site, built once where all workers find it: its test in a browser is among the last, in any of them."""
    place = Path(os.environ["VULCAN_CACHE_DIR"]) / "site"
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            done = subprocess.run(
                [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place)], cwd=ROOT,
                env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, text=True, capture_output=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr
            assert "WARNING" not in done.stderr
    return place


def loaded(page: Path) -> list[str]:
    """Addresses that a page loads; that its links lead to pages is mkdocs' own check."""
    found = [e for e in elements(page.read_text(encoding="utf-8")) if e.name in LOADS]
    addresses = [e.attributes.get(LOADS[e.name]) for e in found
                 if e.name != "link" or e.attributes.get("rel") not in ("canonical", "prev", "next")]  # fmt: skip
    return [address for address in addresses if address]


def test_every_page_of_the_repository_is_on_the_site(site: Path) -> None:
    sources = {p.relative_to(ROOT / "docs").as_posix() for p in (ROOT / "docs").rglob("*.md")} | set(reference())
    wanted = {s.replace("README.md", "index.md") for s in sources} | set(elsewhere().values())
    made = {path.relative_to(site).with_suffix(".md").as_posix() for path in site.rglob("*.html")}
    assert {page for page in made if not page.startswith("reports/")} - {"404.md"} == wanted
    assert len(made) > 50


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    pages = {path: loaded(path) for path in site.rglob("*.html")}
    assert sum(map(len, pages.values())) > 4 * len(pages)  # styles and scripts are there
    foreign = {
        f"{path.name}: {a}" for path, addresses in pages.items() for a in addresses if re.match(r"(https?:)?//", a)
    }
    assert foreign == set()
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    assert styles
    assert [u for style in styles for u in re.findall(r"(?:url\(|@import )[\"']?((?:https?:)?//[^)\"']+)", style)] == []


def test_the_search_finds_in_pages_opened_as_files(site: Path, browser: Any) -> None:
    asked: list[str] = []
    page = browser.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri())
    page.keyboard.press("/")
    page.keyboard.type("dueling")
    found = page.locator(".md-search-result__link")
    found.first.wait_for(timeout=30_000)
    pages = {str(one.get_attribute("href")).partition("?")[0].rpartition("/")[2] for one in found.all()}
    assert {"library.html", "exports.html"} <= pages
    page.close()
    assert asked
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
