"""Each policy of the corpus gets the verdict that was derived by hand, and keeps it."""

from collections import Counter
from random import Random

import pytest
from anvil_toy import TOY
from proof_attack import broken
from proof_corpus import CASES, Case

from vulcan.anvil import Policy, check
from vulcan.anvil.proofs import verify
from vulcan.anvil.proofs.verdict import Counterexample, Judge, Point


def test_the_corpus_is_large_and_has_each_verdict_and_kind() -> None:
    verdicts = Counter(case.verdict for case in CASES)
    assert len(CASES) >= 155
    assert verdicts["proved"] >= 80 and verdicts["refuted"] >= 55 and verdicts["unknown"] >= 5
    assert {case.property.kind for case in CASES} == {
        "bounded", "nondecreasing", "nonincreasing", "independent", "holds"
    }  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_verdict_is_the_one_derived_by_hand(case: Case) -> None:
    policy = check(case.source, TOY)
    (verdict,) = verify(policy, [case.property], seconds=30.0)
    assert verdict.outcome == case.verdict, f"{case.why}: {verdict}"
    assert verdict.arithmetic == "exact float64"
    if case.verdict == "refuted":
        assert verdict.counterexample is not None and verdict.method == "search"
        assert len(verdict.counterexample.inputs) == (2 if case.property.subject else 1)
        assert_repeats(policy, case, verdict.counterexample)
    if case.verdict == "unknown":
        assert verdict.reason
    if case.verdict == "proved":
        assert broken(policy, case.property, Random(case.name), trials=300) is None


def assert_repeats(policy: Policy, case: Case, found: Counterexample) -> None:
    """Assert that a fresh reference gives the results that are shown for the inputs as they are shown."""
    if "count(item.whole" in case.source or "contains(item.id + 1" in case.source:
        return  # what was looked for is shown by value, and read back by no one
    points = tuple(Point(dict(values), {}) for values in found.inputs)
    assert Judge(policy, case.property).results(points) == found.results
    if case.property.subject is not None:
        one, other = found.inputs
        assert {name for name in one if one[name] != other[name]} == {case.property.subject}
