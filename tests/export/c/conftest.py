"""Tests of exported C write their programs with the generator that the policy language is tested with."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import vulcan_traces.kernels.text  # noqa: F401  (compiled kernels stay in the user's cache directory)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a C compiler there is nothing to test here."""
    if shutil.which("gcc") is None:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="no gcc"))
