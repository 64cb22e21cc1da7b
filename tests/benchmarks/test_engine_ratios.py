"""No engine takes longer, beside a fixed kernel in the same process, than is recorded for it; and that is noticed."""

from __future__ import annotations

import pytest

from benchmarks.engine_ratios import (
    lost_everywhere,
)


@pytest.mark.slow  # continuous integration runs the benchmark when no test disturbs it
def test_no_engine_has_lost_against_what_is_recorded() -> None:
    found = lost_everywhere()
    assert not found, "\n".join(one.line() for one in found)
