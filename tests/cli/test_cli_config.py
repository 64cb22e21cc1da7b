"""A search as a file: what a run used comes back as one, and the same search is made from it."""

from __future__ import annotations

import tomllib
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from console import MOOD_TASK, Console, one_line
from typer.main import get_command

from vulcan.cli.main import app
from vulcan.registry import find_task
from vulcan.searches.config import SearchConfig, as_toml, make_config, read_config, sort_options
from vulcan.searches.options import EXECUTION_OPTIONS, OPTIONS
from vulcan.store.events import RunStarted
from vulcan.store.runs import open_store

HEADER = f'task = "{MOOD_TASK}"\n'
FEW = 'executor = "local"\nworkers = 1\ntune = 0\nsimplify = 0\n'

EVERY_OPTION: dict[str, Any] = {
    "objective": "few", "model": ["offline/evolve", "openai/gpt-4o-mini"], "api_base": "http://localhost:1/v1",
    "temperature": 0.4, "max_tokens": 500, "model_timeout": 90.0, "price_in": 0.5, "price_out": 1.5,
    "strategy": "policysmith", "rounds": 3, "samples": 4, "parents": 5,
    "islands": 6, "migrate_every": 7, "advice_every": 8, "diff": "never", "in_flight": 9,
    "repairs": 1, "feedback": "scores",
    "budget_candidates": 11, "budget_dollars": 0.25, "budget_tokens": 12_000, "budget_minutes": 1.5, "racing": False,
    "tune": 13, "simplify": 14, "seed": 15, "split": "none", "finalists": 16, "limit": 17.5,
    "start_from": ["mine.py", "latest"], "train_on": "asked",
    "target": "c", "turns": 18, "drafts": 3,
}  # fmt: skip
EVERY_SETTING: dict[str, Any] = {
    "weight": 2.5, "instance": ["light", "a\\b\"c", "ü\u2028\x7f"], "style": "fancy", "hurry": True,
    "crowd": 1, "cheap": True,
}  # fmt: skip


def started(vulcan: Console, run: str) -> dict[str, Any]:
    with closing(open_store(vulcan.directory / run)) as store:
        (config,) = [e.config for e in store.events() if isinstance(e, RunStarted)]
    return config


def read_back(text: str, place: Path) -> SearchConfig:
    place.write_text(text, encoding="utf-8")
    plain = read_config(place)
    task = plain.pop("task")
    return make_config(task, *sort_options(find_task(task), plain, str(place)))


def test_every_option_and_setting_survives_the_way_through_a_file(tmp_path: Path) -> None:
    assert set(EVERY_OPTION) == set(OPTIONS)
    assert set(EVERY_SETTING) == {setting.name for setting in find_task(MOOD_TASK).settings}
    config = make_config(MOOD_TASK, EVERY_OPTION, EVERY_SETTING)
    default = make_config(MOOD_TASK, {}, {})
    for name in OPTIONS:
        assert getattr(config, name) != getattr(default, name), name
    text = as_toml(config)
    assert read_back(text, tmp_path / "all.toml") == config
    assert read_back(as_toml(default), tmp_path / "default.toml") == default
    assert set(tomllib.loads(text)) == {"task", *EVERY_OPTION, *EVERY_SETTING}
    assert text == as_toml(read_back(text, tmp_path / "all.toml"))


def test_every_option_is_on_the_command_line_with_its_default() -> None:
    listed = {parameter.name: parameter for parameter in get_command(app).commands["search"].params}
    for option in (*OPTIONS.values(), *EXECUTION_OPTIONS.values()):
        parameter = listed[option.name]
        assert parameter.opts == [option.switch]
        assert parameter.help == option.help
        assert (tuple(parameter.default) if option.repeatable else parameter.default) == option.default


