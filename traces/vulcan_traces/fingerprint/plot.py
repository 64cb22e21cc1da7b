"""Plots of a fingerprint, as one HTML page."""

from __future__ import annotations

from html import escape
from typing import Any

from vulcan_traces.fingerprint.fingerprint import SHARES, STATISTICS, Distribution, Fingerprint

_COLOURS = {"lru": "#1f77b4", "fifo": "#d62728"}
_GREY = "#7f7f7f"


def page(name: str, found: Fingerprint) -> str:
    """Return a self-contained HTML page: the plots, and a table of every statistic with unit and meaning."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    titles = (
        "Miss ratio by objects",
        "Miss ratio by bytes",
        "Byte miss ratio by bytes",
        "Reuse distance",
        "Inter-arrival",
        "Sizes of objects",
        "Working set: objects in 64 windows",
        "Working set: bytes in 64 windows",
    )
    figure = make_subplots(rows=4, cols=2, subplot_titles=titles, vertical_spacing=0.08)

    def curves(row: int, column: int, unit: str, ratios: str) -> None:
        for policy, colour in _COLOURS.items():
            curve = found.curve(policy, unit)
            hover = [f"{share:.2%} of the footprint" for share in SHARES]
            line = go.Scatter(
                x=list(curve.capacities),
                y=list(getattr(curve, ratios)),
                name=policy.upper(),
                text=hover,
                mode="lines+markers",
                line={"color": colour},
                legendgroup=policy,
                showlegend=(row, column) == (1, 1),
            )
            figure.add_trace(line, row=row, col=column)
        figure.update_xaxes(type="log", title_text=f"capacity ({unit})", row=row, col=column)
        figure.update_yaxes(range=[0, 1.02], title_text="miss ratio", row=row, col=column)

    def distribution(row: int, column: int, values: Distribution, unit: str) -> None:
        names = [f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high, _ in values.octaves]
        shares = [share for *_, share in values.octaves]
        bars = go.Bar(x=names, y=shares, marker={"color": _GREY}, showlegend=False)
        figure.add_trace(bars, row=row, col=column)
        figure.update_xaxes(type="category", title_text=unit, row=row, col=column)
        figure.update_yaxes(title_text="share", row=row, col=column)

    def windows(row: int, column: int, lines: dict[str, list[int]], unit: str) -> None:
        starts = [window.start for window in found.windows]
        for label, values in lines.items():
            line = go.Scatter(x=starts, y=values, name=label, mode="lines", line={"shape": "hv"})
            figure.add_trace(line, row=row, col=column)
        figure.update_xaxes(title_text="request", row=row, col=column)
        figure.update_yaxes(title_text=unit, rangemode="tozero", row=row, col=column)

    curves(1, 1, "objects", "miss_ratios")
    curves(1, 2, "bytes", "miss_ratios")
    curves(2, 1, "bytes", "byte_miss_ratios")
    distribution(2, 2, found.reuse_distances, "other objects between two requests for one")
    distribution(3, 1, found.gaps, "requests from one to the next for the same object")
    distribution(3, 2, found.object_sizes, "bytes")
    seen = {"requested objects": [each.objects for each in found.windows]}
    windows(4, 1, seen | {"never requested before": [each.new_objects for each in found.windows]}, "objects")
    windows(4, 2, {"requested objects (bytes)": [each.bytes for each in found.windows]}, "bytes")
    figure.update_layout(height=1700, template="plotly_white", legend={"orientation": "h", "y": 1.04})
    pictures: str = figure.to_html(full_html=False, include_plotlyjs=True)
    return _PAGE.format(title=escape(name), summary=_summary(found), pictures=pictures, rows=_rows(found))


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
            rows.append(f"<tr><td>{name}</td><td>{shown}</td><td>{escape(unit)}</td><td>{escape(meaning)}</td></tr>")
    return "\n".join(rows)


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font-family: sans-serif; margin: 2em auto; max-width: 1200px; color: #222; }}
table {{ border-collapse: collapse; }}
td, th {{ padding: 0.25em 0.8em; border-bottom: 1px solid #ddd; text-align: left; }}
td:nth-child(2) {{ text-align: right; font-variant-numeric: tabular-nums; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{summary}</p>
{pictures}
<table>
<tr><th>statistic</th><th>value</th><th>unit</th><th>meaning</th></tr>
{rows}
</table>
</body>
</html>
"""
