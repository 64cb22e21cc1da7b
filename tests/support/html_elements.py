"""The elements of a page, as Python's own parser reads it."""

from __future__ import annotations

from dataclasses import dataclass
from html.parser import HTMLParser


@dataclass
class Element:
    """One that was begun, with what is written in it up to the next end of one."""

    name: str
    attributes: dict[str, str]
    text: str = ""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self.is_inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))
        self.is_inside = True

    def handle_endtag(self, tag: str) -> None:
        self.is_inside = False

    def handle_data(self, data: str) -> None:
        if self.is_inside:
            self.elements[-1].text += data


def elements(page: str) -> list[Element]:
    reader = _Reader()
    reader.feed(page)
    return reader.elements
