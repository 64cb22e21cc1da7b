"""Of arbitrary Python what the checker accepts CPython computes alike, and it raises nothing but its own error."""

import warnings
from collections import Counter
from contextlib import suppress
from random import Random

import pytest
from anvil_arbitrary import Arbitrary
from anvil_toy import TOY, TOY_LAYOUT
from anvil_twin import Twin
from anvil_values import values_for
from effort import slow
from plain_python import Parted, Plain

from vulcan.anvil import Rejected, check
from vulcan.anvil.diagnostics import explain
from vulcan.anvil.grammar import grammar

VALUES = values_for(TOY.signature, Random(1)) | {"item.id": 1.0}


def verdict(source: str, run: bool) -> str:
    """The rule that rejects it, or "accepted"; nothing of what is accepted is left out: CPython runs it to the same."""
    try:
        policy = check(source, TOY)
    except Rejected as rejected:
        for violation in rejected.violations:
            assert violation.rule in grammar.RULES
            assert violation.hint
            assert violation.line >= 1 <= violation.column
        assert len(explain(source, rejected.violations)) < 20_000
        return rejected.violations[0].rule
    assert policy.warnings is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as `1 is 1`, which Python doubts
        plain = Plain(source, TOY)
    plain.observe(1.0, VALUES)
    reference = policy.reference()
    reference.observe(1.0, VALUES)
    with suppress(Parted):
        assert plain.ask("rate", VALUES, 1.0) == reference(VALUES, 1.0), source
    if run:
        twin = Twin(policy, TOY_LAYOUT)
        twin.observe(1.0, VALUES)
        twin.score(1.0, VALUES)
    return "accepted"


@pytest.mark.parametrize("programs", [260, slow(20_000)])
def test_many_arbitrary_trees(programs):
    """Some are accepted, and many rules reject the others."""
    random = Random(programs)
    verdicts: Counter[str] = Counter()
    for number in range(programs):
        outcome = verdict(Arbitrary(TOY.signature, random.randrange).source(), run=number < 2_000)
        verdicts[outcome] += 1
    assert verdicts["accepted"] > programs * 0.02
    assert verdicts["syntax"] < programs * 0.5
    assert len(verdicts) > 15
