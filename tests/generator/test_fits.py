"""Programs fitted to lessons find what the lessons were made by, and only what also holds later."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from offline_tasks import RANK_TASK

from vulcan.anvil import check
from vulcan.generator import OfflineEvolve
from vulcan.generator.fits import fitted_programs
from vulcan.lessons import Lesson
from vulcan.models.base import Request

PROGRAM = """
def worth(price, visits):
    return 1


def urgency(clock, parcel, store, sent):
    return worth(parcel.price, parcel.visits) / parcel.weight
"""
ROWS = 6000


def lesson(worth: Any, name: str = "parcels", seed: int = 1) -> Lesson:
    """Situations with random gains, of that expectation for each unit of cost."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.floor(np.exp(rng.uniform(0, 6, ROWS))) - 1, rng.integers(0, 40, ROWS)]).astype(float)
    costs = rng.uniform(1.0, 9.0, ROWS)
    return Lesson(name, PROGRAM, x, rng.poisson(costs * worth(x[:, 0], x[:, 1])).astype(float), costs)


def parameters(sources: tuple[str, ...]) -> list[dict[str, float]]:
    return [check(source, RANK_TASK).parameters for source in sources]


def test_a_product_of_powers_is_found_with_its_exponents() -> None:
    best = parameters(fitted_programs(RANK_TASK, [lesson(lambda p, v: 0.3 * (1 + p) ** 0.7 / (1 + v) ** 0.4)]))[0]
    assert best["PRICE_EXPONENT"] == pytest.approx(0.7, abs=0.05)
    assert best["VISITS_EXPONENT"] == pytest.approx(-0.4, abs=0.05)


def test_a_step_is_found_with_its_threshold_and_both_levels() -> None:
    found = parameters(fitted_programs(RANK_TASK, [lesson(lambda p, v: np.where(v <= 12, 0.2, 2.0))]))
    tree = next(values for values in found if "VISITS_EXPONENT" not in values)
    assert tree["VISITS_LIMIT"] == pytest.approx(12, abs=2)
    assert {round(value, 1) for name, value in tree.items() if name.startswith("LEVEL")} >= {0.2, 2.0}


def test_what_turns_round_with_time_and_what_is_chance_make_no_program() -> None:
    late = np.arange(ROWS) > 0.6 * ROWS
    turning = lesson(lambda p, v: np.where(late, 1 / (1 + p), 1 + p) + 0.1)
    assert fitted_programs(RANK_TASK, [turning, replace(turning, name="none", gains=0 * turning.gains)]) == ()


def test_what_a_fit_explains_is_a_share_of_the_deviance_that_a_perfect_one_would() -> None:
    for level in (0.3, 300.0):
        told = fitted_programs(RANK_TASK, [lesson(lambda p, v, level=level: level * (1 + p) ** 0.7)])
        shares = [int(source.split("%")[0].split()[-1]) for source in told]
        assert all(50 < share <= 100 for share in shares)


def test_every_lesson_has_its_turn_before_the_second_program_of_any() -> None:
    lessons = [lesson(lambda p, v: 0.3 * (1 + p), name, seed) for seed, name in enumerate("ab")]
    programs = fitted_programs(RANK_TASK, lessons)
    assert programs == fitted_programs(RANK_TASK, lessons)
    assert [source.splitlines()[0][-5:-4] for source in programs[:2]] == ["a", "b"]
    assert len(fitted_programs(RANK_TASK, [replace(one, name="one") for one in lessons])) < len(programs)


def test_every_second_of_the_first_proposals_is_a_fitted_program() -> None:
    programs = fitted_programs(RANK_TASK, [lesson(lambda p, v: 0.3 * (1 + p) ** 0.7)])
    generator, without = OfflineEvolve(RANK_TASK, programs, first=4), OfflineEvolve(RANK_TASK)
    for number in range(1, 4 + 2 * len(programs) + 4):
        request = Request(number, 0, (), (), 1)
        index, odd = divmod(number - 4, 2)
        text = generator.propose(request).text
        if not odd and 0 <= index < len(programs):
            assert f"```python\n{programs[index]}```\n" in text
        else:
            assert text == without.propose(request).text


@pytest.mark.parametrize(
    "wrong", [{"gains": np.ones(3)}, {"costs": np.zeros(ROWS)}, {"situations": np.full((ROWS, 2), np.nan)}]
)
def test_lessons_with_other_numbers_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="lesson 'parcels'"):
        replace(lesson(lambda p, v: 1.0), **wrong)


def test_a_lesson_whose_program_has_no_such_helper_is_refused() -> None:
    wrong = replace(lesson(lambda p, v: 0.3 * (1 + p)), program=PROGRAM.replace("worth", "value"))
    with pytest.raises(ValueError, match="'worth'"):
        fitted_programs(RANK_TASK, [wrong])
