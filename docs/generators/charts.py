"""The charts of docs/results.md and docs/performance.md, drawn from the tables of pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

PAGES = Path(__file__).resolve().parents[1] / "results"
WIDTH, LEFT, BAR, STEP, TOP = 760, 330, 18, 26, 62
THIN, GAP = 13, 9
"""Heights of a bar of several, and between rows of them."""
OURS, OTHERS, BOUND = "#2166ac", "#777777", "#b35806"
COLOURS = {
    "found by Vulcan": OURS, "others": OTHERS, "knows the future": BOUND,
    "Vulcan": OURS, "libCacheSim (C)": BOUND, "CPython": OTHERS,
}  # fmt: skip


@dataclass(frozen=True)
class Chart:
    """Bars of some rows of a table.

    `section` begins the text in which it is, `column` counts from 1 after the label. `page` is relative to
    `docs/results/`. With `series`, each row has a bar for that column and each one behind it, of these names, in place
    of the colour of its group.
    """

    picture: str
    title: str
    page: str
    section: str
    column: int
    rows: Sequence[tuple[str, str]]
    """The label of a row in the table without stars and quotes of code, and its group."""
    series: Sequence[str] = ()


CHARTS = (
    Chart(
        "performance",
        "Cache engine, a GDSF policy unless said: million requests per second, one core",
        "../performance.md",
        "<!-- begin cache_engine -->",
        1,
        (
            ("heap, no statistics", "Vulcan"),
            ("heap, five statistics", "Vulcan"),
            ("heap, LRU", "Vulcan"),
            ("sample, no statistics", "Vulcan"),
            ("sample, five statistics", "Vulcan"),
            ("libCacheSim LRU", "libCacheSim (C)"),
            ("libCacheSim LRU, suited table", "libCacheSim (C)"),
            ("libCacheSim GDSF", "libCacheSim (C)"),
            ("libCacheSim S3FIFO", "libCacheSim (C)"),
            ("libCacheSim LHD", "libCacheSim (C)"),
            ("libCacheSim plug-in", "CPython"),
            ("CPython", "CPython"),
        ),
    ),
    Chart(
        "search-profile",
        "Where searches spend a processor's time, %",
        "../performance.md",
        "![Where a search spends its time]",
        1,
        tuple(
            (row, "")
            for row in (
                "simulating train",
                "simulating what is held out",
                "compiling",
                "checking and proving, both sides",
                "linting",
                "drafting, storing, cutting",
                "lessons",
                "starting a worker, all else",
            )
        ),
        ("built-in workloads", "100,000 requests", "3.2 million requests"),
    ),
    Chart(
        "results-verdicts",
        "Tencent's block trace: miss reduction against FIFO, held out",
        "headline-searches.md",
        "**tencentBlock.ns3300.**",
        3,
        (
            ("belady (oracle)", "knows the future"),
            ("winner, seed 3", "found by Vulcan"),
            ("winner, seed 1", "found by Vulcan"),
            ("winner, seed 2", "found by Vulcan"),
            ("gdsf", "others"),
            ("w-tinylfu", "others"),
            ("lirs", "others"),
        ),
    ),
    Chart(
        "results-library",
        "33 held-out cache instances: mean miss reduction against FIFO",
        "caches.md",
        "## A policy library",
        1,
        (
            ("Belady's MIN", "knows the future"),
            ("library, perfect choice", "knows the future"),
            ("best baseline of each instance", "knows the future"),
            ("library, following six", "found by Vulcan"),
            ("library, one member", "found by Vulcan"),
            ("baseline s3-fifo", "others"),
            ("baseline arc", "others"),
            ("baseline w-tinylfu", "others"),
            ("baseline gdsf", "others"),
            ("baseline lru", "others"),
        ),
    ),
    Chart(
        "results-links",
        "Six families of public links that took no part: power",
        "congestion-control.md",
        "## Links that took no part",
        1,
        (
            ("link_found", "found by Vulcan"),
            ("Copa", "others"),
            ("candidate 77", "found by Vulcan"),
            ("Vegas", "others"),
            ("BBR", "others"),
            ("CUBIC", "others"),
        ),
    ),
    Chart(
        "results-spot",
        "Spot VMs in one region: the public leaderboard's score, 1,080 runs",
        "spot.md",
        "## The leaderboard of one region",
        1,
        (
            ("least cost (knows availability)", "knows the future"),
            ("spot_surplus, of a recorded search with a language model", "found by Vulcan"),
            ("spot_reserve, a form by hand, constants by CMA-ES (its start)", "found by Vulcan"),
            ("LEVI's program, in Anvil (published: 51.72)", "others"),
            ("winner of the offline generator, 200 candidates", "found by Vulcan"),
            ("uniform_progress", "others"),
            ("greedy", "others"),
        ),
    ),
    Chart(
        "results-tiering",
        "Memory tiering, 32 held-out workloads on another machine (NVM): log speed-up",
        "memory-tiering.md",
        "Mean scores of the same",
        2,
        (
            ("static oracle", "knows the future"),
            ("tiering_found", "found by Vulcan"),
            ("tiering_regression (its start)", "others"),
            ("ARMS, the whole", "others"),
            ("ARMS-like", "others"),
            ("TPP-like", "others"),
            ("Memtis-like", "others"),
            ("HeMem", "others"),
        ),
    ),
    Chart(
        "results-balancing",
        "Load balancing, 100 servers and 20 balancers, held out: ln of least loaded's tail over the policy's",
        "load-balancing.md",
        "Mean scores of the same",
        6,
        (
            ("shortest queue (knows all queues)", "knows the future"),
            ("balancing_found", "found by Vulcan"),
            ("C3", "others"),
            ("Prequal", "others"),
            ("two choices (asks both, at no cost)", "others"),
        ),
    ),
    Chart(
        "results-model",
        "cloudPhysicsIO: miss reduction against FIFO, held out",
        "language-models.md",
        "## A language model",
        3,
        (
            ("belady (oracle)", "knows the future"),
            ("winner of the language model", "found by Vulcan"),
            ("gdsf", "others"),
            ("lhd", "others"),
            ("lirs", "others"),
        ),
    ),
    Chart(
        "results-search",
        "Eight traces, equal machine time: mean miss reduction of winners, held out",
        "search.md",
        "## Strategies",
        2,
        (
            ("evolve", "found by Vulcan"),
            ("policysmith", "others"),
            ("best-of-n", "others"),
            ("evolve, archive", "others"),
        ),
    ),
)


def charts() -> dict[str, str]:
    """Return every picture: its path from `docs/`, and its text."""
    return {f"images/{chart.picture}.svg": draw(chart) for chart in CHARTS}


def draw(chart: Chart) -> str:
    """Draw a chart as SVG. Raises ValueError where its page has no such row."""
    text = (PAGES / chart.page).read_text(encoding="utf-8")
    start = text.find(chart.section)
    if start < 0:
        raise ValueError(f"{chart.page}: nothing begins with {chart.section!r}")
    columns = range(chart.column, chart.column + max(1, len(chart.series)))
    bars = [(label, group, [_figure(text[start:], chart, label, n) for n in columns]) for label, group in chart.rows]
    scale = (WIDTH - LEFT - 70) / max(_value(figure) for *_, figures in bars for figure in figures)
    bar, step = (THIN, len(columns) * THIN + GAP) if chart.series else (BAR, STEP)
    colours = dict(zip(chart.series, (OURS, BOUND, OTHERS), strict=False)) or COLOURS
    height = TOP + len(bars) * step + 12
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="13" role="img">',
        f"<title>{escape(chart.title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="16" y="24" font-size="15" font-weight="bold" fill="#222222">{escape(chart.title)}</text>',
    ]
    x = 16
    shown = set(chart.series) or {group for _, group in chart.rows}
    for name, colour in colours.items():
        if name not in shown:
            continue
        lines.append(f'<rect x="{x}" y="36" width="12" height="12" fill="{colour}"/>')
        lines.append(f'<text x="{x + 18}" y="47" fill="#222222">{name}</text>')
        x += 40 + 8 * len(name)
    for number, (label, group, figures) in enumerate(bars):
        y = TOP + number * step
        lines.append(f'<text x="{LEFT - 10}" y="{y + 14}" text-anchor="end" fill="#222222">{_short(label)}</text>')
        for at, (figure, name) in enumerate(zip(figures, chart.series or (group,), strict=True)):
            width, top = max(1.0, _value(figure) * scale), y + at * bar
            lines.append(f'<rect x="{LEFT}" y="{top}" width="{width:.1f}" height="{bar}" fill="{colours[name]}"/>')
            beside = top + (11 if chart.series else 14)
            lines.append(f'<text x="{LEFT + width + 6:.1f}" y="{beside}" fill="#222222">{figure}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _figure(text: str, chart: Chart, label: str, column: int) -> str:
    """Return the figure of the first row with that label."""
    for line in text.splitlines():
        cells = [re.sub(r"\*\*|`", "", cell.strip()) for cell in line.split("|")[1:-1]]
        if len(cells) > column and cells[0] == label:
            found = re.search(r"-?[\d.,]+", cells[column])
            if found is not None:
                return found.group()
    raise ValueError(f"{chart.page}: no row {label!r} below {chart.section!r}")


def _value(figure: str) -> float:
    return float(figure.replace(",", ""))


def _short(label: str) -> str:
    return escape(re.split(r" \(|, a form|, of a", label, maxsplit=1)[0])
