"""The choice of a task's mechanism by pilot searches."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import vulcan
from vulcan.cli.summary import print_summary
from vulcan.errors import UserError
from vulcan.registry import find_task
from vulcan.searches.config import SearchConfig, make_config
from vulcan.searches.costs import Costs
from vulcan.searches.mechanism import PILOT, with_mechanism
from vulcan.store import RunRecord
from vulcan.store.runs import open_store

TRACE = "zipf:objects=300,requests=4000,alpha=0.8,seed=3"
TASK = find_task("cache_eviction")


def config(**options: object) -> SearchConfig:
    return make_config("cache_eviction", options, {"trace": [TRACE], "cache_size": ["10%"]})


def test_the_mechanism_of_the_higher_training_score_is_chosen() -> None:
    found = with_mechanism(config(choose_mechanism=True), TASK, 1)
    assert set(found.mechanisms) == {"sample", "heap"}
    assert found.settings["mechanism"] == max(found.mechanisms, key=lambda name: found.mechanisms[name])
    assert with_mechanism(found, TASK, 1) is found
    assert SearchConfig.from_json(found.to_json()) == found


def test_the_score_of_a_mechanism_is_that_of_a_short_search(tmp_path: Path) -> None:
    found = with_mechanism(config(choose_mechanism=True), TASK, 1)
    run = vulcan.search(
        "cache_eviction", trace=TRACE, cache_size="10%", mechanism="heap", budget_candidates=PILOT, tune=0, simplify=0,
        workers=1, executor="local", progress="none", runs_dir=tmp_path,
    )  # fmt: skip
    assert run.candidates["score"].max() == found.mechanisms["heap"]


def test_other_searches_keep_the_mechanism_of_their_setting() -> None:
    plain = config()
    assert with_mechanism(plain, TASK, 1) is plain


@pytest.mark.parametrize("name", ["cache_queues", "spot_single", "cache_program"])
def test_a_task_without_a_choice_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="has no mechanisms to choose from"):
        with_mechanism(make_config(name, {"choose_mechanism": True}, {}), find_task(name), 1)


def test_a_run_says_what_was_chosen_and_its_repetition_does_the_same(tmp_path: Path) -> None:
    settings = {"trace": TRACE, "cache_size": "10%"}
    given = {"workers": 1, "executor": "local", "progress": "none", "runs_dir": tmp_path}
    run = vulcan.search(
        "cache_eviction", **settings, **given, choose_mechanism=True, budget_candidates=4, tune=0, simplify=0
    )
    tried = run.summary["mechanisms"]
    assert run.config["settings"]["mechanism"] == max(tried, key=lambda name: tried[name])
    again = vulcan.search(replay=run.path, **given)
    assert again.summary["mechanisms"] == tried
    assert again.config == run.config


def test_a_summary_says_what_was_not_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = {"budget_candidates": 2, "tune": 0, "simplify": 0, "workers": 1, "executor": "local", "progress": "none"}
    run = vulcan.search("cache_eviction", trace=TRACE, cache_size="10%", runs_dir=tmp_path, **given)
    with closing(open_store(run.path)) as store:
        print_summary(run.path, RunRecord.of(store.events()), Costs.of(store.calls()))
    assert (
        "mechanism: sample; not tried: heap (`vulcan search --choose-mechanism` tries each)" in capsys.readouterr().out
    )
