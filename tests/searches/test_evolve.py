"""The laws of `evolve`: its archives, its islands, and what its drafts hold."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategy_parts import member, population, reading, seeds

from vulcan.searches.config import SearchConfig
from vulcan.searches.population import JudgedReply, Population, ScoredCandidate
from vulcan.searches.strategies import Evolve, make_strategy
from vulcan.searches.strategies.evolve import Archive, Islands, cell_of, choose_form, reads

CONFIG = SearchConfig(task="mood", settings={}, objective="gain", rounds=40, samples=25)


def evolve(**changes: Any) -> Evolve:
    made = make_strategy(replace(CONFIG, strategy="evolve", **changes), offline=False)
    assert isinstance(made, Evolve)
    return made


# What kind of candidate one is


def test_with_one_instance_the_behaviour_is_what_the_program_reads() -> None:
    source = (
        "import math\nA = 2.0\n\n\ndef half(x):\n    return x / A\n\n\n"
        "def priority(now, obj, cache, ghost):\n    idle = now - obj.last_access\n"
        "    return half(obj.count.ewma(0.3)) * ghost.count(obj.id) - math.log1p(idle) + cache.size.percentile(0.5)\n"
    )
    assert reads(source) == (
        "cache.size.percentile", "ghost.count", "now", "obj.count.ewma", "obj.id", "obj.last_access",
    )  # fmt: skip
    one, other = member(4, source=reading("load")), member(5, source=reading("room"))
    assert cell_of(one, (0.0,)) != cell_of(other, (0.0,))
    assert cell_of(one, (0.0,)) == cell_of(replace(one, candidate=6, score=0.9), (0.0,))


# Archives and islands


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=60))
def test_a_cell_keeps_the_best_that_ever_came_to_it_and_of_equals_the_earlier(pairs: list[tuple[int, int]]) -> None:
    archive = Archive()
    came: dict[int, list[ScoredCandidate]] = {}
    for candidate, (cell, score) in enumerate(pairs):
        newcomer = member(candidate, float(score))
        archive.add(((str(cell),), 0), newcomer)
        came.setdefault(cell, []).append(newcomer)
    assert archive.elites == {
        ((str(cell),), 0): min(found, key=lambda m: (-m.score, m.candidate)) for cell, found in came.items()
    }
    assert archive.ranked() == sorted(archive.elites.values(), key=lambda m: (-m.score, m.candidate))


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 3))
@settings(max_examples=40)
def test_islands_do_not_mix_but_by_migration(seed: int, count: int, instances: int) -> None:
    members = population(random.Random(seed), 80, count, instances).members
    islands = Islands(count, len(members) + 1, members)
    for index, archive in enumerate(islands.archives):
        assert all(m.island == index or m.origin == "seed" for m in archive.ranked())
        own = [m for m in members if m.island == index or m.origin == "seed"]
        assert {islands.cell(m) for m in own} == set(archive.elites)
        assert archive.ranked()[0].score == max(m.score for m in own)


def test_the_best_of_each_island_is_copied_to_the_next_on_the_ring() -> None:
    natives = [
        member(10 + i, 1.0 + i, island=i % 3, source=reading("load" if i % 3 else "room"), size=2**i) for i in range(6)
    ]
    before = Islands(3, 7, [*seeds(), *natives])
    after = Islands(3, 6, [*seeds(), *natives])
    for index in range(3):
        came = {m.candidate for m in after.archives[index].ranked()} - {
            m.candidate for m in before.archives[index].ranked()
        }
        assert came == {before.archives[(index - 1) % 3].ranked()[0].candidate}


# Drafts


def drafts(strategy: Evolve, settled: Population, numbers: range) -> list[Any]:
    return [strategy.draft(number, settled, random.Random(number)) for number in numbers]


def test_parents_come_from_the_island_whose_turn_it_is() -> None:
    settled = population(random.Random(3), 400)
    strategy = evolve(migrate_every=10_000, advice_every=0)
    for number, draft in zip(range(400, 600), drafts(strategy, settled, range(400, 600)), strict=True):
        assert draft.island == number % 4
        assert all(m.island == draft.island or m.origin == "seed" for m in draft.parents)
        assert len({m.candidate for m in (*draft.parents, *draft.inspirations)}) == len(draft.parents) + len(
            draft.inspirations
        )


def test_the_better_elites_are_parents_more_often_and_every_elite_may_be() -> None:
    settled = population(random.Random(3), 200, islands=1)
    strategy = evolve(islands=1, advice_every=0)
    ranked = Islands(1, 30, settled.members).archives[0].ranked()
    chosen = Counter(
        draft.parents[0].candidate for draft in drafts(strategy, settled, range(200, 3200)) if draft.parents
    )
    halves = [
        sum(chosen[m.candidate] for m in half) for half in (ranked[: len(ranked) // 2], ranked[len(ranked) // 2 :])
    ]
    assert halves[0] > 4 * halves[1] > 0
    assert chosen.most_common(1)[0][0] in [m.candidate for m in ranked[:2]]
    assert len(chosen) > 0.8 * len(ranked)


def test_a_search_begins_with_programs_that_build_on_nothing_and_has_fewer_of_them_later() -> None:
    settled = population(random.Random(3), 200)
    strategy = evolve(advice_every=0)
    assert strategy.draft(0, Population(), random.Random(0)).operator == "initial"
    shares = []
    for number in (0, 20, 200):
        made = [strategy.draft(number, settled, random.Random(seed)).operator for seed in range(400)]
        shares.append(made.count("initial") / 400)
    assert shares[0] > 0.5
    assert shares[0] > 1.4 * shares[1] > 2.0 * shares[2]


@pytest.mark.parametrize("total", [12, 60, 500])
def test_most_of_a_search_builds_on_its_own_programs_however_short_it_is(total: int) -> None:
    settled = population(random.Random(3), 200)
    strategy = evolve(advice_every=0, rounds=1, samples=total)
    seeds = range(max(4, 480 // total))
    made = [strategy.draft(n, settled, random.Random(seed)).operator for seed in seeds for n in range(total)]
    assert made.count("initial") < 0.15 * len(made)


def test_inspirations_are_the_best_of_all_and_candidates_of_another_kind() -> None:
    settled = population(random.Random(3), 400)
    islands = Islands(4, CONFIG.migrate_every, settled.members)
    best = islands.best(1)[0]
    for draft in drafts(evolve(advice_every=0), settled, range(400, 600)):
        shown = [*draft.parents, *draft.inspirations]
        assert best in shown
        strangers = [islands.cell(m)[0] for m in draft.inspirations if m != best]
        assert not set(strangers) & {islands.cell(m)[0] for m in shown if m in draft.parents or m == best}


# Whole programs or diffs


def forms(policy: Any, *seen: tuple[str, int, int]) -> float:
    """The share of diffs asked for, after (form, usable, unusable) replies."""
    attempts = [
        JudgedReply(0, form, verdict, "")
        for form, usable, unusable in seen
        for verdict in ["scored"] * usable + ["rejected"] * unusable
    ]
    rng = random.Random(1)
    return sum(choose_form(policy, attempts, rng) == "diff" for _ in range(1000)) / 1000


def test_diffs_are_tried_once_whole_programs_have_come_and_kept_if_they_work() -> None:
    assert forms("auto") == 0.0
    assert 0.1 < forms("auto", ("full", 20, 5)) < 0.4
    assert forms("auto", ("full", 20, 5), ("diff", 8, 2)) > 0.5
    assert 0.0 < forms("auto", ("full", 20, 0), ("diff", 2, 8)) < 0.1


def test_only_a_change_to_one_policy_is_asked_for_as_a_diff() -> None:
    settled = population(random.Random(3), 400)
    for draft in drafts(evolve(diff="always", advice_every=40), settled, range(400, 600)):
        assert draft.form == ("diff" if draft.operator == "mutate" else "full")
