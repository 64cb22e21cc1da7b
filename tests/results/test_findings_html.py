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
