"""Charts as SVG text, in one style for pages, notebooks and files.

Nothing is loaded and no script runs; colours follow the reader's light or dark mode, and each mark says what it is when
the pointer rests on it. A chart is as wide as its place; on a narrow screen its texts grow against the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path

from vulcan.errors import UserError
from vulcan.files import write_output

STYLE = """
.chart { --ink: #1d2329; --faint: #56616b; --line: #d8dee4; --paper: #fff; --plain: #8496a8;
  --s0: #2c6fbb; --s1: #b3541e; --s2: #2f7d4f; --s3: #7a4fa3;
  --s4: #8a6d00; --s5: #16787f; --s6: #a8326f; --s7: #5c6b73;
  display: block; height: auto; max-width: 60rem; color: var(--ink); font: 13px system-ui, sans-serif }
@media (prefers-color-scheme: dark) { .chart {
  --ink: #e3e8ec; --faint: #a3aeb8; --line: #3a444d; --paper: #14181c; --plain: #7d8fa3;
  --s0: #6babef; --s1: #f0a36b; --s2: #6cc493; --s3: #bd9ce4;
  --s4: #d6bd4a; --s5: #5fc4cc; --s6: #ef8ac0; --s7: #a8b4bc } }
.chart.natural { max-width: none }
.chart text { fill: var(--ink) }
.chart .faint { fill: var(--faint) }
.chart .axis { stroke: var(--line) }
.chart .plain { color: var(--plain) }
.chart .s0 { color: var(--s0) } .chart .s1 { color: var(--s1) } .chart .s2 { color: var(--s2) }
.chart .s3 { color: var(--s3) } .chart .s4 { color: var(--s4) } .chart .s5 { color: var(--s5) }
.chart .s6 { color: var(--s6) } .chart .s7 { color: var(--s7) }
.chart .curve { fill: none; stroke: currentColor; stroke-width: 2 }
.chart .thin { stroke-width: 1; opacity: .6 }
.chart .dot { fill: currentColor }
.chart .ring { fill: var(--paper); stroke: currentColor; stroke-width: 2 }
.chart a:hover .dot, .chart a:hover .ring { stroke: var(--ink); stroke-width: 3 }
.chart .bold { font-weight: 700 }
.chart .halo { paint-order: stroke; stroke: var(--paper); stroke-width: 4px }
@media (max-width: 40rem) { .chart:not(.natural) text { font-size: 20px } }
"""
"""Rules for every chart, in the page around it or in its own file."""

COLOURS = tuple(f"s{number}" for number in range(8))
BASE, BEST, GOOD, PLAIN = "s0", "s1", "s2", "plain"
"""Classes of the marks: known policies, the best of a run, its line of descent, and everything else."""

DASHES = ("none", "7 4", "2 3", "10 3 2 3", "14 4")
"""Strokes of lines, for those who cannot tell their colours."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawn chart. A notebook shows it, `save` writes it to a file, and `svg` is for a page that has `STYLE`."""

    title: str
    content: str
    width: float
    height: float
    natural: bool = False
    """Whether it keeps its size, and scrolls where it is wider than its place."""

    def svg(self, style: str | None = None) -> str:
        """Return the element for an HTML page; with a style sheet, which may be empty, as a document of its own."""
        size = f' width="{self.width:.0f}" height="{self.height:.0f}"' if self.natural else ' width="100%"'
        space = "" if style is None else ' xmlns="http://www.w3.org/2000/svg"'
        kind = "chart natural" if self.natural else "chart"
        return (
            f'<svg{space} class="{kind}"{size} role="img" aria-label="{escape(self.title)}" '
            f'viewBox="0 0 {self.width:.0f} {self.height:.0f}">'
            f"{f'<style>{style}</style>' if style else ''}{self.content}</svg>"
        )

    def _repr_svg_(self) -> str:
        return self.svg(STYLE)

    def _repr_html_(self) -> str:
        return self.svg(STYLE)

    def save(self, path: str | Path) -> Path:
        """Write it as an SVG file. Raises UserError."""
        file = Path(path)
        if file.suffix.lower() != ".svg":
            raise UserError(f"{file}: a figure is saved as SVG; name a file that ends in .svg")
        write_output(file, self.svg(STYLE))
        return file


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """Return a text; `anchor` is its end at `x`: start, middle or end."""
    place = "" if anchor == "start" else f' text-anchor="{anchor}"'
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{x:.1f}" y="{y:.1f}"{place}>{escape(words)}</text>'


def number(value: float) -> str:
    """Return a number for an axis or a hover text: at most five significant digits."""
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:,.5g}"


def ticks(low: float, high: float, parts: int = 4) -> list[float]:
    """Return round numbers at equal steps, the first at most `low` and the last at least `high`."""
    if high <= low:
        return [low]
    rough = (high - low) / parts
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * n for n in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from `low` to `high`; `steps` are the texts of 0, 1, 2, ..., where these are no numbers by themselves."""

    label: str
    low: float
    high: float
    steps: tuple[str, ...] = ()

    def share(self, value: float) -> float:
        """Return where a value is: 0 at the low end, 1 at the high end; values beyond them are at the ends."""
        at = min(max(value, self.low), self.high)
        return (at - self.low) / (self.high - self.low) if self.high > self.low else 0.5

    def has(self, value: float) -> bool:
        return self.low <= value <= self.high

    def marks(self) -> list[tuple[float, str]]:
        """Return the values with their texts that stand at the axis."""
        if self.steps:
            every = max(1, math.ceil(len(self.steps) / 40))
            return [(n, said) for n, said in enumerate(self.steps) if n % every == 0 and self.has(n)]
        return [(value, number(value)) for value in ticks(self.low, self.high) if self.has(value)]


def around(values: Iterable[float], margin: float = 0.05) -> tuple[float, float]:
    """Return the ends of an axis that holds these values, with room at both."""
    known = list(values) or [0.0]
    low, high = min(known), max(known)
    room = margin * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room


_WIDTH, _LEFT, _RIGHT = 720.0, 86.0, 700.0
_CHARACTER, _ROW = 10.2, 26.0
"""Width of a character and height of a line, of texts as large as they are on a narrow screen."""


class Chart:
    """A chart with two axes, to which lines, dots and levels are added; a legend tells the named ones apart."""

    def __init__(self, title: str, x: Axis, y: Axis, height: float = 300.0) -> None:
        self._title, self._x, self._y, self._height = title, x, y, height
        self._named: list[tuple[str, str, str, bool]] = []
        self._marks: list[str] = []
        self._labels: list[tuple[float, float, str]] = []

    def _at(self, x: float, y: float) -> Point:
        return (
            _LEFT + (_RIGHT - _LEFT) * self._x.share(x),
            self._height * (1.0 - self._y.share(y)),
        )

    def line(
        self, name: str, points: Iterable[Point], kind: str, dash: str = "none", step: bool = False, thin: bool = False
    ) -> None:
        """Add a line through the points, in steps where a value holds until the next.

        The legend has those with a name.
        """
        spots = [self._at(x, y) for x, y in points]
        if step:
            spots = [
                spot for n, (x, y) in enumerate(spots) for spot in ([(x, spots[n - 1][1])] if n else []) + [(x, y)]
            ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
        dashed = "" if dash == "none" else f' stroke-dasharray="{dash}"'
        self._marks.append(f'<polyline class="curve {kind}{" thin" if thin else ""}"{dashed} points="{path}"/>')
        if name:
            self._named.append((name, kind, dash, True))

    def level(self, name: str, value: float, kind: str = BASE) -> None:
        """Add a dashed line across the chart, such as the score of a baseline."""
        self.line(f"{name}: {number(value)}", [(self._x.low, value), (self._x.high, value)], kind, "6 4")

    def dots(
        self,
        name: str,
        points: Iterable[tuple[float, float, str, str]],
        kind: str,
        radius: float = 3.0,
        ring: bool = False,
        cut: bool = True,
    ) -> None:
        """Add dots: x, y, what the dot says, and the address that it leads to, which may be empty.

        Dots beyond an axis are left out, or with `cut=False` drawn at its end.
        """
        for x, y, said, address in points:
            if cut and not (self._x.has(x) and self._y.has(y)):
                continue
            left, top = self._at(x, y)
            shape = "ring" if ring else "dot"
            mark = (
                f'<circle class="{shape} {kind}" cx="{left:.1f}" cy="{top:.1f}" r="{radius:g}">'
                f"<title>{escape(said)}</title></circle>"
            )
            # the pointer's alone: hundreds of stops would be in the way of the Tab key, and tables lead there too
            self._marks.append(f'<a href="{escape(address)}" tabindex="-1">{mark}</a>' if address else mark)
        if name:
            self._named.append((name, kind, "none", False))

    def label(self, x: float, y: float, words: str) -> None:
        """Add a text beside a point, unless another one is there already."""
        self._labels.append((*self._at(x, y), words))

    def figure(self) -> Figure:
        """Return the chart, drawn."""
        legend, top = self._legend()
        frame = []
        for value, said in self._y.marks():
            _, y = self._at(self._x.low, value)
            frame.append(f'<line class="axis" x1="{_LEFT:.0f}" x2="{_RIGHT:.0f}" y1="{y:.1f}" y2="{y:.1f}"/>')
            frame.append(text(_LEFT - 8, y + 5, said, "faint", "end"))
        below = self._steps(frame) if self._x.steps else self._numbers(frame)
        frame.append(text((_LEFT + _RIGHT) / 2, below + _ROW, self._x.label, "faint", "middle"))
        named = text(_LEFT, top - 12, self._y.label, "faint") if self._y.label else ""
        inside = "".join([*frame, *self._marks, *self._words()])
        content = f'{"".join(legend)}{named}<g transform="translate(0 {top:.0f})">{inside}</g>'
        return Figure(self._title, content, _WIDTH, top + below + _ROW + 12)

    def _numbers(self, frame: list[str]) -> float:
        for value, said in self._x.marks():
            frame.append(text(self._at(value, self._y.low)[0], self._height + 22, said, "faint", "middle"))
        return self._height + 22

    def _steps(self, frame: list[str]) -> float:
        """Add the texts of the steps, in two rows if they have a space; upright where they would overlap."""
        marks = [(value, said.split(" ", 1)) for value, said in self._x.marks()]
        widest = max((len(row) for _, rows in marks for row in rows), default=0) * _CHARACTER
        flat = widest * len(marks) < _RIGHT - _LEFT
        for value, rows in marks:
            x, y = self._at(value, self._y.low)[0], self._height + 22
            if flat:
                frame += [text(x, y + n * _ROW, row, "faint", "middle") for n, row in enumerate(rows)]
            else:
                turned = f'transform="translate({x + 5:.1f} {y - 8:.1f}) rotate(-60)" text-anchor="end"'
                frame.append(f'<text class="faint" {turned}>{escape(" ".join(rows))}</text>')
        if flat:
            return self._height + 22 + (_ROW if any(len(rows) > 1 for _, rows in marks) else 0)
        return self._height + 8 + 0.87 * _CHARACTER * max(len(" ".join(rows)) for _, rows in marks)

    def _legend(self) -> tuple[list[str], float]:
        """Return the names, in as many rows as they need, and where the plot below them begins."""
        parts: list[str] = []
        x, y = _LEFT, 16.0
        for name, kind, dash, is_line in self._named if len(self._named) > 1 else ():
            width = 34 + len(name) * _CHARACTER + 18
            if x > _LEFT and x + width > _WIDTH:
                x, y = _LEFT, y + _ROW
            dashed = "" if dash == "none" else f' stroke-dasharray="{dash}"'
            parts.append(
                f'<line class="curve {kind}"{dashed} x1="{x:.0f}" x2="{x + 26:.0f}" y1="{y - 5:.0f}" y2="{y - 5:.0f}"/>'
                if is_line
                else f'<circle class="dot {kind}" cx="{x + 13:.0f}" cy="{y - 5:.0f}" r="5"/>'
            )
            parts.append(text(x + 34, y, name))
            x += width
        return parts, (y + 14 if parts else 12) + (_ROW if self._y.label else 0)

    def _words(self) -> list[str]:
        first: dict[Point, str] = {}
        for x, y, words in self._labels:
            first.setdefault((x, y), words)
        taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in first]
        parts = []
        for (x, y), words in first.items():
            width = len(words) * _CHARACTER
            for left, base in ((x + 8, y + 4), (x - 8 - width, y + 4), (x - width / 2, y - 9), (x - width / 2, y + 18)):
                box = (left, base - 11, left + width, base + 3)
                if box[0] < _LEFT or box[2] > _RIGHT or box[1] < 0 or box[3] > self._height:
                    continue
                if not any(box[0] < c and a < box[2] and box[1] < d and b < box[3] for a, b, c, d in taken):
                    taken.append(box)
                    parts.append(text(left, base, words))
                    break
        return parts
