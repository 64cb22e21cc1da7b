"""The displays: how often lines are written, what fits a terminal, and that every JSON line stands alone."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from standings import Clock, a_search, judged

from vulcan.documents.run import OpenedData
from vulcan.errors import UserError
from vulcan.progress.display import open_display
from vulcan.progress.plain import KINDS, MAX_INTERVAL, MIN_INTERVAL, JsonLinesDisplay, PlainDisplay
from vulcan.progress.rich import RichDisplay, can_be_drawn_on, fitted
from vulcan.searches.options import PROGRESS
from vulcan.searches.session import RunDisplay
from vulcan.store.events import EVENTS

OPENED: OpenedData = {"run": "runs/x", "task": "mood", "instances": 3, "model": ["toy"], "replay_of": None}


def test_a_plain_line_has_everything_that_matters() -> None:
    lines: list[str] = []
    clock, study = Clock(), a_search(budget_dollars=3.0)
    with PlainDisplay(lines.append, clock) as display:
        display.opened(OPENED)
        display.begin(study)
        for verdict, rules in (("rejected", ("name",)), ("rejected", ("name", "while")), ("timeout", ())):
            display(judged(study, verdict, rules=rules))  # type: ignore[arg-type]
        study.costs.dollars = 0.5
        clock.now += 10
        display(judged(study, score=0.4))
    assert lines == [
        "run runs/x: task mood, 3 instances, model toy",
        "4/50 candidates | best 0.4000 (candidate 4) | best baseline 0.2500 (steady) | gap +0.1500 | 24 per minute | "
        "50 s left | $0.50 of $3.00 | 2 rejected (name 2, while 1) | 1 timeout",
    ]


def test_improvements_are_told_at_a_sensible_rate_and_the_last_is_never_lost() -> None:
    lines: list[str] = []
    clock, study = Clock(), a_search()
    with PlainDisplay(lines.append, clock) as display:
        display.begin(study)
        for number in range(1000):  # 1000 improvements in ten seconds
            clock.now += 0.01
            display(judged(study, score=number / 1000))
        told = len(lines)
        assert 3 <= told <= 10 / MIN_INTERVAL + 2
        for _ in range(100):  # nothing better in 100 seconds
            clock.now += 1
            display(judged(study, score=0.0))
        assert 100 / MAX_INTERVAL - 2 <= len(lines) - told <= 100 / MAX_INTERVAL + 2
        display(judged(study, score=2.0))
    assert "best 2.0000" in lines[-1]


def drawn_at(width: int, study: Any) -> list[str]:
    console = Console(width=width, file=io.StringIO(), force_terminal=True, color_system=None, legacy_windows=False)
    display = RichDisplay(console)
    display.begin(study)
    for verdict, rules in (("rejected", ("a-rule-of-a-long-name",)), ("memory", ()), ("scored", ())):
        display(judged(study, verdict, rules=rules))  # type: ignore[arg-type]
    with console.capture() as captured:
        console.print(display)
    return captured.get().splitlines()


@settings(max_examples=examples(60))
@given(st.integers(min_value=1, max_value=200))
def test_what_is_drawn_is_at_most_three_lines_and_never_wider_than_the_terminal(width: int) -> None:
    study = a_search(budget_dollars=3.0)
    lines = drawn_at(width, study)
    assert len(lines) <= 3
    assert all(cell_len(line) <= width for line in lines), (width, lines)


@settings(max_examples=examples(100))
@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z", "M"]), min_size=1), min_size=1), st.integers(0, 80))
def test_parts_that_fit_are_kept_in_order(parts: list[str], width: int) -> None:
    line = fitted(parts, width)
    assert cell_len(line) <= width
    if cell_len("   ".join(parts)) <= width:
        assert line == "   ".join(parts)


def test_every_json_line_has_the_same_keys_and_no_number_that_json_has_not() -> None:
    lines: list[str] = []
    study = a_search()
    with JsonLinesDisplay(lines.append) as display:
        display.opened(OPENED)
        display.preparing("steady")
        display.begin(study)
        display(judged(study, score=float("inf")))
        display.finished({"run": "runs/x"})
    documents = [json.loads(line, parse_constant=pytest.fail) for line in lines]
    assert [document["kind"] for document in documents] == ["Opened", "Preparing", "Begun", "CandidateJudged", "Ended"]
    assert all(set(document) == {"kind", "seconds", "data", "progress"} for document in documents)
    assert all(document["kind"] in (*EVENTS, *KINDS) for document in documents)
    assert documents[3]["data"]["score"] is None
    assert documents[0]["progress"] is None
    assert documents[3]["progress"]["best_baseline"] == {"policy": "steady", "score": 0.25}
    assert all("\n" not in line for line in lines)


@pytest.mark.parametrize(
    ("error", "data"),
    [
        (KeyboardInterrupt(), {"reason": "interrupted", "message": ""}),
        (UserError("no\nmodel"), {"reason": "error", "message": "no model"}),
    ],
)
def test_the_last_json_line_says_why_a_search_stopped(error: BaseException, data: dict[str, str]) -> None:
    lines: list[str] = []
    with pytest.raises(type(error)), JsonLinesDisplay(lines.append):
        raise error
    assert json.loads(lines[-1])["kind"] == "Failed"
    assert json.loads(lines[-1])["data"] == data


@pytest.mark.parametrize(
    ("term", "terminal", "drawn"), [("xterm", True, True), ("dumb", True, False), ("xterm", False, False)]
)
def test_lines_are_drawn_over_only_where_a_terminal_can(
    term: str, terminal: bool, drawn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    assert can_be_drawn_on(Console(file=io.StringIO(), force_terminal=terminal)) is drawn


@pytest.mark.parametrize("form", PROGRESS)
def test_every_form_gives_a_display(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    with open_display(form) as display:
        assert (type(display) is RunDisplay) == (form == "none")
    assert ("no terminal" in capsys.readouterr().err) == (form == "rich"), "nothing is left out silently"
