"""No engine takes longer, beside a fixed kernel in the same process, than is recorded for it; and that is noticed."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from benchmarks.engine_ratios import (
    MAX_LOST,
    MAX_LOST_ELSEWHERE,
    Engines,
    Watch,
    engines,
    lost,
    on_what,
    recorded,
    reference,
)
from benchmarks.harness import machine

SLOWER = 0.35
"""Twice what may be lost, for both sides of the comparison are measured."""


@pytest.fixture(scope="module")
def work() -> tuple[Engines, Callable[[], object]]:
    on = on_what()
    return engines(on), reference(on)


@pytest.fixture(scope="module")
def watch(work: tuple[Engines, Callable[[], object]]) -> Watch:
    return Watch(*work)


def test_no_engine_has_lost_against_what_is_recorded(watch: Watch) -> None:
    found = lost(watch, *recorded(machine()["cpu"]))
    assert not found, "\n".join(one.line() for one in found)


def test_an_engine_that_is_slowed_is_found_out(work: tuple[Engines, Callable[[], object]], watch: Watch) -> None:
    """The kernel of one is followed by what takes a third of its time: it alone is named, after every round."""
    name = "heap, no statistics"
    ran, fixed = work
    ratios = watch.turn(40)
    run = ran[name]

    def slowed() -> None:
        began = time.thread_time()
        run()
        until = time.thread_time() + SLOWER * (time.thread_time() - began)
        while time.thread_time() < until:
            pass

    slow = Watch({name: slowed, "sample, no statistics": ran["sample, no statistics"]}, fixed)
    found = lost(slow, ratios, MAX_LOST, rounds=3)
    assert [one.engine for one in found] == [name]
    assert 1.15 < found[0].measured / found[0].recorded < 1.9
    assert "heap, no statistics" in found[0].line()


def test_a_processor_that_nothing_is_recorded_of_is_given_more_room() -> None:
    ratios, allowed = recorded("a processor of the future")
    assert allowed == MAX_LOST_ELSEWHERE > MAX_LOST
    assert set(ratios) == set(recorded(machine()["cpu"])[0])
