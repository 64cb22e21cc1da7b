"""The tables of the headline searches on their page."""

from __future__ import annotations

from benchmarks.evidence import HEAD, HEADLINES, PAGE, page_table


def test_each_headline_has_a_table_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    places = [page_table(page, headline) for headline in HEADLINES]
    assert len({begin for begin, _ in places}) == len(HEADLINES)
    for begin, end in places:
        rows = page[begin:end].splitlines()
        assert rows[0] == HEAD
        assert sum("**winner, seed" in row for row in rows) in (2, 3)
