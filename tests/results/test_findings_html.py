"""Findings as a page: every number is there, bars and curves are to scale, and nothing of a text becomes markup."""

from __future__ import annotations

import re
from html import unescape
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from vulcan.findings import EvaluatorFinding, InstanceFinding, Series, SmallTable, Statement, SweptTable
from vulcan.results.explanation import Explanation
from vulcan.results.findings_html import drawn

HOSTILE = '<script>alert("x")</script> & "more"'
TABLE = SmallTable(
    "Misses by class",
    ("class", "share %", "misses", "regret", "gain"),
    (("first", 80.0, 400, 0, -2.5), (HOSTILE, 20.0, 100, 50, 1.25)),
)


def svg_of(finding: EvaluatorFinding) -> ElementTree.Element:
    found = re.search(r"<svg.*</svg>", drawn([finding]), re.DOTALL)
    assert found is not None
    return ElementTree.fromstring(found[0])


def test_bars_are_to_scale_within_counts_shares_and_amounts() -> None:
    svg = svg_of(TABLE)
    widths = [(bar.get("class"), float(bar.get("width") or 0)) for bar in svg.iter("rect")]
    shares, counts, amounts = widths[:2], widths[2:5], widths[5:]
    assert [kind for kind, _ in amounts] == ["dot s1", "dot s0"]
    assert shares[0][1] == pytest.approx(4 * shares[1][1], abs=0.3)
    assert counts[0][1] == pytest.approx(4 * counts[1][1], abs=0.3)
    assert counts[0][1] == pytest.approx(8 * counts[2][1], abs=0.5)  # misses and regret have one scale
    assert amounts[0][1] == pytest.approx(2 * amounts[1][1], abs=0.2)
    texts = [text.text for text in svg.iter("text")]
    assert {"first", "80", "400", "0", "-2.5", HOSTILE, "20", "100", "50", "1.25", *TABLE.columns} <= set(texts)


def test_a_curve_goes_through_its_points() -> None:
    svg = svg_of(Series("ratio", "time", "misses", ((0.0, 0.0), (1.0, 0.5), (2.0, 1.0))))
    curve = next(svg.iter("polyline")).get("points") or ""
    (x0, y0), (x1, y1), (x2, y2) = [tuple(map(float, point.split(","))) for point in curve.split()]
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert y0 - y1 == pytest.approx(y1 - y2, abs=0.2)
    assert y0 > y2
    assert [title.text for title in svg.iter("title")] == [
        "misses, time 0: 0",
        "misses, time 1: 0.5",
        "misses, time 2: 1",
    ]


def test_series_of_one_title_are_lines_of_one_picture() -> None:
    of = [("policy", 0.5), ("best", 0.25), ("oracle", 0.125)]
    html = drawn([Statement("said", 1.0), *(Series("ratio", "time", who, ((0.0, 1.0), (1.0, y))) for who, y in of)])
    assert html.count("<svg") == 1
    svg = ElementTree.fromstring(re.search(r"<svg.*</svg>", html, re.DOTALL)[0])  # type: ignore[index]
    ends = [float((line.get("points") or "").split(",")[-1]) for line in svg.iter("polyline")]
    assert ends == sorted(ends)  # the higher the lower, on one axis
    assert len({line.get("class") for line in svg.iter("polyline")}) == 3
    assert {"policy", "best", "oracle"} <= {text.text for text in svg.iter("text")}
    assert drawn([Series("a", "x", "y", ((0, 1),)), Series("b", "x", "y", ((0, 1),))]).count("<svg") == 2


def test_a_sweep_is_a_line_for_each_policy_with_a_tick_for_each_step() -> None:
    names = ("policy", "first baseline", "second baseline", "third baseline", "clairvoyant (oracle)")
    rows = tuple((f"{10**n:,} ({n} x)", *(0.9 - 0.1 * n - 0.02 * k for k in range(5))) for n in range(6))
    table = SweptTable("miss ratio by cache size", ("cache size, bytes", *names), rows)
    assert InstanceFinding("a", "train", table).to_json()["kind"] == "table"
    svg = svg_of(table)
    lines = [[tuple(map(float, p.split(","))) for p in (line.get("points") or "").split()]
             for line in svg.iter("polyline")]  # fmt: skip
    assert len(lines) == 5
    assert len({line.get("class") for line in svg.iter("polyline")}) == 5
    for line in lines:
        steps = [after[0] - before[0] for before, after in pairwise(line)]
        assert steps == pytest.approx([steps[0]] * 5, abs=0.2)
        assert [y for _, y in line] == sorted(y for _, y in line)  # ever less, so ever lower
    texts = [text.text for text in svg.iter("text")]
    assert {"cache size, bytes", "100,000", "(5 x)", *names} <= set(texts)
    width = float((svg.get("viewBox") or "").split()[2])
    assert all(float(text.get("x") or 0) < width for text in svg.iter("text"))
    assert "policy, cache size, bytes 1 (0 x): 0.9" in [title.text for title in svg.iter("title")]


@pytest.mark.parametrize("points", [((1.0, 5.0),), ((1.0, 0.0), (2.0, 0.0)), ((0.0, -1e-9), (1e12, 1e9))])
def test_any_series_and_table_can_be_drawn(points: tuple[tuple[float, float], ...]) -> None:
    assert "nan" not in ElementTree.tostring(svg_of(Series("s", "x", "y", points)), "unicode")
    svg_of(SmallTable("t", ("class", "n"), (("a", 0), ("b", 0))))
    svg_of(SmallTable("t", ("class",), (("a",),)))


def test_the_page_holds_everything_and_loads_nothing() -> None:
    where = ("<b>@10%", "train")
    findings = tuple(InstanceFinding(*where, one) for one in (Statement("least", 1.0), TABLE, Statement(HOSTILE, 5.0)))
    found = Explanation("cache", (InstanceFinding(*where, Statement("workload")),), findings)
    page = found.html()
    assert "<script" not in page
    assert "<b>" not in page
    assert "http:" not in page
    assert "https:" not in page
    assert "prefers-color-scheme: dark" in page
    text = unescape(re.sub(r"<[^>]+>", "", page))
    assert text.index("workload") < text.index(HOSTILE) < text.index("least")
    assert 'class="findings"' in found._repr_html_()
