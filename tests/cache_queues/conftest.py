"""These tests read the real traces, and ask the oracle, as those of the baselines do."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "cache_baselines"))
