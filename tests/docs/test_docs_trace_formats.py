"""The page of trace formats names every reader, every part of `--columns` and every usual name of a column."""

from __future__ import annotations

from locations import ROOT

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
