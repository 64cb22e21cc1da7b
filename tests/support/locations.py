"""Paths: the checkout, its tests, test data, and real data (VULCAN_DATA)."""

import os
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
SUPPORT = TESTS / "support"
TASKS = SUPPORT / "tasks"
RECORDED = TESTS / "data" / "recorded"
DATA = Path(os.environ.get("VULCAN_DATA", ROOT / ".." / "shared" / "data"))
