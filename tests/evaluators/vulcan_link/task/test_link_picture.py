"""The picture of a task: a point a policy, for the mean and for each instance, on a page that needs no network."""

from __future__ import annotations

import json
import re

import pytest

from vulcan.errors import UserError
from vulcan.results.scatter_plot import PolicyMetrics, figure_of, write_pictures
from vulcan.task import Picture

PICTURE = Picture("delay and rate", "delay", "rate", "delay (ms)", "rate (Mbit/s)", x_log=True, x_reversed=True)
POLICIES = [
    PolicyMetrics("mine", "candidate", [{"delay": 10.0, "rate": 8.0}, {"delay": 0.0, "rate": 4.0}]),
    PolicyMetrics("reno", "baseline", [{"delay": 40.0, "rate": 9.0}, {"delay": 60.0, "rate": 5.0}]),
    PolicyMetrics("oracle", "oracle", [{"delay": 2.0, "rate": 9.5}, {"delay": 1.0, "rate": 5.5}]),
]
INSTANCES = ["wired", "cellular"]


def points(figure, visible):
    return {t.name: (t.x[0], t.y[0]) for t, shown in zip(figure.data, visible, strict=True) if shown}


def test_the_mean_is_shown_first_and_each_instance_can_be_chosen():
    figure = figure_of(PICTURE, INSTANCES, POLICIES)
    assert points(figure, [t.visible for t in figure.data]) == {
        "mine": (5.0, 6.0),
        "reno": (50.0, 7.0),
        "oracle": (1.5, 7.5),
    }
    buttons = figure.layout.updatemenus[0].buttons
    assert [b.label for b in buttons] == ["mean of all instances (2)", "wired", "cellular"]
    assert points(figure, buttons[1].args[0]["visible"])["reno"] == (40.0, 9.0)
    assert points(figure, buttons[2].args[0]["visible"])["oracle"] == (1.0, 5.5)
    assert buttons[2].args[1] == {"title.text": "delay and rate: cellular"}


def test_no_delay_has_a_place_on_a_logarithmic_axis_and_is_told_as_it_is():
    figure = figure_of(PICTURE, INSTANCES, POLICIES)
    buttons = figure.layout.updatemenus[0].buttons
    assert points(figure, buttons[2].args[0]["visible"])["mine"] == (0.5, 4.0)  # half of the smallest that is not 0
    assert "delay (ms): 0<br>" in figure.data[6].hovertemplate


def test_axes_have_units_and_the_better_corner_is_at_the_upper_right():
    figure = figure_of(PICTURE, ["wired"], [PolicyMetrics(p.policy, p.kind, p.metrics[:1]) for p in POLICIES])
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("delay (ms)", "rate (Mbit/s)")
    assert (figure.layout.xaxis.type, figure.layout.xaxis.autorange) == ("log", "reversed")
    assert not figure.layout.updatemenus
    assert len({t.marker.symbol for t in figure.data}) == 3  # a candidate, a baseline and a bound look different


def test_a_page_is_whole_and_loads_nothing(tmp_path):
    page = tmp_path / "picture.html"
    write_pictures(page, [PICTURE], ["<b>odd</b>", "cellular"], POLICIES, "mine & the <known>")
    text = page.read_text(encoding="utf-8")
    assert "<title>mine &amp; the &lt;known&gt;</title>" in text
    body = text.partition("</head>")[2]
    assert not re.search(r"<(script|link|img)[^>]*\b(src|href)=", text.partition("<script>")[0] + body)
    assert "<b>odd" not in body
    (found,) = re.findall(r'Plotly\.newPlot\(\s*"picture-1",\s*(\[.*?\]),\s*\{', body, flags=re.DOTALL)
    assert {trace["name"] for trace in json.loads(found)} == {"mine", "reno", "oracle"}
    write_pictures(tmp_path / "again.html", [PICTURE], ["<b>odd</b>", "cellular"], POLICIES, "mine & the <known>")
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.html", "picture.html"]


def test_what_cannot_be_drawn_is_told(tmp_path):
    with pytest.raises(UserError, match="declares no picture"):
        write_pictures(tmp_path / "x.html", [], INSTANCES, POLICIES, "x")
    with pytest.raises(UserError, match="mine has no metric 'loss'"):
        write_pictures(tmp_path / "x.html", [Picture("p", "loss", "rate", "", "")], INSTANCES, POLICIES, "x")
    with pytest.raises(UserError, match="cannot be written"):
        write_pictures(tmp_path / "none" / "x.html", [PICTURE], INSTANCES, POLICIES, "x")


def test_the_task_declares_the_throughput_delay_picture(task):
    (picture,) = task.pictures
    assert (picture.x, picture.y) == ("queueing_delay_p95_ms", "throughput_mbps")
    assert (picture.x_log, picture.x_reversed) == (True, True)
