"""A strategy is a pure function of the number, what had settled, and the generator it is handed."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategy_parts import SEEDS, made_up, member, population, seeds

from vulcan.searches.config import SearchConfig
from vulcan.searches.options import StrategyName
from vulcan.searches.population import Population
from vulcan.searches.strategies import Draft, Strategy, make_strategy

CONFIG = SearchConfig(task="mood", settings={}, objective="gain", rounds=12, samples=25)
NUMBERS = st.integers(0, 299)
SEEDS_OF_RANDOM = st.integers(0, 2**32)


def strategy(name: str, offline: bool = False, **changes: object) -> Strategy:
    return make_strategy(replace(CONFIG, strategy=name, **changes), offline)  # type: ignore[arg-type]


def drafted(name: str, number: int, seed: int, offline: bool, instances: int = 1) -> Draft:
    made = strategy(name, offline)
    settled = population(random.Random(seed), made.barrier(number), instances=instances)
    return made.draft(number, settled, random.Random(number))


@pytest.mark.parametrize("name", get_args(StrategyName))
@given(number=NUMBERS, seed=SEEDS_OF_RANDOM, offline=st.booleans(), instances=st.integers(1, 3))
@settings(max_examples=40)
def test_the_same_inputs_give_the_same_draft(name: str, number: int, seed: int, offline: bool, instances: int) -> None:
    first = drafted(name, number, seed, offline, instances)
    assert drafted(name, number, seed, offline, instances) == first
    assert first.round == 1 + number // 25


@pytest.mark.parametrize("name", get_args(StrategyName))
@pytest.mark.parametrize("offline", [False, True])
def test_a_strategy_that_has_seen_a_search_drafts_as_one_that_comes_new_to_it(name: str, offline: bool) -> None:
    rng = random.Random(5)
    old, settled = strategy(name, offline), Population(seeds())
    for number in range(120):
        while (made := len(settled.members) - SEEDS) < old.barrier(number):
            settled.members.append(made_up(rng, made, CONFIG.islands))
        new = strategy(name, offline)
        assert old.draft(number, settled, random.Random(number)) == new.draft(number, settled, random.Random(number))


@pytest.mark.parametrize("name", get_args(StrategyName))
@given(number=NUMBERS, seed=SEEDS_OF_RANDOM)
@settings(max_examples=25)
def test_no_draft_waits_for_its_own_verdict(name: str, number: int, seed: int) -> None:
    barriers = [strategy(name).barrier(n) for n in range(number + 1)]
    assert all(barrier <= n for n, barrier in enumerate(barriers))
    assert barriers == sorted(barriers)


@given(number=NUMBERS, seed=SEEDS_OF_RANDOM)
@settings(max_examples=40)
def test_best_of_n_shows_the_seed_policies_and_never_a_candidate(number: int, seed: int) -> None:
    everything = population(random.Random(seed), 200)
    draft = strategy("best-of-n").draft(number, everything, random.Random(number))
    assert draft == Draft(1 + number // 25, "initial", tuple(sorted(seeds(), key=lambda m: -m.score)))
    offline = strategy("best-of-n", offline=True).draft(number, everything, random.Random(number))
    assert offline == Draft(1 + number // 25, "fresh", ())


def test_policysmith_shows_the_best_of_the_rounds_before() -> None:
    settled = Population([*seeds(), member(10, 0.9, round=1), member(11, 0.7, round=2), member(12, 0.8, round=1)])
    made = strategy("policysmith", parents=2)
    assert [m.candidate for m in made.draft(0, settled, random.Random(0)).parents] == [3, 2]
    assert [m.candidate for m in made.draft(25, settled, random.Random(0)).parents] == [10, 12]
    assert made.draft(0, settled, random.Random(0)).operator == "initial"
    assert made.draft(25, settled, random.Random(0)).operator == "mutate"


def test_evolve_gives_the_offline_generator_the_two_best_and_first_those_to_begin_with() -> None:
    settled = Population([*seeds(), member(10, 0.9, round=1), member(11, 0.7, round=2), member(12, 0.8, round=1)])
    made = strategy("evolve", offline=True, in_flight=8)
    begin, later = (made.draft(number, settled, random.Random(0)) for number in (24, 25))
    assert (begin.operator, [m.candidate for m in begin.parents]) == ("mutate", [3, 2])
    assert made.draft(0, Population(seeds()[:1]), random.Random(0)).operator == "initial"
    assert (later.operator, [m.candidate for m in later.parents]) == ("mutate", [10, 12])
    assert [made.barrier(n) for n in (0, 8, 100)] == [0, 0, 92]
    assert strategy("evolve", offline=False).draft(25, settled, random.Random(0)) != later
