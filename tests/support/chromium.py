"""The browser of the tests: the system's chromium, without a window."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from console import BROWSER_USED
from playwright.sync_api import Browser, expect, sync_playwright

expect.set_options(timeout=60_000)  # milliseconds: machines may be busy


@contextmanager
def chromium() -> Iterator[Browser]:
    """The test that asks is skipped where there is no chromium."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("there is no chromium on this machine")
    os.environ[BROWSER_USED] = "1"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        try:
            yield opened
        finally:
            opened.close()
