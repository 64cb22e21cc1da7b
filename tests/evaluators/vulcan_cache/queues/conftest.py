"""These tests read the real traces, and ask the oracle, as those of the baselines do."""

from __future__ import annotations
