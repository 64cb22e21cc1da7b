"""Attacks on the evaluator, the score, the checkers and the keeper: stopped, or not where nothing does."""

import functools
import sys
from collections.abc import Iterator, Mapping

import pytest

from vulcan.scoring.attacks import game
from vulcan.scoring.attacks.attack import Attack, Result
from vulcan.scoring.attacks.evaluator_range import EvaluatorRange, evaluator_results
from vulcan.scoring.attacks.lifetimes import lifetime_results, outlives_its_keeper
from vulcan.scoring.attacks.sources import source_results
from vulcan.scoring.attacks.system import SYSTEM_ATTACKS
from vulcan.scoring.forked import ForkServer
from vulcan.scoring.layers import Layer, Layers

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="these layers are Linux's")


def through(results: Iterator[Result]) -> list[Result]:
    return [result for result in results if not result.stopped]


@on_linux
def test_nothing_gets_out_of_the_evaluator(given: Mapping[str, object]) -> None:
    assert through(evaluator_results(given)) == []


@on_linux
def test_without_layers_the_same_attacks_get_out_of_the_evaluator(given: Mapping[str, object]) -> None:
    names = ("read /etc/passwd", "API key in the environment", "TCP connection", "fork bomb", "ptrace the parent")
    attacks = tuple(attack for attack in SYSTEM_ATTACKS if attack.name in names)
    off = {layer for attack in attacks for layer in attack.stopped_by}
    arena = EvaluatorRange(given, attacks, Layers(frozenset(off)))
    got = {attack.name for attack in attacks if arena.carry_out(attack).got is not None}
    arena.close()
    assert got == set(names)


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    with game.new_server() as server:
        yield server


def attempt(name: str) -> str:
    return next(a.program for a in game.ATTEMPTS if a.name == name)


@on_linux
def test_no_attempt_changes_the_score() -> None:
    assert through(game.game_results()) == []


@on_linux
def test_a_program_that_is_given_the_future_finds_it(server: ForkServer) -> None:
    assert game.play_forked(server, attempt("the trace's future"), whole=True).score == 1.0


def test_a_program_in_the_scorers_process_patches_the_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(game, "share_right", game.share_right)  # what the program does is undone
    honest = game.play(functools.partial(game.answer, game.CONSTANT))
    forged = game.play(functools.partial(game.answer, attempt("patched scorer")))
    assert honest.score is not None and honest.score < 0.6
    assert forged.score == 1.0


@on_linux
def test_without_a_clock_a_program_that_is_slow_later_goes_on_for_ever() -> None:
    assert game.goes_on_for_ever(attempt("slow on later requests only"))


@on_linux
def test_nothing_outlives_its_keeper() -> None:
    assert through(lifetime_results()) == []


@on_linux
def test_without_a_parent_death_signal_a_candidate_outlives_its_keeper() -> None:
    assert outlives_its_keeper("evaluator", Layers.without(Layer.PARENT_DEATH))


def test_no_source_passes_the_checkers() -> None:
    results = list(source_results())
    assert [result for result in results if not result.stopped] == []
    assert len(results) > 140


def test_a_result_without_a_stopper_counts_as_got_through() -> None:
    assert not Result("x", "forked", None, "").stopped
    assert Attack("x", "", ()).given == {}
