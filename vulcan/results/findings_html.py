"""Findings as HTML: statements as text, series as line charts and tables as bar charts, drawn as SVG in the page.

Nothing is loaded from elsewhere and no script runs; colours follow the reader's light or dark mode.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from vulcan.findings import EvaluatorFinding, InstanceFinding, Series, SmallTable, Statement, SweptTable, pictured
from vulcan.searches.feedback import cell_text

STYLE = """
.findings { --ink: #1d2329; --faint: #56616b; --line: #d8dee4; --bar: #2c6fbb; --minus: #c0392b; --paper: #fff;
  --line1: #b3541e; --line2: #2f7d4f; --line3: #7a4fa3; --line4: #8a6d00;
  color: var(--ink); background: var(--paper); font: 15px/1.5 system-ui, sans-serif }
@media (prefers-color-scheme: dark) { .findings {
  --ink: #e3e8ec; --faint: #a3aeb8; --line: #3a444d; --bar: #5b9fe6; --minus: #ef7a6d; --paper: #14181c;
  --line1: #f0a36b; --line2: #6cc493; --line3: #b997e0; --line4: #d6bd4a } }
main.findings { padding: .1rem 1.2rem 1rem; max-width: 76rem; margin: 0 auto }
.findings p { max-width: 56rem }
.findings h2:first-child { margin-top: 0 }
.findings h1, .findings h2 { overflow-wrap: anywhere }
.findings h2 { font-size: 1.2rem; border-bottom: 1px solid var(--line) }
.findings h3 { font-size: 1rem }
.findings figure { margin: 1rem 0 1.6rem; overflow-x: auto }
.findings figcaption { color: var(--ink); font-weight: 600; font-size: 1em; margin-bottom: .3rem }
.findings figcaption::first-letter { text-transform: uppercase }
.findings svg text { fill: var(--ink); font: 12px system-ui, sans-serif }
.findings svg .faint { fill: var(--faint) }
.findings svg .axis { stroke: var(--line) }
.findings svg .plus { fill: var(--bar) }
.findings svg .minus { fill: var(--minus) }
.findings svg .line0 { color: var(--bar) }
.findings svg .line1 { color: var(--line1) }
.findings svg .line2 { color: var(--line2) }
.findings svg .line3 { color: var(--line3) }
.findings svg .line4 { color: var(--line4) }
.findings svg .curve { fill: none; stroke: currentColor; stroke-width: 2 }
.findings svg .dot { fill: currentColor }
"""
"""Rules for what is drawn here, inside of an element of the class `findings`."""

_FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
body {{ margin: 0; background: #fff }}
@media (prefers-color-scheme: dark) {{ body {{ background: #14181c }} }}
{style}</style>
</head>
<body><main class="findings">
<h1>{title}</h1>
{content}
</main></body>
</html>
"""


def page(title: str, content: str) -> str:
    """Return a self-contained page around the `content`, which is HTML."""
    return _FRAME.format(title=escape(title), style=STYLE, content=content)


def by_instance(workload: Iterable[InstanceFinding], findings: Iterable[InstanceFinding], about: str) -> str:
    """Return a section for each instance: its workload, and then the findings `about` a policy."""
    described, found = tuple(workload), tuple(findings)
    parts = []
    for instance in dict.fromkeys(one.instance for one in (*described, *found)):
        parts.append(f"<h2>{escape(instance)}</h2>")
        for heading, located in (("The workload", described), (about, found)):
            here = [one.content for one in located if one.instance == instance]
            if here:
                parts.append(f"<h3>{escape(heading)}</h3>{drawn(here)}")
    return "\n".join(parts)


def drawn(findings: Iterable[EvaluatorFinding]) -> str:
    """Return findings as HTML, those of the highest weight first."""
    return "\n".join(map(_one, pictured(findings)))


def _one(finding: Statement | SmallTable | list[Series]) -> str:
    match finding:
        case Statement(text):
            return f"<p>{escape(text)}</p>"
        case SweptTable(title):
            return _figure(title, _swept(finding))
        case SmallTable(title):
            return _figure(title, _bars(finding))
        case lines:
            return _figure(lines[0].title, _curves(lines))


def _figure(title: str, picture: str) -> str:
    return f"<figure><figcaption>{escape(title)}</figcaption>{picture}</figure>"


# A table is a panel of bars for each column of numbers, beside its texts.

_ROW, _PANEL, _GAP, _CHARACTER = 22, 104, 18, 6.6
_VALUE = 62
"""Width of a panel's numbers, to the right of its bars."""


def _bars(table: SmallTable) -> str:
    columns = list(zip(*table.rows, strict=True))
    is_number = [not any(isinstance(cell, str) for cell in cells) for cells in columns]
    scales = _scales(table.columns, columns, is_number)
    parts: list[str] = []
    x = 0.0
    for name, cells, numeric, scale in zip(table.columns, columns, is_number, scales, strict=True):
        if numeric:
            width = max(float(_PANEL + _VALUE), len(name) * _CHARACTER)
            parts.append(_text(x, 14, name, "faint"))
            parts += _panel(x, [float(cell) for cell in cells], cells, scale)
        else:
            width = _CHARACTER * max(len(str(text)) for text in (name, *cells))
            parts.append(_text(x, 14, name, "faint"))
            parts += [_text(x, _ROW * (n + 2) - 7, str(cell)) for n, cell in enumerate(cells)]
        x += width + _GAP
    return _svg(x, _ROW * (len(table.rows) + 1) + 4, parts, table.title)


def _scales(
    names: Sequence[str], columns: Sequence[Sequence[str | float]], is_number: Sequence[bool]
) -> list[tuple[float, float]]:
    """Return the ends of each column's axis: shared by all counts, all in per cent, and all other numbers."""
    kinds = [
        "share" if "%" in name else "count" if all(isinstance(cell, int) for cell in cells) else "amount"
        for name, cells in zip(names, columns, strict=True)
    ]
    ends: dict[str, tuple[float, float]] = {}
    for kind, cells, numeric in zip(kinds, columns, is_number, strict=True):
        if numeric:
            low, high = ends.get(kind, (0.0, 0.0))
            ends[kind] = min(low, *map(float, cells)), max(high, *map(float, cells))
    return [ends.get(kind, (0.0, 0.0)) for kind in kinds]


def _panel(left: float, values: Sequence[float], cells: Sequence[str | float], scale: tuple[float, float]) -> list[str]:
    low, high = scale
    per_unit = _PANEL / (high - low) if high > low else 0.0
    zero = left - low * per_unit
    parts = []
    for n, (value, cell) in enumerate(zip(values, cells, strict=True)):
        top = _ROW * (n + 1) + 2
        start, length = zero + min(0.0, value) * per_unit, abs(value) * per_unit
        if length:
            kind = "plus" if value > 0 else "minus"
            parts.append(f'<rect class="{kind}" x="{start:.1f}" y="{top}" width="{length:.1f}" height="{_ROW - 6}"/>')
        parts.append(_text(left + _PANEL + 5, top + 12, cell_text(cell)))
    bottom = _ROW * (len(values) + 1)
    parts.append(f'<line class="axis" x1="{zero:.1f}" x2="{zero:.1f}" y1="{_ROW}" y2="{bottom}"/>')
    return parts


# Series are lines with an axis to the left and one below; a legend tells several apart.

_WIDTH, _PLOT, _LEFT, _TOP = 720, 172, 74, 24
_RIGHT_OF_STEPS = 60
"""Room for half of the last step's text."""

_DASHES = ("none", "7 4", "2 3", "10 3 2 3", "14 4")
"""Strokes of the lines, for those who cannot tell their colours."""


def _swept(table: SweptTable) -> str:
    """Return a line for each column of numbers; the steps of the first column are at equal distances."""
    labels, *columns = zip(*table.rows, strict=True)
    lines = [
        Series(table.title, table.columns[0], name, tuple(enumerate(map(float, cells))))
        for name, cells in zip(table.columns[1:], columns, strict=True)
    ]
    return _curves(lines, tuple(map(cell_text, labels)))


def _curves(lines: Sequence[Series], steps: Sequence[str] = ()) -> str:
    """Return lines in one picture; `steps` are the texts of x = 0, 1, 2, ..., where x is no number by itself."""
    points = [point for series in lines for point in series.points]
    across, up = zip(*points, strict=True)
    legend, top = _legend(lines)
    right, bottom = _WIDTH - (_RIGHT_OF_STEPS if steps else 24), top + _PLOT
    x_low, x_high = min(across), max(across)
    y_ticks = _ticks(min(0.0, *up), max(0.0, *up))
    y_low, y_high = y_ticks[0], y_ticks[-1]

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            _LEFT + (right - _LEFT) * ((x - x_low) / (x_high - x_low) if x_high > x_low else 0.5),
            bottom - (bottom - top) * ((y - y_low) / (y_high - y_low) if y_high > y_low else 0.5),
        )

    x_ticks: list[tuple[float, str]] = [*enumerate(steps)]
    if not steps:
        x_ticks = [(tick, cell_text(tick)) for tick in _ticks(x_low, x_high)]
    parts = []
    for tick in y_ticks:
        _, y = place(x_low, tick)
        parts.append(f'<line class="axis" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(_LEFT - 8, y + 4, cell_text(tick), "faint", "end"))
    below = bottom + 18
    for tick, said in x_ticks:
        if x_low <= tick <= x_high:
            for row, words in enumerate(said.split(" ", 1) if steps else (said,)):
                parts.append(_text(place(tick, 0.0)[0], bottom + 18 + row * 15, words, "faint", "middle"))
                below = max(below, bottom + 18 + row * 15)
    parts.append(_text((_LEFT + right) / 2, below + 20, lines[0].x, "faint", "middle"))
    parts += legend
    for number, series in enumerate(lines):
        kind, dash = _stroke(number)
        spots = [place(x, y) for x, y in series.points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        parts.append(f'<polyline class="curve {kind}" stroke-dasharray="{dash}" points="{path}"/>')
        for (x, y), (a, b) in zip(spots, series.points, strict=True):
            at = steps[int(a)] if steps else cell_text(a)
            label = escape(f"{series.y}, {series.x} {at}: {cell_text(b)}")
            parts.append(
                f'<circle class="dot {kind}" cx="{x:.1f}" cy="{y:.1f}" r="2.5"><title>{label}</title></circle>'
            )
    return _svg(_WIDTH, below + 26, parts, lines[0].title)


def _stroke(number: int) -> tuple[str, str]:
    return f"line{number % len(_DASHES)}", _DASHES[number % len(_DASHES)]


def _legend(lines: Sequence[Series]) -> tuple[list[str], int]:
    """Return the lines' names, in as many rows as they need, and where the plot below them begins."""
    parts: list[str] = []
    start, row = float(_LEFT), 0
    for number, series in enumerate(lines):
        sample = 32 if len(lines) > 1 else 0
        length = sample + len(series.y) * _CHARACTER + 24
        if start > _LEFT and start + length > _WIDTH:
            start, row = float(_LEFT), row + 1
        y = 8 + 18 * row
        if sample:
            kind, dash = _stroke(number)
            ends = f'x1="{start:.1f}" x2="{start + 26:.1f}" y1="{y}" y2="{y}"'
            parts.append(f'<line class="curve {kind}" stroke-dasharray="{dash}" {ends}/>')
        parts.append(_text(start + sample, y + 4, series.y, "faint"))
        start += length
    return parts, _TOP + 18 * row


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers at equal steps, the first at most `low` and the last at least `high`."""
    if high <= low:
        return [low]
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * number for number in range(first, last + 1)]


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(width: float, height: float, parts: Sequence[str], title: str) -> str:
    return (
        f'<svg role="img" aria-label="{escape(title)}" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">{"".join(parts)}</svg>'
    )
