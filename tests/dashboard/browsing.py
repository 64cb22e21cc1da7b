"""A page in a real browser that may talk to its own server alone, and whose complaints are kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Route

SCREENSHOTS = os.environ.get("VULCAN_SCREENSHOTS")
"""Where pictures of the pages are put, such as docs/images; without it none are taken."""


@dataclass
class Tab:
    """A page, what it asked for elsewhere, and what it complained of."""

    page: Page
    home: str
    strays: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        self.page.goto(self.home + path)
        return self.page

    def texts(self, selector: str) -> list[str]:
        return [text.strip() for text in self.page.locator(selector).all_inner_texts()]

    def focused(self) -> str:
        """The id, or else the text, of what has the focus."""
        return str(self.page.evaluate("document.activeElement.id || document.activeElement.innerText"))

    def picture_of(self, name: str, first: str, last: str) -> None:
        """Keep a picture of the sections from the first to the last that these selectors find."""
        if SCREENSHOTS is None:
            return
        self.page.mouse.move(0, 0)
        self.page.evaluate("window.scrollTo(0, 0)")
        boxes = [self.page.locator(selector).bounding_box() for selector in (first, last)]
        top, bottom = boxes[0], boxes[1]
        assert top is not None and bottom is not None
        clip = {"x": 0, "y": top["y"] - 14, "width": 1280, "height": bottom["y"] + bottom["height"] - top["y"] + 28}
        self.page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png", full_page=True, clip=clip)  # type: ignore[arg-type]

    def picture(self, name: str, height: int | None = None) -> None:
        """Keep a picture for the docs, where that is wanted; the whole page, or as much as is this high."""
        if SCREENSHOTS is None:
            return
        Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
        clip = {"x": 0, "y": 0, "width": 1280, "height": height} if height else None
        self.page.evaluate("document.activeElement.blur()")
        self.page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png", full_page=True, clip=clip)


@contextmanager
def tab(browser: Browser, home: str, address: str | None = None, **options: Any) -> Iterator[Tab]:
    """A page, let in by the address with the token if there is one; it must ask nobody else and complain of nothing."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
    made = Tab(context.new_page(), home)

    def route(request: Route) -> None:
        if home and request.request.url.startswith((home + "/", "data:")):
            request.continue_()
        else:
            made.strays.append(request.request.url)
            request.abort()

    if home:
        context.route("**/*", route)
    made.page.on("console", lambda message: made.complaints.append(message.text) if message.type == "error" else None)
    made.page.on("pageerror", lambda error: made.complaints.append(str(error)))
    made.page.set_default_timeout(60_000)
    try:
        if address is not None:
            made.page.goto(address)
            made.page.wait_for_selector("main h1")
        yield made
        assert made.strays == []
        assert made.complaints == []
    finally:
        context.close()
