"""The table of searches with and without findings is what their recordings hold."""

from __future__ import annotations

import pytest
from locations import ROOT

from benchmarks import feedback


def test_the_page_has_the_table_of_the_recordings(capsys: pytest.CaptureFixture[str]) -> None:
    feedback.main([])
    printed = capsys.readouterr().out
    assert printed.count("\n") > 2
    assert printed in (ROOT / "docs" / "results" / "language-models.md").read_text(encoding="utf-8")
