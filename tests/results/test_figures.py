"""Figures of a run: every mark says what it is and leads where it should, and the drawn places are to scale."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from locations import recorded_run

import vulcan
from vulcan.results import figures
from vulcan.svg import Axis, Chart, Figure, ticks

NAMES = ("progress", "instances", "constants", "behaviour", "descent", "size", "operations")
SPACE = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def run() -> vulcan.Run:
    return vulcan.load(recorded_run())


def tree(figure: Figure) -> ElementTree.Element:
    return ElementTree.fromstring(figure.svg(""))


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_a_file_and_is_shown_by_a_notebook(run: vulcan.Run, name: str, tmp_path: Path) -> None:
    figure = run.plot(name)
    file = figure.save(tmp_path / "figure.svg")
    root = ElementTree.parse(file).getroot()
    assert root.tag == f"{SPACE}svg"
    assert "prefers-color-scheme: dark" in file.read_text()
    assert figure._repr_svg_() == file.read_text()
    assert "nan" not in figure.content
    assert len(file.read_bytes()) < 60_000


def test_every_scored_candidate_is_drawn_where_it_was_and_leads_to_its_page(run: vulcan.Run) -> None:
    record = run._report.record
    figure = figures.best_score(record, link=lambda n: f"candidates/{n}")
    assert figure is not None
    marks = {link.get("href"): link.find(f"{SPACE}circle") for link in tree(figure).iter(f"{SPACE}a")}
    places = {}
    for address, mark in marks.items():
        number = int((address or "").rpartition("/")[2])
        assert mark is not None
        assert mark.find(f"{SPACE}title").text == f"candidate {number}: {record.candidates[number].score:.4f}"  # type: ignore[union-attr]
        places[number] = float(mark.get("cx") or 0), float(mark.get("cy") or 0)
    assert len(places) > 20
    assert [places[n][0] for n in sorted(places)] == sorted(x for x, _ in places.values())
    by_score = sorted(places, key=lambda n: record.candidates[n].score or 0.0)
    heights = [places[n][1] for n in by_score]
    assert all(a >= b - 0.11 for a, b in pairwise(heights))


@given(st.integers(), st.sampled_from([0, 1, 2]), st.integers(40, 120))
def test_the_constant_that_the_score_depends_on_has_nearly_all_of_the_importance(
    seed: int, one: int, many: int
) -> None:
    numbers = random.Random(seed)
    samples = [[numbers.gauss(0, 1) for _ in range(3)] for _ in range(many)]
    shares = figures.importance([[*values, -(abs(values[one] - 0.5) ** 3)] for values in samples])
    assert all(0 <= share <= 1 for share in shares)
    assert shares[one] > 0.5 > 2 * max(share for n, share in enumerate(shares) if n != one) - 0.2
    assert figures.importance([[*values, 1.0] for values in samples]) == [0, 0, 0]


@given(st.lists(st.tuples(st.integers(-1000, 1000), st.integers(-1000, 1000)), min_size=1, max_size=12))
def test_marks_stay_within_the_plot_and_keep_their_order(points: list[tuple[int, int]]) -> None:
    axis = Axis("x", min(x for x, _ in points), max(x for x, _ in points))
    chart = Chart("any", axis, Axis("y", -1e6, 1e6))
    chart.dots("", [(x, y, "a point", "") for x, y in points], "s0")
    chart.line("", points, "s1", step=True)
    content = chart.figure().content
    drawn = [float(x) for x in re.findall(r'cx="([-\d.]+)"', content)]
    assert len(drawn) == len(points)
    assert all(86 <= x <= 700 for x in drawn)
    for (a, _), (b, _), left, right in zip(points, points[1:], drawn, drawn[1:], strict=False):
        if a < b:
            assert left <= right


@given(st.floats(-1e9, 1e9), st.floats(1e-9, 1e9))
def test_ticks_are_few_and_hold_the_range(low: float, width: float) -> None:
    found = ticks(low, low + width)
    assert len(found) <= 12
    slack = 1e-6 * (abs(low) + width)
    assert found[0] <= low + slack
    assert found[-1] >= low + width - slack
