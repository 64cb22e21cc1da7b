"""Of arbitrary Python the checker accepts only what the grammar table allows, and raises nothing but its own error."""

import ast
import warnings
from collections import Counter
from random import Random

import pytest
from anvil_allowed import why_not
from anvil_arbitrary import Arbitrary, arbitrary_sources, grammar_of, kinds_of
from anvil_toy import TOY, TOY_LAYOUT
from anvil_twin import Twin
from anvil_values import values_for
from effort import examples, slow
from hypothesis import HealthCheck, given, settings

from vulcan.anvil import Rejected, check
from vulcan.anvil.diagnostics import explain
from vulcan.anvil.grammar import grammar

VALUES = values_for(TOY.signature, Random(1)) | {"item.id": 1.0}


def verdict(source: str, run: bool = False) -> str:
    """The rule that rejects it, or "accepted"; what is accepted holds only what the table allows, and can be run."""
    try:
        policy = check(source, TOY)
    except Rejected as rejected:
        for violation in rejected.violations:
            assert violation.rule in grammar.RULES
            assert violation.hint
            assert violation.line >= 1 <= violation.column
        assert len(explain(source, rejected.violations)) < 20_000
        return rejected.violations[0].rule
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as `1 is 1`, which Python doubts
        tree = ast.parse(source)
    assert why_not(tree, TOY.signature) == "", source
    assert policy.warnings is not None
    if run:
        twin = Twin(policy, TOY_LAYOUT)
        twin.observe(1.0, VALUES)
        twin.score(1.0, VALUES)
    return "accepted"


@settings(max_examples=examples(400), suppress_health_check=list(HealthCheck))
@given(arbitrary_sources(TOY.signature))
def test_arbitrary_trees(source):
    verdict(source, run=True)


@pytest.mark.parametrize("programs", [200, slow(20_000)])
def test_many_arbitrary_trees(programs):
    """Some are accepted, and many rules reject the others."""
    random = Random(programs)
    verdicts: Counter[str] = Counter()
    for _ in range(programs):
        outcome = verdict(Arbitrary(TOY.signature, random.randrange).source())
        verdicts[outcome] += 1
    assert verdicts["accepted"] > programs * 0.02
    assert verdicts["syntax"] < programs * 0.5
    assert len(verdicts) > 15


def test_the_generator_knows_every_kind_of_node_that_python_has():
    seen: set[str] = set()
    pending = ["stmt", "expr"]
    while pending:
        for kind in kinds_of(pending.pop()):
            if kind.__name__ not in seen:
                seen.add(kind.__name__)
                pending += [of for of, _, _ in grammar_of(kind) if hasattr(ast, of)]
    known = {
        "NamedExpr", "JoinedStr", "Await", "Match", "MatchMapping", "AsyncFor", "Starred", "TryStar", "Yield",
        "ClassDef",
    }  # fmt: skip
    assert known <= seen
    assert len(seen) > 90
