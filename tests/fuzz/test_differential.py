"""Random policies come to the same in every back end; `make fuzz` tries for minutes."""

from __future__ import annotations

import ast
import shutil
from random import Random

import differential
import pytest
from anvil_state import STATEFUL
from anvil_two import TWO
from effort import examples
from policy_trees import Trees, accepted

from vulcan.anvil.grammar import grammar

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")


def test_every_back_end_computes_the_same() -> None:
    batch = differential.fuzzed(600.0, seed=11, most=examples(84))
    assert [(difference.what, difference.source) for difference in batch.found] == []
    assert batch.compared > 8 * batch.count and batch.plain > 0.8 * batch.count
    assert batch.learnt > batch.count and batch.learnt_exported > batch.count


def test_a_back_end_that_computes_something_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exported C, in which the last `return` of each program returns something else."""
    plain = differential.DoubleProgram.text

    def wrong(self: differential.DoubleProgram) -> str:
        before, word, after = plain(self).rpartition("return ")
        return f"{before}{word}1.5 + {after}"

    monkeypatch.setattr(differential.DoubleProgram, "text", wrong)
    found = differential.fuzzed(600.0, seed=3, most=4).found
    assert any(difference.what.startswith("C, ") for difference in found)


def test_a_policy_that_is_written_back_as_another_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = differential.policy_source
    monkeypatch.setattr(differential, "policy_source", lambda text: plain(text).replace("return ", "return 1.5 + "))
    assert any("exported as" in difference.what for difference in differential.fuzzed(600.0, seed=3, most=4).found)


def test_policies_with_state_write_all_of_it() -> None:
    random = Random(4)
    sources = [Trees(STATEFUL, random).source() for _ in range(40)]
    for word in ("class item:", "] * 64", "random()", "hash(", "def on_tick", "world.alarm = "):
        assert any(word in source for source in sources), word
    programs = [policy.program for source in sources if (policy := accepted(source, STATEFUL)) is not None]
    assert len(programs) > 30
    assert sum(program.draws for program in programs) > 5


def test_the_whole_grammar_is_written() -> None:
    random = Random(1)
    nodes = [node for _ in range(60) for node in ast.walk(ast.parse(Trees(TWO, random).source()))]
    kinds = {type(node) for node in nodes}
    assert {*grammar.BINARY, *grammar.UNARY, *grammar.BOOLEAN, *grammar.COMPARISONS} <= kinds
    assert {ast.If, ast.For, ast.Break, ast.Continue, ast.AugAssign, ast.AnnAssign, ast.IfExp, ast.Pass} <= kinds
    called = set(map(ast.unparse, (node.func for node in nodes if isinstance(node, ast.Call))))
    assert set(grammar.FUNCTIONS) <= called
    methods = {name.rpartition(".")[2] for name in called}
    assert {*grammar.STATISTICS, *grammar.HISTORY_QUERIES} <= methods
