"""What lessons say of a page is what a look at each interval says, and nothing comes from behind the training data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from tiering_cases import Case, cases

from vulcan.anvil import check
from vulcan.evaluator import load_evaluator
from vulcan.generator.fits import fitted_programs
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan_tiering.lessons import DECAYS, REACHES, lessons_of

TASK = find_task("memory_tiering")


@given(cases())
def test_a_page_is_worth_what_it_is_accessed_in_the_next_intervals_of_the_training_data(case: Case) -> None:
    counts, samples = case.counts, case.samples
    taken = (samples.reads + samples.writes).astype(int).tolist()
    accesses = (counts.loads.astype(int) + counts.stores).tolist()
    of_pages = [(now, page) for now in range(case.first, case.last - 1) for page in range(counts.pages)
                if counts.arrivals[page] <= now]  # fmt: skip
    found = list(lessons_of(counts, samples, case.first, case.last))
    assert len(found) == (len(REACHES) if of_pages else 0)
    for reach, lesson in zip(REACHES, found, strict=False):
        for (now, page), known, gain, cost in zip(of_pages, lesson.situations, lesson.gains, lesson.costs, strict=True):
            ahead = range(now + 1, min(now + 1 + reach, case.last))
            seen = [then for then in range(now + 1) if taken[then][page]]
            forgetting = [sum(taken[then][page] * decay ** (now - then) for then in range(now + 1)) for decay in DECAYS]
            idle = now - max([*seen, int(counts.arrivals[page])])
            assert known == pytest.approx([taken[now][page], *forgetting, idle, now - counts.arrivals[page]])
            assert gain == pytest.approx(sum(accesses[then][page] for then in ahead) / samples.period)
            assert cost == len(ahead)


def test_what_follows_the_training_data_changes_nothing_and_fits_are_policies() -> None:
    evaluator: Any = load_evaluator(TASK)
    given: Any = {
        "trace": ["gups:pages=1024,hot_pages=64,loads=30000,seed=3"],
        "fast_size": ["20%"],
        "slow_tier": ["cxl"],
        "sample_period": [32],
    }
    train, *_ = evaluator.instances(complete_settings(TASK, given), Split(by="time"))
    spec, (counts, samples) = evaluator.at(train)
    until = spec.measure_to
    assert until < counts.intervals
    learnt = evaluator.lessons(train, "seconds")
    ends = replace(counts, loads=counts.loads[:until], stores=counts.stores[:until])
    ended = lessons_of(ends, replace(samples, reads=samples.reads[:until], writes=samples.writes[:until]), 0, until)
    for one, other in zip(learnt, ended, strict=True):
        assert np.array_equal(one.situations, other.situations)
        assert np.array_equal(one.gains, other.gains)
    programs = fitted_programs(TASK, learnt)
    times = [evaluator.run(check(source, TASK), spec, (counts, samples)).seconds for source in programs]
    assert min(times) < evaluator.run("first-touch", spec, (counts, samples)).seconds
