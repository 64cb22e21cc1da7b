"""The picture of a task: a point a policy, for the mean and for each instance, on a page that needs no network."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import pytest

from vulcan.errors import UserError
from vulcan.results.scatter_plot import PolicyMetrics, figures_of, write_pictures
from vulcan.task import Picture

PICTURE = Picture("delay and rate", "delay", "rate", "delay (ms)", "rate (Mbit/s)", x_log=True, x_reversed=True)
POLICIES = [
    PolicyMetrics("mine", "candidate", [{"delay": 10.0, "rate": 8.0}, {"delay": 0.0, "rate": 4.0}]),
    PolicyMetrics("reno", "baseline", [{"delay": 40.0, "rate": 9.0}, {"delay": 60.0, "rate": 5.0}]),
    PolicyMetrics("oracle", "oracle", [{"delay": 2.0, "rate": 9.5}, {"delay": 1.0, "rate": 5.5}]),
]
INSTANCES = ["wired", "cellular"]


def points(figure):
    """What each mark says, and where it is; the middle of its circle, to the right and downwards."""
    drawn = ElementTree.fromstring(f"<svg>{figure.content}</svg>")
    return {
        circle.find("title").text: (float(circle.get("cx")), float(circle.get("cy")))
        for circle in drawn.iter("circle")
        if circle.find("title") is not None
    }


def test_the_mean_is_shown_first_and_then_each_instance():
    figures = figures_of(PICTURE, INSTANCES, POLICIES)
    titles = ["mean of all instances (2)", "wired", "cellular"]
    assert [figure.title for figure in figures] == [f"delay and rate: {title}" for title in titles]
    mean, wired, cellular = map(points, figures)
    assert set(mean) == {
        "mine (candidate): delay (ms) 5, rate (Mbit/s) 6",
        "reno (baseline): delay (ms) 50, rate (Mbit/s) 7",
        "oracle (oracle): delay (ms) 1.5, rate (Mbit/s) 7.5",
    }
    assert "reno (baseline): delay (ms) 40, rate (Mbit/s) 9" in wired
    assert "mine (candidate): delay (ms) 0, rate (Mbit/s) 4" in cellular


def test_the_better_corner_is_at_the_upper_right_on_a_logarithmic_axis():
    (figure,) = figures_of(PICTURE, ["wired"], [PolicyMetrics(p.policy, p.kind, p.metrics[:1]) for p in POLICIES])
    oracle, reno, mine = points(figure).values()
    assert reno[0] < mine[0] < oracle[0]
    assert oracle[1] < reno[1] < mine[1]
    per_factor = (mine[0] - reno[0]) / math.log(40 / 10)
    assert oracle[0] - mine[0] == pytest.approx(per_factor * math.log(10 / 2), abs=0.2)
    assert {"delay (ms)", "rate (Mbit/s)", "mine", "reno"} <= set(re.findall(">([^<>]+)</text>", figure.content))
    assert len(set(re.findall(r'<circle class="(\w+ \w+)" [^>]*><title>', figure.content))) == 3


def test_a_page_is_whole_and_loads_nothing(tmp_path):
    page = tmp_path / "picture.html"
    write_pictures(page, [PICTURE], ["<b>odd</b>", "cellular"], POLICIES, "mine & the <known>")
    text = page.read_text(encoding="utf-8")
    assert "<title>mine &amp; the &lt;known&gt;</title>" in text
    assert "<script" not in text
    assert not re.search(r"<(link|img)", text)
    assert "<b>odd" not in text
    assert text.count("<svg") == 3
    write_pictures(tmp_path / "again.html", [PICTURE], ["<b>odd</b>", "cellular"], POLICIES, "mine & the <known>")
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.html", "picture.html"]


def test_what_cannot_be_drawn_is_told(tmp_path):
    with pytest.raises(UserError, match="declares no picture"):
        write_pictures(tmp_path / "x.html", [], INSTANCES, POLICIES, "x")
    with pytest.raises(UserError, match="mine has no metric 'loss'"):
        write_pictures(tmp_path / "x.html", [Picture("p", "loss", "rate", "", "")], INSTANCES, POLICIES, "x")
    (file := tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot write"):
        write_pictures(file / "x.html", [PICTURE], INSTANCES, POLICIES, "x")


def test_the_task_declares_the_throughput_delay_picture(task):
    (picture,) = task.pictures
    assert (picture.x, picture.y) == ("queueing_delay_p95_ms", "throughput_mbps")
    assert (picture.x_log, picture.x_reversed) == (True, True)
