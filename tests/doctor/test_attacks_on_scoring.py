"""Attacks on the evaluator, the score, the checkers and the keeper: stopped, or not where nothing does."""

import functools
import sys
import threading
from collections.abc import Iterator, Mapping

import pytest
import score_attacks
from checker_attacks import source_results
from evaluator_attacks import EvaluatorRange, evaluator_results, outlives_keeper

from vulcan.doctor.attacks.system import SYSTEM_ATTACKS
from vulcan.documents.host import AttackResult
from vulcan.scoring.program_server_client import ForkServer, ServerLost
from vulcan.scoring.sandbox.layers import ALL, Layer, Layers

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="these layers are Linux's")


def through(results: Iterator[AttackResult]) -> list[AttackResult]:
    return [result for result in results if result.stopped_by is None]


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
    with score_attacks.new_server() as server:
        yield server


def attempt(name: str) -> str:
    return next(a.program for a in score_attacks.ATTEMPTS if a.name == name)


@on_linux
def test_no_attempt_changes_the_score() -> None:
    assert through(score_attacks.game_results()) == []


@on_linux
def test_a_program_that_is_given_the_future_finds_it(server: ForkServer) -> None:
    assert score_attacks.play_forked(server, attempt("the trace's future"), whole=True).score == 1.0


def test_a_program_in_the_scorers_process_patches_the_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_attacks, "share_right", score_attacks.share_right)  # what the program does is undone
    honest = score_attacks.play(functools.partial(score_attacks.answer, score_attacks.CONSTANT))
    forged = score_attacks.play(functools.partial(score_attacks.answer, attempt("patched scorer")))
    assert honest.score is not None and honest.score < 0.6
    assert forged.score == 1.0


def test_where_a_programs_word_is_taken_for_its_score_it_claims_the_highest() -> None:
    """What replay keeps out: the same answers, to somebody who would believe them."""
    order = {"past": 0, "blocks": []}
    assert score_attacks.answer(attempt("a claim in place of decisions"), order) == {"score": 1.0}
    surplus = score_attacks.answer(attempt("more decisions than were asked for"), order)
    assert isinstance(surplus, list) and len(surplus) == 2 * score_attacks.LENGTH
    garbage = score_attacks.answer(attempt("decisions that are no numbers"), order)
    assert isinstance(garbage, list) and garbage[0] != garbage[0]


def runs_forever(program: str) -> bool:
    """Whether nothing ends the program where there are neither a wall clock nor a limit of processor time."""
    server = score_attacks.new_server(Layers.without(Layer.WALL_CLOCK, Layer.PROCESSOR))
    with server:
        server.start()
        patience = threading.Timer(2.0, server.interrupt)
        patience.start()
        try:
            score_attacks.play_forked(server, program)
        except ServerLost:
            return True
        finally:
            patience.cancel()
    return False


@on_linux
def test_without_a_clock_a_program_that_is_slow_later_goes_on_for_ever() -> None:
    assert runs_forever(attempt("slow on later requests only"))


@on_linux
@pytest.mark.parametrize("layers", [ALL, Layers.without(Layer.PARENT_DEATH)], ids=["with", "without"])
def test_a_candidate_outlives_its_keeper_where_there_is_no_parent_death_signal(layers: Layers) -> None:
    assert outlives_keeper(layers) == (Layer.PARENT_DEATH not in layers)


def test_no_source_passes_the_checkers() -> None:
    results = list(source_results())
    assert [result for result in results if result.stopped_by is None] == []
    assert len(results) > 140
