"""Plots of a fingerprint, as one HTML page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from vulcan import svg
from vulcan.svg import BASE, BEST, PLAIN, Axis, Chart, Figure
from vulcan_traces.fingerprint.fingerprint import SHARES, STATISTICS, Distribution, Fingerprint

_COLOURS = {"lru": BASE, "fifo": BEST}


def page(name: str, found: Fingerprint) -> str:
    """Return a self-contained HTML page: the plots, and a table of every statistic with unit and meaning."""
    starts = [window.start for window in found.windows]
    objects = {
        "requested objects": [each.objects for each in found.windows],
        "never requested before": [each.new_objects for each in found.windows],
    }
    figures = (
        _curves("Miss ratio by objects", found, "objects", "miss_ratios"),
        _curves("Miss ratio by bytes", found, "bytes", "miss_ratios"),
        _curves("Byte miss ratio by bytes", found, "bytes", "byte_miss_ratios"),
        _bars("Reuse distance", found.reuse_distances, "other objects between two requests for one"),
        _bars("Inter-arrival", found.gaps, "requests from one to the next for the same object"),
        _bars("Sizes of objects", found.object_sizes, "bytes"),
        _windows("Working set: objects in 64 windows", starts, objects, "objects"),
        _windows("Working set: bytes in 64 windows", starts, {"bytes": [w.bytes for w in found.windows]}, "bytes"),
    )
    drawn = "".join(f"<h2>{escape(figure.title)}</h2><figure>{figure.svg()}</figure>" for figure in figures)
    return svg.page(name, f"<p>{_summary(found)}</p>{drawn}{_TABLE.format(rows=_rows(found))}")


def _curves(title: str, found: Fingerprint, unit: str, ratios: str) -> Figure:
    curves = {policy: found.curve(policy, unit) for policy in _COLOURS}
    capacities = [capacity for curve in curves.values() for capacity in curve.capacities]
    x = Axis(f"capacity ({unit})", min(capacities), max(capacities), log=True)
    chart = Chart(title, x, Axis("miss ratio", 0.0, 1.0), 220.0)
    for policy, curve in curves.items():
        points = list(zip(curve.capacities, getattr(curve, ratios), strict=True))
        chart.line(policy.upper(), points, _COLOURS[policy])
        said = [
            f"{policy.upper()}, {share:.2%} of the footprint: {y:.4f}"
            for share, (_, y) in zip(SHARES, points, strict=True)
        ]
        chart.dots("", [(x, y, words, "") for (x, y), words in zip(points, said, strict=True)], _COLOURS[policy])
    return chart.figure()


def _bars(title: str, values: Distribution, unit: str) -> Figure:
    names = tuple(f"{low:,}" if low == high else f"{low:,}-{high:,}" for low, high, _ in values.octaves)
    shares = [share for *_, share in values.octaves]
    x = Axis(unit, -0.6, len(names) - 0.4, steps=names)
    chart = Chart(title, x, Axis("share", 0.0, 1.05 * max(shares, default=0.0) or 1.0), 180.0)
    for n, (name, share) in enumerate(zip(names, shares, strict=True)):
        chart.line("", [(n, 0.0), (n, share)], PLAIN)
        chart.dots("", [(n, share, f"{name} {unit}: {share:.2%}", "")], PLAIN, 5)
    return chart.figure()


def _windows(title: str, starts: list[int], lines: dict[str, list[int]], unit: str) -> Figure:
    ends: Iterable[int] = [value for values in lines.values() for value in values]
    x = Axis("request", 0.0, max(starts, default=0) or 1.0)
    chart = Chart(title, x, Axis(unit, 0.0, 1.05 * max(ends, default=0) or 1.0), 200.0)
    for kind, (name, values) in zip((BASE, BEST), lines.items(), strict=False):
        chart.line(name, list(zip(starts, values, strict=True)), kind, step=True)
    return chart.figure()


def _summary(found: Fingerprint) -> str:
    how = "exact" if found.sample_rate == 1 else f"measured on a sample of {found.sample_rate:.2%} of the objects"
    return (
        f"{found.requests:,} requests for {found.objects:,} objects of {found.footprint:,} bytes. "
        f"Reuse distances and miss-ratio curves are {how}."
    )


def _rows(found: Fingerprint) -> str:
    rows = []
    for name, (unit, meaning) in STATISTICS.items():
        value: Any = getattr(found, name)
        if value is None or isinstance(value, int | float):
            shown = "not defined" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"
            rows.append(
                f'<tr><td>{name}</td><td class="n">{shown}</td><td>{escape(unit)}</td><td>{escape(meaning)}</td></tr>'
            )
    return "\n".join(rows)


_TABLE = """<div class="wide"><table>
<tr><th>statistic</th><th>value</th><th>unit</th><th>meaning</th></tr>
{rows}
</table></div>
"""