def test_a_run_is_printed_as_the_file_that_repeats_it(vulcan: Console) -> None:
    first = vulcan.search("--seed", "7", "--weight", "3", "--instance", "light", "--instance", "heavy")["run"]
    text = vulcan.good("show", first, "--config").stdout
    (vulcan.directory / "search.toml").write_text(text)
    second = vulcan.document("search", "--config", "search.toml", "--executor", "local", "--workers", "1")["run"]
    assert started(vulcan, second) == started(vulcan, first)
    assert vulcan.good("show", second, "--config").stdout == text
    assert vulcan.document("show", first, "--config") == started(vulcan, first)
    with (
        closing(open_store(vulcan.directory / first)) as one,
        closing(open_store(vulcan.directory / second)) as other,
    ):
        assert list(one.events()) == list(other.events())
        assert [replace(c, seconds=0.0) for c in one.calls()] == [replace(c, seconds=0.0) for c in other.calls()]
    assert "leave out the candidate" in one_line(vulcan("show", first, "1", "--config"))


def test_options_given_win_over_the_file_and_the_file_over_the_defaults(vulcan: Console) -> None:
    (vulcan.directory / "search.toml").write_text(HEADER + FEW + "rounds = 2\nsamples = 2\nseed = 5\nweight = 3\n")
    run = vulcan.document("search", "--config", "search.toml", "--executor", "local", "--seed", "6", "--samples", "1")[
        "run"
    ]
    config = started(vulcan, run)
    assert (config["rounds"], config["samples"], config["seed"], config["finalists"]) == (2, 1, 6, 64)
    assert config["settings"]["weight"] == 3.0
    other = vulcan.document(
        "search", "--config", "search.toml", "--executor", "local", "--weight", "4", "--samples", "1"
    )["run"]
    assert started(vulcan, other)["settings"]["weight"] == 4.0


MISTAKES = {
    "unknown key": ("rouds = 2\n", "search.toml: no option 'rouds'; did you mean 'rounds'?"),
    "unknown key with an underscore": ("bugdet_dollars = 2\n", "'bugdet_dollars'; did you mean 'budget_dollars'?"),
    "misspelt setting": ("wieght = 2\n", "no option 'wieght'; did you mean 'weight'?"),
    "misspelt machine": ("exekutor = 'local'\n", "no option 'exekutor'; did you mean 'executor'?"),
    "text for a number": ("rounds = 'two'\n", "search.toml: rounds is 'two', which is no whole number"),
    "number for a truth": ("racing = 1\n", "racing is 1, which is no true or false"),
    "truth for a number": ("seed = true\n", "seed is True, which is no whole number"),
    "fraction for a count": ("rounds = 2.5\n", "rounds is 2.5, which is no whole number"),
    "models that are none": ("model = [1]\n", "model is not a name or a list of names"),
    "setting that is no choice": ("style = 'fanci'\n", "'fanci'; did you mean 'fancy'? (one of: plain, fancy)"),
    "text for a setting's number": ("weight = 'much'\n", "weight is 'much', which is no number"),
    "value out of range": ("rounds = 0\n", "rounds is 0: at least 1 is needed"),
    "text for workers": ("workers = 'many'\n", "search.toml: workers is 'many', which is no whole number"),
    "a table": ("[settings]\nweight = 2\n", "[settings] is a table; write every option at the top level"),
    "a name in two spellings": ("in-flight = 1\nin_flight = 2\n", "in_flight is given twice"),
    "no TOML": ("rounds =\n", "search.toml is not TOML: "),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_file_is_told_in_one_line(vulcan: Console, mistake: str) -> None:
    text, says = MISTAKES[mistake]
    (vulcan.directory / "search.toml").write_text(HEADER + text)
    assert says in one_line(vulcan("search", "--config", "search.toml", "--dry-run"))
    assert [path.name for path in vulcan.directory.iterdir()] == ["search.toml"]


def test_a_file_that_is_not_there_or_names_no_task(vulcan: Console) -> None:
    assert "cannot read the configuration none.toml" in one_line(
        vulcan("search", "--config", "none.toml", "--executor", "local")
    )
    (vulcan.directory / "search.toml").write_text(FEW)
    assert "name a task: --task NAME" in one_line(vulcan("search", "--config", "search.toml", "--executor", "local"))
