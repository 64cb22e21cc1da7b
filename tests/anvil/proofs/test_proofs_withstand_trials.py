"""No wrong proof: what is proved of generated programs withstands boundary and random inputs."""

from collections import Counter
from random import Random

from anvil_toy import TOY
from effort import ALL, examples
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from policy_trees import accepted, programs
from proof_attack import broken
from proof_programs import CORNERS, small_program, some_properties

from vulcan.anvil import Policy, Rejected, check
from vulcan.anvil.proofs.verify import ProofBudget, prove
from vulcan.task import Property

TOY_PROPERTIES = (
    Property("small", "bounded", "", low=-1e6, high=1e6),
    Property("positive", "bounded", "", low=0.0),
    Property("up in whole", "nondecreasing", "", subject="item.whole"),
    Property("down in signed", "nonincreasing", "", subject="item.signed"),
    Property("up in drift", "nondecreasing", "", subject="world.drift", when="item.whole > 3 or world.load < 0.5"),
    Property("up in huge", "nondecreasing", "", subject="item.huge"),
    Property("blind to whole", "independent", "", subject="item.whole"),
    Property("claim", "holds", "", claim="result <= item.positive or result < now", when="item.signed < 1"),
)


BUDGET = ProofBudget(rules=20_000)
"""No clock, so that a test is the same on every machine."""


def withstands(policy: Policy, declared: Property, random: Random, trials: int) -> str:
    verdict = prove(policy, declared, BUDGET)
    if verdict.outcome == "proved":
        found = broken(policy, declared, random, trials)
        assert found is None, f"a wrong proof by {verdict.method} of {declared}: {found}\n{policy.source}"
    if verdict.outcome == "refuted":
        assert verdict.counterexample is not None
    return verdict.outcome


@settings(max_examples=examples(90), suppress_health_check=list(HealthCheck))
@given(source=programs(TOY), seed=st.integers(0, 2**32))
def test_proofs_of_programs_of_the_whole_language_withstand_trials(source: str, seed: int) -> None:
    policy = accepted(source, TOY)
    assume(policy is not None)
    random = Random(seed)
    for declared in random.sample(TOY_PROPERTIES, 3):
        withstands(policy, declared, random, 200)


def test_proofs_of_programs_made_to_deceive_withstand_trials() -> None:
    random, verdicts = Random(5), Counter[str]()
    for _ in range(600 if ALL else 20):
        source, names = small_program(random)
        try:
            policy = check(source, CORNERS)
        except Rejected:
            continue
        for declared in some_properties(random, names):
            verdicts[withstands(policy, declared, random, 600 if ALL else 300)] += 1
    assert verdicts["proved"] >= 20 and verdicts["refuted"] >= 30
    assert verdicts["unknown"] <= 0.15 * verdicts.total()
