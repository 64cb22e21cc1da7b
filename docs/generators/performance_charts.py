"""The charts of docs/performance.md, drawn from its tables."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "performance.md"

BARS = (
    ("heap, no statistics", "heap, GDSF policy", "vulcan"),
    ("heap, five statistics", "heap, GDSF policy with five statistics", "vulcan"),
    ("heap, LRU", "heap, LRU policy", "vulcan"),
    ("sample, no statistics", "sample, GDSF policy", "vulcan"),
    ("sample, five statistics", "sample, GDSF policy with five statistics", "vulcan"),
    ("libCacheSim LRU", "LRU", "libcachesim"),
    ("libCacheSim LRU, suited table", "LRU, smaller hash table", "libcachesim"),
    ("libCacheSim GDSF", "GDSF", "libcachesim"),
    ("libCacheSim S3FIFO", "S3-FIFO", "libcachesim"),
    ("libCacheSim LHD", "LHD", "libcachesim"),
    ("libCacheSim plug-in", "GDSF policy, libCacheSim plug-in", "python"),
    ("CPython", "GDSF policy, plain Python", "python"),
)
"""The row of a table, its label in the chart, and its group."""

GROUPS = {
    "vulcan": ("Vulcan", "#2166ac"),
    "libcachesim": ("libCacheSim (C)", "#b35806"),
    "python": ("CPython", "#777777"),
}
PROFILE = (
    ("simulating train", "vulcan"),
    ("simulating validation", "vulcan"),
    ("simulating test", "vulcan"),
    ("checks and proofs of simplification", "python"),
    ("lessons", "python"),
    ("the rest of the search itself", "python"),
    ("starting two workers, checks there", "python"),
)
"""Rows of the table of a search's profile, and the group that they are drawn as."""

WIDTH, LEFT, BAR, STEP, TOP = 760, 290, 18, 26, 64


def performance_charts() -> dict[str, str]:
    """Draw requests per second of the cache engines, and where a search spends its time: SVG by path."""
    page = PAGE.read_text(encoding="utf-8")
    engines = [(label, group, _rate(page, row)) for row, label, group in BARS]
    profile = [(row[0].upper() + row[1:], group, _rate(page, row)) for row, group in PROFILE]
    profile_groups = {"vulcan": ("engines", "#2166ac"), "python": ("all else", "#777777")}
    return {
        "images/performance.svg": _chart("Cache engine: million requests per second, one core", GROUPS, engines),
        "images/search-profile.svg": _chart(
            "A search of 60 candidates: seconds of a processor", profile_groups, profile
        ),
    }


def _chart(title: str, groups: dict[str, tuple[str, str]], bars: list[tuple[str, str, float]]) -> str:
    scale = (WIDTH - LEFT - 60) / max(value for *_, value in bars)
    height = TOP + len(bars) * STEP + 12
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="13" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="16" y="24" font-size="15" font-weight="bold" fill="#222222">{escape(title)}</text>',
    ]
    x = 16
    for name, colour in groups.values():
        lines.append(f'<rect x="{x}" y="36" width="12" height="12" fill="{colour}"/>')
        lines.append(f'<text x="{x + 18}" y="47" fill="#222222">{escape(name)}</text>')
        x += 40 + 8 * len(name)
    for number, (label, group, value) in enumerate(bars):
        y = TOP + number * STEP
        width = max(1.0, value * scale)
        lines.append(f'<text x="{LEFT - 10}" y="{y + 14}" text-anchor="end" fill="#222222">{escape(label)}</text>')
        lines.append(f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{groups[group][1]}"/>')
        lines.append(f'<text x="{LEFT + width + 6:.1f}" y="{y + 14}" fill="#222222">{value}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _rate(page: str, row: str) -> float:
    """Return the figure of a row. Raises ValueError where there is none."""
    found = re.search(rf"^\| {re.escape(row)} \| ([\d.]+) \|", page, re.MULTILINE)
    if found is None:
        raise ValueError(f"{PAGE}: no row {row!r}")
    return float(found[1])
