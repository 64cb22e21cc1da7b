"""Settings become instances; what makes no sense is one clear line."""

from __future__ import annotations

import pytest

from vulcan.errors import UserError
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan_link.evaluator import LinkEvaluator
from vulcan_link.workloads import Competitors, buffer_in_packets, fair_share, parse_competitors
from vulcan_traces.links import load_link

S = 10**9


def instances(task, split=None, **settings):
    return LinkEvaluator().instances(complete_settings(task, settings), split or task.split)


def test_by_default_there_are_generated_links_of_every_kind_in_every_part(task):
    found = instances(task)
    by_part = {part: [i for i in found if i.split == part] for part in ("train", "validation", "test")}
    assert {part: len(of) for part, of in by_part.items()} == {"train": 7, "validation": 6, "test": 6}
    assert len({i.name for i in found}) == len(found)
    assert len({i.parameters["digest"] for i in found}) == len(found)  # no link is in two parts
    for of in by_part.values():
        kinds = {i.name.split("-")[0] for i in of}
        assert {"wired", "bloated", "steps", "cellular", "outages", "shared"} <= kinds
        assert sum(bool(i.parameters["competing"]) for i in of) == 1


def test_a_named_link_is_cut_along_time(task, tmp_path):
    path = tmp_path / "a.up"
    path.write_text("".join(f"{ms}\n" for ms in range(1, 100_001)))
    found = instances(task, link=[str(path)])
    assert [i.split for i in found] == ["train", "validation", "test"]
    assert [(i.parameters["from_ns"], i.parameters["to_ns"]) for i in found] == [
        (0, 60 * S), (60 * S, 80 * S), (80 * S, 100 * S),
    ]  # fmt: skip
    assert {i.name for i in found} == {"a.up 20ms 1bdp"}
    (whole,) = instances(task, Split(by="none"), link=[str(path)])
    assert (whole.parameters["from_ns"], whole.parameters["to_ns"]) == (0, 100 * S)


def test_a_trace_shorter_than_a_run_is_repeated_before_it_is_cut(task):
    found = instances(task, link=["constant:rate=12,seconds=3"], duration_s=10.0)
    assert [i.parameters["to_ns"] for i in found] == [round(share * 12 * S) for share in (0.6, 0.8, 1.0)]


def test_delays_and_buffers_are_taken_in_every_combination(task):
    found = instances(
        task,
        Split(by="none"),
        link=["constant:rate=12", "constant:rate=24"],
        delay_ms=[10.0, 20.0],
        buffer=["50", "2bdp"],
    )
    assert [i.parameters["buffer_packets"] for i in found] == [50, 40, 50, 80, 50, 80, 50, 160]
    assert len({i.name for i in found}) == 8


def test_links_of_one_name_are_told_apart_by_their_folders(task, tmp_path):
    for folder in ("home", "bus"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "down").write_text(f"{len(folder)}\n")
    found = instances(task, Split(by="none"), link=[str(tmp_path / f / "down") for f in ("home", "bus")])
    assert [i.name for i in found] == ["home/down 20ms 1bdp", "bus/down 20ms 1bdp"]


def test_competing_flows_are_parsed():
    assert parse_competitors("none") is None
    assert parse_competitors("cubic") == Competitors("cubic", 1)
    assert parse_competitors("cubic:2@5-15") == Competitors("cubic", 2, 5.0, 15.0)
    assert parse_competitors("reno@2.5") == Competitors("reno", 1, 2.5, None)


def test_a_fair_share_follows_who_is_there():
    assert fair_share(1, [], 20) == 1
    assert fair_share(1, [Competitors("cubic", 1)], 20) == pytest.approx(1 / 2)
    assert fair_share(2, [Competitors("cubic", 2)], 20) == pytest.approx(1 / 2)
    assert fair_share(1, [Competitors("cubic", 1, 10)], 20) == pytest.approx(0.75)
    assert fair_share(1, [Competitors("cubic", 3, 5, 15)], 20) == pytest.approx(0.5 * 1 + 0.5 / 4)
    assert fair_share(1, [Competitors("cubic", 1, 30, 40)], 20) == 1


def test_a_buffer_is_packets_or_multiples_of_the_bandwidth_delay_product():
    link = load_link("constant:rate=12")
    assert buffer_in_packets("100", link, 20) == 100
    assert buffer_in_packets("1bdp", link, 20) == 40  # 12 Mbit/s x 40 ms / 12,000 bits
    assert buffer_in_packets("0.5bdp", link, 20) == 20
    assert buffer_in_packets("0.001bdp", link, 20) == 2


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"buffer": ["lots"]}, "buffer 'lots'"),
        ({"buffer": ["0"]}, "from 1 to 1000000 packets"),
        ({"buffer": ["1.5"]}, "a whole number of packets, or multiples of the BDP as 1.5bdp"),
        ({"buffer": ["1e9"]}, "buffer '1e9'"),
        ({"buffer": ["100000bdp"]}, "from 1 to 1000000 packets"),
        ({"delay_ms": [0.0]}, "delay 0 ms"),
        ({"delay_ms": [float("nan")]}, "delay nan ms"),
        ({"duration_s": 0.0}, "duration 0.0 s"),
        ({"duration_s": float("inf")}, "duration inf s"),
        ({"flows": 0}, "flows 0"),
        ({"loss": 1.0}, "loss 1.0"),
        ({"competing": ["cubik"]}, "no algorithm 'cubik'; did you mean 'cubic'?"),
        ({"competing": ["cubic:0"]}, "from 1 to 100 flows"),
        ({"competing": ["cubic@5-5"]}, "they stop before they start"),
        ({"competing": ["policy"]}, "no algorithm 'policy'"),
        ({"link": ["none.trace"]}, "no trace at none.trace"),
        ({"link": ["constant:rat=1"]}, "did you mean 'rate'?"),
        ({"link_format": "csv"}, "no --link is given"),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(task, settings, why):
    with pytest.raises(UserError) as error:
        instances(task, **settings)
    assert why in str(error.value)
    assert "\n" not in str(error.value)


def test_a_link_that_is_silent_in_one_part_is_told_of(task, tmp_path):
    path = tmp_path / "quiet"
    path.write_text("1\n2\n3\n100000\n")
    with pytest.raises(UserError, match="quiet: nothing is delivered from 60 s to 80 s; use --split none"):
        instances(task, link=[str(path)])
