"""No engine takes longer, beside a fixed kernel in the same process, than is recorded for it; and that is noticed."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from benchmarks.engine_ratios import (
    Engines,
    Recorded,
    Watch,
    engines,
    lost,
    lost_everywhere,
    on_what,
    reference,
)

SLOWER = 1.0
"""Far more than may be lost: a busy machine must not hide it."""


@pytest.fixture(scope="module")
def work() -> tuple[Engines, Callable[[], object]]:
    on = on_what()
    return engines(on), reference(on)


@pytest.mark.slow  # continuous integration runs the benchmark when no test disturbs it
def test_no_engine_has_lost_against_what_is_recorded() -> None:
    found = lost_everywhere()
    assert not found, "\n".join(one.line() for one in found)


@pytest.mark.slow
def test_an_engine_that_is_slowed_is_found_out(work: tuple[Engines, Callable[[], object]]) -> None:
    """The kernel of one is followed by what takes as long again: it alone is named, after every round."""
    name, other = "heap, no statistics", "sample, no statistics"
    ran, fixed = work
    run = ran[name]
    ratios = Watch({name: run, other: ran[other]}, fixed).turn(40)

    def slowed() -> None:
        began = time.thread_time()
        run()
        until = time.thread_time() + SLOWER * (time.thread_time() - began)
        while time.thread_time() < until:
            pass

    known = {engine: Recorded(ratio, 0.5) for engine, ratio in ratios.items()}
    found = lost(Watch({name: slowed, other: ran[other]}, fixed), known, rounds=2)
    assert [one.engine for one in found] == [name]
    assert 1.5 < found[0].measured / found[0].recorded < 3
    assert "heap, no statistics" in found[0].line()
