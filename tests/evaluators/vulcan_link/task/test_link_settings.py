"""Settings become instances; what makes no sense is one clear line."""

from __future__ import annotations

import pytest

from vulcan.errors import UserError
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan_link.simulator import LinkSimulator
from vulcan_link.workloads import Competitors, buffer_in_packets, fair_share
from vulcan_traces.links import load_link

S = 10**9


def instances(task, split=None, **settings):
    return LinkSimulator().instances(complete_settings(task, settings), split or task.split)


def scenario_of(instance, algorithm):
    spec, link = LinkSimulator().at(instance)
    return spec.scenario(link, algorithm)


def test_by_default_there_are_generated_links_of_every_kind_in_every_part(task):
    found = instances(task)
    by_part = {part: [i for i in found if i.split == part] for part in ("train", "validation", "test")}
    assert {part: len(of) for part, of in by_part.items()} == {"train": 11, "validation": 10, "test": 10}
    assert len({i.name for i in found}) == len(found)
    assert len({i.parameters["digest"] for i in found}) == len(found)  # no link is in two parts
    for of in by_part.values():
        kinds = {i.name.split("-")[0] for i in of}
        assert {
            "wired",
            "bloated",
            "steps",
            "cellular",
            "outages",
            "shared",
            "slow",
            "wifi",
            "satellite",
            "5g",
        } <= kinds
        assert sum(bool(i.parameters["competing"]) for i in of) == 1


OPTIONAL = {
    "application": ("5/50", {"write_packets": 5, "write_ms": 50.0}, ("5", "0/10", "5/0", "a/b", "5/10ms")),
    "transfers": ("30/500", {"write_packets": 30, "stop_s": 20.0}, ("30", "30/10", "1.5/10")),
    "reordering": (
        "0.01/10", {"late_share": 0.01, "late_ms": 10.0}, ("0.01", "1/10", "0/10", "0.01/0", "0.01/10ms", "0.5/20000"),
    ),
    "policer": ("8/64", {"policer_mbps": 8.0, "policer_bytes": 64_000}, ("8", "0/64", "8/1", "8/64kB", "8/1e9")),
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONAL)
def test_what_few_paths_have_is_part_of_an_instance_only_where_it_is_set(task, name):
    value, becomes, wrong = OPTIONAL[name]
    default = "endless" if name == "application" else "none"
    plain, also = instances(task)[0], instances(task, **{name: default})[0]
    assert name not in plain.parameters and plain == also
    (instance, *_) = instances(task, link=["constant:rate=12"], **{name: value})
    assert instance.parameters[name] == value
    scenario = scenario_of(instance, "cubic")
    seen = {at: getattr(scenario if hasattr(scenario, at) else scenario.flows[0], at) for at in becomes}
    assert seen == becomes
    for text in wrong:
        with pytest.raises(UserError, match=name):
            instances(task, **{name: text})


def test_a_fair_share_is_of_what_an_application_writes_and_a_policer_lets_through(task):
    (limited, *_) = instances(task, link=["constant:rate=12"], application="5/50")
    metrics = LinkSimulator().evaluate_baseline("cubic", limited)
    assert metrics["goodput_mbps"] == pytest.approx(5 * 1448 * 8 / 0.05 / 1e6, rel=0.02)
    assert metrics["share"] == pytest.approx(1.0, abs=0.02)
    (policed, *_) = instances(task, link=["constant:rate=20"], policer="8/64")
    assert LinkSimulator().evaluate_baseline("bbr", policed)["share"] == pytest.approx(1.0, abs=0.05)


def test_transfers_are_flows_of_their_own_that_end(task):
    (shared, *_) = instances(task, link=["constant:rate=12"], transfers="30/500", duration_s=5.0, competing=["cubic"])
    assert [(f.algorithm, f.start_s, f.write_packets) for f in scenario_of(shared, "policy").flows] == [
        *(("policy", 0.5 * n, 30) for n in range(10)), ("cubic", 0.0, 0),
    ]  # fmt: skip
    alone = instances(task, link=["constant:rate=12"], transfers="30/500", duration_s=5.0)[0]
    quick, crowded = (LinkSimulator().evaluate_baseline("reno", i) for i in (alone, shared))
    # an opening, 10 and then 20 packets of a millisecond: three round trips of 40 ms, and 20 ms of the last burst
    assert quick["completed"] == 1.0 and quick["completion_ms"] == pytest.approx(110, abs=20)
    assert quick["completion"] == pytest.approx((40 + 30) / quick["completion_ms"], rel=0.02)
    assert crowded["completion_ms"] > quick["completion_ms"] and crowded["completion"] < quick["completion"]
    completion = task.objective("completion")
    assert completion.score(quick, {}) == quick["completion"] * quick["drop_discount"]
    assert [completion.unfit({"transfers": of}) is None for of in (None, "none", "30/500")] == [False, False, True]
    slow = instances(task, link=["constant:rate=1"], transfers="400/5000", duration_s=3.0)[0]
    assert LinkSimulator().evaluate_baseline("reno", slow)["completed"] == 0.0, "4.8 s of the link in 3 s"
    with pytest.raises(UserError, match="transfers"):
        instances(task, transfers="9/500", application="9/50")


