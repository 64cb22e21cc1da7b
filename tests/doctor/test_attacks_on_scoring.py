"""Attacks on the evaluator, the checkers and the keeper: stopped, or not where nothing does.

Those on the score are in tests/python_policy/test_program_replay.py.
"""

import sys
from collections.abc import Iterator, Mapping

import pytest
from checker_attacks import source_results
from evaluator_attacks import EvaluatorRange, evaluator_results, outlives_keeper

from vulcan.doctor.attacks.system import SYSTEM_ATTACKS
from vulcan.documents.host import AttackResult
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


@on_linux
@pytest.mark.parametrize("layers", [ALL, Layers.without(Layer.PARENT_DEATH)], ids=["with", "without"])
def test_a_candidate_outlives_its_keeper_where_there_is_no_parent_death_signal(layers: Layers) -> None:
    assert outlives_keeper(layers) == (Layer.PARENT_DEATH not in layers)


def test_no_source_passes_the_checkers() -> None:
    results = list(source_results())
    assert [result for result in results if result.stopped_by is None] == []
    assert len(results) > 140
