"""Findings as HTML: statements as text, series as line charts and tables as bar charts, drawn as SVG in the page.

Nothing is loaded from elsewhere and no script runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from vulcan.findings import EvaluatorFinding, InstanceFinding, Series, SmallTable, Statement, SweptTable, pictured
from vulcan.searches.feedback import cell_text
from vulcan.svg import COLOURS, DASHES, Axis, Chart, Figure, text, ticks

STYLE = """
.findings p { max-width: 56rem }
.findings h2 { overflow-wrap: anywhere; font-size: 1.2rem }
.findings h3 { font-size: 1rem }
.findings figure { margin: 1rem 0 1.6rem; overflow-x: auto }
.findings figcaption { font-weight: 600; margin-bottom: .3rem }
.findings figcaption::first-letter { text-transform: uppercase }
"""
"""Rules for what is drawn here, inside of an element of the class `findings`, beside those of charts."""


def by_instance(workload: Sequence[InstanceFinding], findings: Sequence[InstanceFinding], *headings: str) -> str:
    """Return a section for each instance: its workload, and then the findings about a policy, under two headings."""
    parts = []
    for instance in dict.fromkeys(one.instance for one in (*workload, *findings)):
        parts.append(f"<h2>{escape(instance)}</h2>")
        for heading, located in zip(headings, (workload, findings), strict=True):
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
            parts.append(text(x, 14, name, "faint"))
            parts += _panel(x, [float(cell) for cell in cells], cells, scale)
        else:
            width = _CHARACTER * max(len(str(text)) for text in (name, *cells))
            parts.append(text(x, 14, name, "faint"))
            parts += [text(x, _ROW * (n + 2) - 7, str(cell)) for n, cell in enumerate(cells)]
        x += width + _GAP
    return Figure(table.title, "".join(parts), x, _ROW * (len(table.rows) + 1) + 4, natural=True).svg()


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
            kind = "dot s0" if value > 0 else "dot s1"
            parts.append(f'<rect class="{kind}" x="{start:.1f}" y="{top}" width="{length:.1f}" height="{_ROW - 6}"/>')
        parts.append(text(left + _PANEL + 5, top + 12, cell_text(cell)))
    bottom = _ROW * (len(values) + 1)
    parts.append(f'<line class="axis" x1="{zero:.1f}" x2="{zero:.1f}" y1="{_ROW}" y2="{bottom}"/>')
    return parts


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
    across, up = zip(*(point for series in lines for point in series.points), strict=True)
    ends = ticks(min(0.0, *up), max(0.0, *up))
    x = Axis(lines[0].x, min(across) - (0.3 if steps else 0), max(across) + (0.3 if steps else 0), steps=tuple(steps))
    chart = Chart(lines[0].title, x, Axis(lines[0].y if len(lines) == 1 else "", ends[0], ends[-1]), 200.0)
    for number, series in enumerate(lines):
        kind = COLOURS[number % len(COLOURS)]
        chart.line(series.y, series.points, kind, DASHES[number % len(DASHES)])
        said = [
            f"{series.y}, {series.x} {steps[int(a)] if steps else cell_text(a)}: {cell_text(b)}"
            for a, b in series.points
        ]
        chart.dots("", [(a, b, words, "") for (a, b), words in zip(series.points, said, strict=True)], kind, 2.5)
    return chart.figure().svg()
