"""What a commit tries, and what is left to `make test-slow`."""

from __future__ import annotations

import os
from typing import Any

import pytest

ALL = os.environ.get("VULCAN_TESTS") == "all"


def examples(whole: int) -> int:
    """How many examples a test of a law tries: a third of what is written at each commit, else all."""
    return whole if ALL else max(20, whole // 3)


def slow(*values: Any, id: str | None = None) -> Any:
    """A case of a parametrised test that is marked `slow`."""
    return pytest.param(*values, marks=pytest.mark.slow, id=id)
