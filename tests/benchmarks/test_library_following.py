"""What `benchmarks.library_following` leaves out, and makes libraries of."""

from __future__ import annotations

import tomllib

import pytest

from benchmarks.cache_instances import TASK
from benchmarks.instance_traces import counted
from benchmarks.library_following import ENDING, LeftOut, Plan, Seen, candidates_of
from vulcan.portfolio.library_file import read_library
from vulcan.portfolio.model import Library
from vulcan.portfolio.selector import shipped_library


@pytest.fixture(scope="module")
def library() -> Library:
    return read_library(shipped_library(TASK))


@pytest.fixture(scope="module")
def plan() -> Plan:
    given = tomllib.loads((shipped_library(TASK) / "plan.toml").read_text(encoding="utf-8"))
    return Plan(given["margin"], given["members"], tuple(given.get("keep", ())))


def test_nothing_left_out_makes_the_library_that_there_is(library: Library, plan: Plan) -> None:
    left_out = LeftOut(library, {source.name: source.unit for source in counted()})
    assert left_out.members("none of them", plan) == [m.name for m in library.members]


def test_a_family_is_left_out_as_a_whole(library: Library) -> None:
    family_of = {source.name: source.family for source in counted()}
    left_out = LeftOut(library, family_of)
    names = [i.workload.removesuffix(ENDING) for i in library.instances]
    for family in {family_of[name] for name in names}:
        left = [names[n] for n in left_out.without(family)]
        assert 0 < len(left) < len(names)
        assert family not in {family_of[name] for name in left}


def test_candidates_are_those_of_the_plan_under_the_names_of_the_matrix(library: Library) -> None:
    candidates = {m.name: m for m in candidates_of(library)}
    for member in library.members:
        assert candidates[member.name].source == member.source
        assert dict(candidates[member.name].settings) == dict(member.settings)


@pytest.mark.parametrize("ratio", [0.2, 0.5, 0.9])
def test_a_score_is_that_of_one_ratio(ratio: float) -> None:
    (source, *_) = counted()
    seen = Seen(source, "1%", "object", 0, {"fifo": 0.5, "lru": 0.4}, {})
    assert seen.ratio(seen.score(ratio)) == pytest.approx(ratio)
    assert seen.best == 0.4
