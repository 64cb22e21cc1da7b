"""The choice of a task's mechanism by pilot searches."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import vulcan
from vulcan.api.launch import SearchRequest
from vulcan.api.run import Run
from vulcan.cli.summary import print_summary
from vulcan.errors import UserError
from vulcan.registry import find_task
from vulcan.searches import mechanism
from vulcan.searches.config import SearchConfig, make_config
from vulcan.searches.costs import Costs
from vulcan.searches.mechanism import PILOT, best_mechanism, pilot_length, with_mechanism
from vulcan.store import RunRecord
from vulcan.store.events import RunStopped
from vulcan.store.runs import open_store

SETTINGS = {"trace": "zipf:objects=300,requests=4000,alpha=0.8,seed=3", "cache_size": "10%"}
TASK = find_task("cache_eviction")
ENOUGH = 20
"""Proposals of the shortest search that chooses by itself: each pilot has four."""


def config(**options: object) -> SearchConfig:
    return make_config("cache_eviction", options, {name: [value] for name, value in SETTINGS.items()})


def search(directory: Path, **options: Any) -> Run:
    given = {"tune": 0, "simplify": 0, "workers": 1, "executor": "local", "progress": "none", "runs_dir": directory}
    return vulcan.search("cache_eviction", **SETTINGS, **given, **options)


def request(task: str = "cache_eviction", settings: dict[str, Any] | None = None, **options: Any) -> SearchRequest:
    return SearchRequest.of(task, None, {}, lambda _: (options, settings or {}))


def summary_of(run: Run, capsys: pytest.CaptureFixture[str]) -> str:
    with closing(open_store(run.path)) as store:
        print_summary(run.path, RunRecord.of(store.events()), Costs.of(store.calls()))
    return capsys.readouterr().out


def test_a_pilot_is_at_most_a_fifth_of_the_search() -> None:
    lengths = [pilot_length(config(budget_candidates=n), 2) for n in (10, 20, 100, 200, 5000)]
    assert lengths == [2, 4, 20, 40, PILOT]
    assert pilot_length(config(rounds=3, samples=10), 2) == 6


@pytest.mark.parametrize(
    ("sample", "heap", "best"),
    [(0.1, 0.2, "heap"), (0.2, 0.1, "sample"), (0.104, 0.1, "heap"), (0.106, 0.1, "sample"), (-1.0, -1.04, "heap")],
)
def test_a_mechanism_of_which_more_is_to_come_may_be_a_little_behind(sample: float, heap: float, best: str) -> None:
    assert best_mechanism(TASK, {"sample": sample, "heap": heap}) == best


def test_a_search_chooses_where_nothing_says_what_to_take() -> None:
    assert request().search.choose_mechanism
    assert request(budget_candidates=ENOUGH).search.choose_mechanism
    others = [
        request(settings={"mechanism": "sample"}),
        request(budget_candidates=ENOUGH - 1),
        request(choose_mechanism=False),
        request(strategy="policysmith"),
        request(strategy="best-of-n"),
        request(model=["ask"]),
        request("cache_queues"),
        request("load_balancing"),
    ]
    assert not [one.search.choose_mechanism for one in others if one.search.choose_mechanism]


def test_a_search_goes_on_from_its_pilot_and_its_repetition_does_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left = ENOUGH - ENOUGH // 5
    found = search(tmp_path / "chosen", budget_candidates=ENOUGH)
    assert "; 4 proposals made under the rest" in summary_of(found, capsys)
    tried = found.summary["mechanisms"]
    assert set(tried) == {"sample", "heap"}
    assert found.config["settings"]["mechanism"] == best_mechanism(TASK, tried)
    assert found.summary["proposals"] == left
    assert (found.path / "run.db.replies.jsonl").is_file()

    named = search(tmp_path / "named", mechanism=found.config["settings"]["mechanism"], budget_candidates=left)
    columns = ["proposal", "operator", "origin", "parents", "verdict", "score"]
    assert found.candidates[columns].equals(named.candidates[columns])
    assert found.best.source == named.best.source

    again = vulcan.search(replay=found.path, workers=1, executor="local", progress="none", runs_dir=tmp_path)
    assert again.config == found.config
    assert again.summary["mechanisms"] == tried
    assert again.candidates[columns].equals(found.candidates[columns])


def test_an_interruption_of_a_pilot_leaves_a_run_that_comes_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = search(tmp_path / "whole", budget_candidates=ENOUGH)
    genuine, pilots = mechanism._piloted, []

    def interrupted(*arguments: Any) -> Any:
        pilots.append(arguments)
        if len(pilots) == 2:
            raise KeyboardInterrupt
        return genuine(*arguments)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt) as ended:
        patched.setattr(mechanism, "_piloted", interrupted)
        search(tmp_path / "cut", budget_candidates=ENOUGH)
    assert "nothing is lost" in " ".join(ended.value.__notes__)
    (path,) = (tmp_path / "cut").iterdir()
    cut = vulcan.load(path)
    assert (cut.summary["state"], cut.summary["proposals"]) == ("interrupted", 0)
    cut.resume(workers=1, executor="local", progress="none")
    events = []
    for run in (whole.path, path):
        with closing(open_store(run)) as store:
            events.append([event for event in store.events() if not isinstance(event, RunStopped)])
    assert events[0] == events[1]


def test_the_generator_searches_in_place_of_a_language_model() -> None:
    opening = with_mechanism(config(choose_mechanism=True, model=["ask"], budget_candidates=3), TASK, 1)
    assert opening.pilot is None
    chosen = opening.config
    assert (chosen.piloted, chosen.model) == (0, ("ask",))
    assert chosen.settings["mechanism"] == best_mechanism(TASK, chosen.mechanisms)
    assert with_mechanism(chosen, TASK, 1).config is chosen
    assert SearchConfig.from_json(chosen.to_json()) == chosen


def test_other_searches_keep_the_mechanism_of_their_setting() -> None:
    plain = config()
    assert with_mechanism(plain, TASK, 1).config is plain


@pytest.mark.parametrize("name", ["cache_queues", "spot_single", "cache_program"])
def test_a_task_without_a_choice_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="has no mechanisms to choose from"):
        with_mechanism(make_config(name, {"choose_mechanism": True}, {}), find_task(name), 1)


def test_searches_with_several_seeds_choose_once(tmp_path: Path) -> None:
    found = vulcan.search_seeds(
        "cache_eviction", seeds=2, **SETTINGS, budget_candidates=ENOUGH, tune=0, simplify=0, workers=1,
        executor="local", progress="none", runs_dir=tmp_path,
    )  # fmt: skip
    first, second = found.runs
    assert first.config["settings"] == second.config["settings"]
    assert first.summary["mechanisms"] == second.summary["mechanisms"]
    assert first.summary["proposals"] == second.summary["proposals"] == ENOUGH - ENOUGH // 5
    assert not first.candidates["score"].equals(second.candidates["score"])


def test_a_summary_says_what_was_not_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary = summary_of(search(tmp_path, budget_candidates=2), capsys)
    assert "mechanism: sample; not tried: heap (`vulcan search --choose-mechanism` tries each)" in summary
