"""The page of trace formats names every reader, every part of `--columns` and every usual name of a column."""

from __future__ import annotations

from pathlib import Path

import pytest
from locations import ROOT

from vulcan_traces.links import load_link
from vulcan_traces.parsing.column_spec import _KEYS, DELIMITERS, TIME_UNITS
from vulcan_traces.readers import FORMATS
from vulcan_traces.readers.csv_columns import _USUAL_NAMES

PAGE = (ROOT / "docs" / "reference" / "trace-formats.md").read_text(encoding="utf-8")


def test_the_page_is_complete() -> None:
    for name in FORMATS:
        assert f"`{name}`" in PAGE
    for key in _KEYS:
        assert f"`{key}=" in PAGE or f"`{key}`" in PAGE
    for name in {*DELIMITERS, *TIME_UNITS}.union(*_USUAL_NAMES.values()):
        assert f"`{name}`" in PAGE


@pytest.mark.parametrize(
    ("text", "format"),
    [("0.1\t0.3\n0.6\t5.6\n", "csv:s,mbps"), ("timestamp,a_mbps,b_mbps,ms\n0,80,12,52\n1,68,6,46\n", "csv:s,mbps,-,-")],
)
def test_tables_of_links_are_read_with_the_units_that_the_page_has(text: str, format: str, tmp_path: Path) -> None:
    assert f"`--link FILE --link-format {format}`" in PAGE
    for comment in ("", "# captured today\n"):
        (tmp_path / "link").write_text(comment + text)
        assert len(load_link(tmp_path / "link", format=format).times) == 2
