"""The library that comes with the task cache_eviction, and the division of traces that it was made by."""

from __future__ import annotations

import hashlib
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from locations import ROOT

from benchmarks.cache_instances import METRICS, SOURCE_OF, TASK, improvement, instance_of, member_metrics
from benchmarks.instance_traces import DATA, NEARLY_ALL_COLD, Source, counted, split
from vulcan.evaluator import load_evaluator
from vulcan.portfolio.library_file import read_library
from vulcan.portfolio.model import Library, add_most
from vulcan_traces.storage.export import write_requests

ENDING = ".oracleGeneral"


@pytest.fixture(scope="module")
def library() -> Library:
    return read_library(TASK.directory / "library")


def test_the_members_are_policies_of_the_plan_and_its_candidates_are_explained(library: Library) -> None:
    directory = TASK.directory / "library"
    plan = tomllib.loads((directory / "plan.toml").read_text(encoding="utf-8"))
    paths = [ROOT / text.partition("@")[0] for text in plan["policy"]]
    sources = {path.read_text(encoding="utf-8") for path in paths} | set(TASK.seed_policies().values())
    assert {member.source for member in library.members} <= sources
    explained = (directory / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in sorted((directory / "policies").glob("*.py")) if path.name not in explained] == []
    assert list(library.objectives) == plan["objective"]
    assert len(library.members) == plan["members"]
    assert [member.name for member in library.members][: len(plan["keep"])] == plan["keep"]


def test_no_held_out_trace_was_seen_in_training(library: Library) -> None:
    sides = split()
    seen = {workload.name.removesuffix(ENDING) for workload in library.workloads}
    assert seen == {name for name, side in sides.items() if side == "train"}


def test_the_members_add_the_most(library: Library) -> None:
    scores = [{**library.matrix[o].members, **library.matrix[o].dropped} for o in library.objectives]
    names = [member.name for member in library.members]
    assert add_most(scores, len(names), names[:5]) == names


@pytest.mark.parametrize("name", ["lirs_cpp", "c2k_web07", "cp_sample", "tcbs_3906"])
def test_the_training_traces_are_those_that_are_written_for_a_build(
    name: str, library: Library, tmp_path: Path
) -> None:
    source = source_of(name)
    write_requests(source.load(), tmp_path / (name + ENDING), replace=True)
    (sha256,) = (workload.sha256 for workload in library.workloads if workload.name == name + ENDING)
    assert hashlib.sha256((tmp_path / (name + ENDING)).read_bytes()).hexdigest() == sha256


@pytest.mark.parametrize("name", ["lirs_multi1@1%", "c2k_web07@10%", "tcbs_3906@1%"])
def test_the_scores_in_the_library_are_those_of_its_members(name: str, library: Library) -> None:
    trace, _, size = name.partition("@")
    source, evaluator = source_of(trace), load_evaluator(TASK)
    fifo = evaluator.evaluate_baseline("fifo", instance_of(source, size, evaluator, TASK.name, {}))
    position = [i.name for i in library.instances].index(name)
    for member in library.members:
        metrics = member_metrics(library, member, source, size)
        for objective in library.objectives:
            known = library.matrix[objective].members[member.name][position]
            score = improvement(fifo[METRICS[objective]], metrics[METRICS[objective]])
            assert score == pytest.approx(known, abs=1e-9), member.name


def source_of(name: str) -> Source:
    source = SOURCE_OF[name]
    if not (DATA / source.path).is_file():
        pytest.skip(f"no trace at {DATA / source.path}; set VULCAN_DATA")
    return source


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
