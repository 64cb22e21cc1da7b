"""The library that comes with the task cache_eviction, and the division of traces that it was made by."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from locations import TESTS

from benchmarks.instance_traces import DATA, NEARLY_ALL_COLD, SOURCES, counted, split
from vulcan.anvil import check
from vulcan.portfolio.library_file import read_library
from vulcan.portfolio.model import Library
from vulcan.portfolio.selector import shipped_library
from vulcan.registry import find_task
from vulcan.store import RunRecord
from vulcan.store.runs import open_store

RECORDED = TESTS / "data" / "recorded_library"
MIN_REPLIES = 40


@pytest.fixture(scope="module")
def library() -> Library:
    return read_library(shipped_library(find_task("cache_eviction")))


def test_every_member_is_a_policy_of_its_task(library: Library) -> None:
    for member in library.members:
        check(member.source, find_task(member.task))


def test_every_member_says_who_wrote_it_and_from_what(library: Library) -> None:
    for member in library.members:
        origin = member.provenance
        assert origin.proposer, member.name
        if origin.proposer != "written by hand":
            assert origin.workloads and origin.seed is not None and origin.search is not None, member.name


def test_no_held_out_trace_was_seen_in_training(library: Library) -> None:
    sides = split()
    seen = {w.name for w in library.workloads} | {w for m in library.members for w in m.provenance.workloads}
    assert seen
    assert {sides[name] for name in seen} == {"train"}


def test_every_member_earned_its_place_by_more_than_the_margin(library: Library) -> None:
    for member in library.members:
        assert member.earned, member.name
        for place in member.earned:
            position = [i.name for i in library.instances].index(place.instance)
            matrix = library.matrix[place.objective]
            others = [v[position] for n, v in matrix.members.items() if n != member.name]
            others.append(matrix.own[library.fallbacks[place.objective].policy][position])
            assert matrix.members[member.name][position] - max(others) == pytest.approx(place.by)
            assert place.by > library.margin


def test_the_training_traces_are_the_files_that_the_library_names(library: Library) -> None:
    by_name = {source.name: source for source in SOURCES}
    for workload in library.workloads:
        path = DATA / by_name[workload.name].path
        if not path.is_file():
            pytest.skip(f"no trace at {path}; set VULCAN_DATA")
        assert hashlib.sha256(path.read_bytes()).hexdigest() == workload.sha256, workload.name


def test_the_scores_in_the_library_are_those_of_its_members(library: Library) -> None:
    from benchmarks.cache_instances import METRICS, SOURCE_OF, member_metrics, scored

    for name in ("lirs_multi1@1%", "c2k_web07@10%", "tcbs_3906@1%"):
        trace, _, size = name.partition("@")
        source = SOURCE_OF[trace]
        if not (DATA / source.path).is_file():
            pytest.skip(f"no trace at {DATA / source.path}; set VULCAN_DATA")
        position = [i.name for i in library.instances].index(name)
        for member in library.members:
            metrics = member_metrics(member, source, size)
            for objective in library.objectives:
                known = library.matrix[objective].members[member.name][position]
                assert scored(source, size, metrics, METRICS[objective]) == pytest.approx(known, abs=1e-9), member.name


@pytest.mark.parametrize("name", sorted(p.name for p in RECORDED.iterdir() if p.is_dir()))
def test_a_recorded_search_has_enough_replies_and_its_members_are_its_candidates(
    name: str, library: Library, tmp_path: Path
) -> None:
    place = tmp_path / name
    shutil.copytree(RECORDED / name, place)
    with closing(open_store(place)) as store:
        record = RunRecord.of(store.events())
        replies = list(store.calls())
    assert record.config["model"] == ["ask"]
    assert sum(call.turn == 0 and bool(call.reply) for call in replies) >= MIN_REPLIES
    sources = {number: judged.source for number, judged in record.candidates.items()}
    members = [m for m in library.members if m.provenance.run == name]
    for member in members:
        assert sources[member.provenance.candidate] == member.source


def test_traces_that_share_requests_are_on_one_side() -> None:
    sides = split()
    for group in {source.group for source in counted() if source.group}:
        assert len({sides[source.name] for source in counted() if source.group == group}) == 1


def test_the_division_is_fixed_and_generated_traces_are_never_held_out() -> None:
    sides = split()
    assert sides == split()
    assert all(sides[s.name] == "train" for s in counted() if s.generated)
    assert not set(NEARLY_ALL_COLD) & set(sides)
    assert Counter(sides.values()) == {"train": 19, "held-out": 10}
    assert {name for name, side in sides.items() if side == "held-out"} == {
        "arc_P3", "cp_w106", "tcbs_1326", "tcbs_3300", "scarab_recs", "mooncake_conv", "adaptsize", "lirs_2_pools",
        "lirs_loop", "lirs_zigzag",
    }  # fmt: skip