def test_a_named_link_is_cut_along_time(task, tmp_path):
    path = tmp_path / "a.up"
    path.write_text("".join(f"{ms}\n" for ms in range(1, 100_001)))
    found = instances(task, link=[str(path)])
    assert LinkSimulator().notes(found[0]) == ()
    (tmp_path / "short.up").write_text("1\n50\n")
    (note,) = LinkSimulator().notes(instances(task, link=[str(tmp_path / "short.up")])[0])
    assert note.startswith("short.up lasts 0.05 s, and is repeated to ")
    assert [i.split for i in found] == ["train", "train", "train", "validation", "test"]
    assert [(i.parameters["from_ns"], i.parameters["to_ns"]) for i in found] == [
        (start * S, (start + 20) * S) for start in range(0, 100, 20)
    ]
    assert [i.name for i in found] == [f"a.up {part}20ms 150 packets" for part in ("@0s ", "@20s ", "@40s ", "", "")]
    whole = instances(task, Split(by="none"), link=[str(path)])
    assert [i.parameters["from_ns"] // S for i in whole] == [0, 20, 40, 60, 80]
    assert [
        i.parameters["from_ns"] // S for i in instances(task, Split(by="none"), link=[str(path)], duration_s=30.0)
    ] == [
        0,
        35,
        70,
    ]  # no two of them overlap
    (one,) = instances(task, Split(by="none"), link=[str(path)], windows=1)
    assert (one.parameters["from_ns"], one.parameters["to_ns"]) == (0, 100 * S)


def test_windows_cover_a_part_up_to_a_limit_and_leave_out_outages(task, tmp_path):
    path = tmp_path / "long"
    path.write_text("".join(f"{ms}\n" for ms in range(10, 3_000_001, 10) if not 35_000 < ms <= 125_000))
    found = instances(task, Split(by="none"), link=[str(path)], duration_s=30.0)
    starts = [i.parameters["from_ns"] // S for i in found]
    assert len(starts) == 32 and starts[0] == 0 and starts[-1] == 2970
    all_of_it = instances(task, Split(by="none"), link=[str(path)], duration_s=60.0, windows=50)
    starts = [i.parameters["from_ns"] // S for i in all_of_it]
    assert starts == [60 * k for k in range(50) if k != 1]
    without = [i.parameters["from_ns"] // S for i in instances(task, Split(by="none"), link=[str(path)], windows=150)]
    assert {40, 60, 80, 100} & set(without) == set() and len(without) == 146


def test_a_fair_share_follows_who_is_there():
    assert fair_share(1, [], 20) == 1
    assert fair_share(1, [Competitors("cubic", 1)], 20) == pytest.approx(1 / 2)
    assert fair_share(2, [Competitors("cubic", 2)], 20) == pytest.approx(1 / 2)
    assert fair_share(1, [Competitors("cubic", 1, 10)], 20) == pytest.approx(0.75)
    assert fair_share(1, [Competitors("cubic", 3, 5, 15)], 20) == pytest.approx(0.5 * 1 + 0.5 / 4)
    assert fair_share(1, [Competitors("cubic", 1, 30, 40)], 20) == 1
    whole = [Competitors("cubic", 3, 5, 15), Competitors("cubic", 1, 12)]
    blocks = [fair_share(1, whole, stop, stop - 5) for stop in (5, 10, 15, 20)]
    assert fair_share(1, whole, 20) == pytest.approx(sum(blocks) / 4)


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
        ({"buffer": ["1.5"]}, "1.5bdp"),
        ({"buffer": ["100000bdp"]}, "from 1 to 1000000 packets"),
        ({"delay_ms": [float("nan")]}, "--delay-ms nan"),
        ({"duration_s": float("inf")}, "--duration-s inf"),
        ({"flows": 0}, "--flows 0"),
        ({"loss": 1.0}, "--loss 1: "),
        ({"jitter_ms": [-1.0]}, "--jitter-ms -1"),
        ({"ack_batch_ms": 1e9}, "--ack-batch-ms 1e+09"),
        ({"windows": 0}, "--windows 0"),
        ({"competing": ["cubik"]}, "did you mean 'cubic'?"),
        ({"competing": ["cubic:0"]}, "from 1 to 100 flows"),
        ({"competing": ["cubic@5-5"]}, "stop before they start"),
        ({"competing": ["policy"]}, "no algorithm 'policy'"),
        ({"link": ["none.trace"]}, "no trace at none.trace"),
        ({"link_format": "csv"}, "no --link is given"),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(task, settings, why):
    with pytest.raises(UserError) as error:
        instances(task, **settings)
    assert why in str(error.value)
    assert "\n" not in str(error.value)
