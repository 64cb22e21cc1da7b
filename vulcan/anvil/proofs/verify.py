"""Verification of a task's properties for one policy.

Cheapest first: a certificate by rules, in exact float64 arithmetic; a search for a counterexample. Refutations are
confirmed by the reference interpreter. Of a program too large to unfold nothing is known.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from vulcan.anvil.policy import Policy
from vulcan.anvil.proofs.certificate import MAX_WORK, Order, OutOfSteps
from vulcan.anvil.proofs.claims import Claim, check_properties, statement
from vulcan.anvil.proofs.facts import Contradiction, Facts
from vulcan.anvil.proofs.search import Search
from vulcan.anvil.proofs.terms import TooLarge
from vulcan.anvil.proofs.verdict import Counterexample, Judge, Method, Outcome, Verdict, claim_of
from vulcan.task import Property

SECONDS = 10.0
ROUNDS = 7
"""Rounds of the search for a counterexample in an interactive verification."""


@dataclass(frozen=True, slots=True)
class ProofBudget:
    """Limits per property: the rules' work, rounds of the search, and seconds if interactive."""

    rules: int
    rounds: int = ROUNDS
    seconds: float = math.inf


_IN_SEARCH = ProofBudget(rules=3_000, rounds=3)
"""Budget per property in a search."""


@dataclass(frozen=True)
class Refutation:
    """A required property that a candidate breaks; `feedback` describes it to a language model."""

    verdict: Verdict

    @property
    def feedback(self) -> str:
        declared = self.verdict.property
        return f"property {declared.name!r} is broken ({claim_of(declared)}): {self.verdict.counterexample}"


def verify(policy: Policy, properties: Iterable[Property] | None = None, seconds: float = SECONDS) -> list[Verdict]:
    """Return the verdict on each property, by default those of the policy's task. `seconds` is the limit for each.

    Raises UserError if a property does not fit the task.
    """
    check_properties(policy.task)
    chosen = policy.task.properties if properties is None else properties
    budget = ProofBudget(rules=MAX_WORK, seconds=seconds)
    return [prove(policy, declared, budget) for declared in chosen]


def prove(policy: Policy, declared: Property, budget: ProofBudget) -> Verdict:
    """Return the verdict on one property within the budget. Raises UserError if the property does not fit the task."""
    started = time.perf_counter()
    deadline = started + budget.seconds

    def decided(
        outcome: Outcome, method: Method = "none", found: Counterexample | None = None, reason: str = ""
    ) -> Verdict:
        return Verdict(declared, outcome, method, time.perf_counter() - started, found, reason)

    try:
        said = statement(policy.program, policy.task, declared)
    except (TooLarge, RecursionError) as large:
        nested = "unfolded, it is nested too deeply"
        return decided("unknown", reason=str(large) if isinstance(large, TooLarge) else nested)
    if _by_rules(said, budget.rules, deadline):
        return decided("proved", "certificate")
    search = Search(said, declared, Judge(policy, declared))
    if (found := search.run(budget.rounds)) is not None:
        return decided("refuted", "search", found)
    if time.perf_counter() > deadline:
        return decided("unknown", reason="the time is up")
    return decided("unknown", reason=f"no certificate, and no counterexample among {search.tried:,} inputs")


def in_search(policy: Policy) -> Iterator[Verdict]:
    """Yield the verdicts on the properties that the task requires, up to the first that is refuted.

    Reproducible: limits are in steps, not seconds. Raises UserError if a property does not fit the task.
    """
    for declared in policy.task.properties:
        if declared.required:
            verdict = prove(policy, declared, _IN_SEARCH)
            yield verdict
            if verdict.outcome == "refuted":
                return


def refuted_required(policy: Policy) -> Refutation | None:
    """Return the first required property that the policy breaks; None if no violation was found."""
    return next((Refutation(verdict) for verdict in in_search(policy) if verdict.outcome == "refuted"), None)


def is_certain(policy: Policy, declared: Property) -> bool:
    """Check whether the rules alone prove the property, with the work limit of a search."""
    try:
        said = statement(policy.program, policy.task, declared)
    except (TooLarge, RecursionError):
        return False
    return _by_rules(said, _IN_SEARCH.rules)


def _by_rules(said: Claim, work: int, deadline: float = math.inf) -> bool:
    """Check whether the rules prove the claim; one whose assumptions no input satisfies is vacuous."""
    known = Facts(said.graph)
    try:
        for test in said.assumed:
            known = known.assume(test)
    except Contradiction:
        return True
    try:
        return Order(work, deadline).always(said.concluded, known)
    except (OutOfSteps, TooLarge, RecursionError):  # deep choices within deep chains overflow the stack
        return False
