"""What a goal says of a run, and where the tables of a page go."""

from __future__ import annotations

import pytest

from benchmarks.harness import BenchmarkResult, BenchmarkTable, Goal, interleaved, machine, machine_line, ratio
from benchmarks.page import HEADLINES, PAGE, with_tables


def test_a_goal_that_is_met_says_so_and_fails_nothing() -> None:
    for goal in (Goal("speed", 3.0, 2.8), Goal("time", 2.0, 2.8, at_least=False)):
        assert goal.met and not goal.fails(quick=True) and not goal.fails(quick=False)
        assert goal.line().startswith("met ")


def test_a_goal_that_is_missed_fails_either_run() -> None:
    for goal in (Goal("speed", 2.0, 2.8), Goal("time", 3.0, 2.8, at_least=False)):
        assert goal.fails(quick=True) and goal.fails(quick=False)
        assert goal.line(quick=True).startswith("MISSED")


@pytest.mark.parametrize(("measured", "fails"), [(8.1, False), (7.9, True)])
def test_a_quick_run_may_be_off_by_the_margin_and_a_long_one_not(measured: float, fails: bool) -> None:
    goal = Goal("speed", measured, 10.0, margin=0.2)
    assert goal.fails(quick=True) is fails
    assert goal.fails(quick=False)
    assert goal.line(quick=True).startswith("MISSED" if fails else "missed (within the 20%")


def test_what_needs_the_long_run_is_shown_by_a_quick_one_and_not_asserted() -> None:
    goal = Goal("an hour", 1.0, 2.0, in_quick=False)
    assert not goal.fails(quick=True) and goal.fails(quick=False)
    assert goal.line(quick=True).startswith("missed (not asserted by a quick run)")


def test_a_documented_goal_is_never_hidden_and_never_fails() -> None:
    goal = Goal("an hour", 1.0, 2.0, documented="the compiler takes half of it")
    assert not goal.fails(quick=False)
    assert goal.line().startswith("missed (documented)") and "the compiler takes half" in goal.line()
    assert goal.to_json(quick=False)["met"] is False


def test_a_table_is_the_same_in_text_markdown_and_json() -> None:
    table = BenchmarkTable("Speed", ("engine", "rate"), (("heap", "30.5"), ("a|b", "1.3")), "in millions")
    assert list(table.text()) == ["Speed", "  engine  rate", "  heap    30.5", "  a|b      1.3", "  in millions"]
    assert "| a\\|b | 1.3 |" in list(table.markdown())
    assert BenchmarkTable.from_json(table.to_json()) == table


def test_a_row_of_the_wrong_length_is_no_table() -> None:
    with pytest.raises(ValueError, match="'Speed': a row of 1 cells for 2 columns"):
        BenchmarkTable("Speed", ("engine", "rate"), (("heap",),))


def test_contestants_run_in_turn_and_the_first_turn_does_not_count() -> None:
    order: list[str] = []
    ticks = iter(range(100))
    contestants = {name: lambda name=name: order.append(name) for name in "ab"}
    seconds = interleaved(contestants, 2, clock=lambda: float(next(ticks)))
    assert order == ["a", "b"] * 3
    assert seconds == {"a": [1.0, 1.0], "b": [1.0, 1.0]}


def test_a_ratio_is_the_median_of_the_ratios_within_turns() -> None:
    assert ratio([2.0, 40.0, 6.0], [1.0, 10.0, 2.0]) == 3.0


def test_a_machine_is_described() -> None:
    found = machine()
    assert found["cores"] >= 1 and found["cpu"] and found["numba"]
    assert found["cpu"] in machine_line(found)


def test_figures_go_into_their_rows_and_nowhere_else() -> None:
    name = "GiB for 100 million requests"
    suite = BenchmarkResult((), (Goal(name, 3.5, 4.0, at_least=False),)).to_json(quick=False)
    table = BenchmarkTable("Million requests per second", ("engine", "Zipf, 10%"), (("heap, LRU", "99.9"),))
    engine = BenchmarkResult((table,), ()).to_json(quick=False)
    page = PAGE.read_text(encoding="utf-8")
    written = with_tables(page, {"suites": {"memory": suite, "cache_engine": engine, "scale": {"error": "broke"}}})
    assert "| Memory | GiB to simulate a trace of 100 million requests | 3.5 | at most 4 |  |" in written
    assert "| heap, LRU | 99.9 |\n<!-- end cache_engine -->" in written
    assert with_tables(page, {"suites": {}}) == page


def test_every_headline_has_a_row_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [label for suite, _, label in HEADLINES if f"| {suite} | {label} |" not in page] == []
