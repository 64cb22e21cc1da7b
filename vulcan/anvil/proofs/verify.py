"""Verification of a task's properties for one policy.

Cheapest first: a certificate by rules, in exact float64 arithmetic; a search for a counterexample. Refutations are
confirmed by the reference interpreter. For a program too large to unfold there is only `blind_search`: the reference
interpreter alone, on a few inputs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from vulcan.anvil import ir
from vulcan.anvil.analysis.abstract_interpreter import state_bounds
from vulcan.anvil.analysis.intervals import Interval
from vulcan.anvil.policy import Policy
from vulcan.anvil.proofs.certificate import MAX_WORK, Order, OutOfSteps
from vulcan.anvil.proofs.claims import Claim, Inputs, check_properties, conditions, statement
from vulcan.anvil.proofs.facts import Contradiction, Facts
from vulcan.anvil.proofs.search import Samples
from vulcan.anvil.proofs.terms import Graph, TooLarge
from vulcan.anvil.proofs.verdict import Counterexample, Judge, Method, Outcome, Point, Verdict, claim_of, simplest
from vulcan.task import Property

_SEED = 20_250_102
_TRIED = 300
_MAX_WORK = 60_000


def blind_search(policy: Policy, declared: Property, judge: Judge) -> Counterexample | None:
    """Return a counterexample that the judge confirms; None if none was found. Reproducible."""
    ranges = _ranges(policy, declared)
    tried = max(6, min(_TRIED, _MAX_WORK // max(policy.plan.operations, 1)))
    samples = Samples(np.random.default_rng(_SEED), [value for _, value in policy.program.parameters])
    columns = {name: samples.column(within, tried) for name, within in ranges.items()}
    subject = declared.subject
    larger = samples.above(columns[subject], ranges[subject]) if subject is not None else None
    for row in range(tried):
        values = {name: float(column[row]) for name, column in columns.items()}
        points = [Point(values, {})]
        if subject is not None and larger is not None:
            points.append(Point({**values, subject: float(larger[row])}, {}))
        found = judge.results(tuple(points))
        if found is not None:
            return simplest(judge, declared, tuple(points), found, ranges)
    return None


def _ranges(policy: Policy, declared: Property) -> dict[str, Interval]:
    """Return everything that the policy and the conditions read, by name."""
    graph = Graph()
    function = policy.function(declared.function)
    inputs = Inputs(graph, function.signature, state_bounds(policy.program, policy.task.whole_interface))
    programs = [function.program, *(c.program for c in conditions(policy.task, declared) if c is not None)]
    features = {name for name, _ in function.signature.features()}
    functions = [f for program in programs for f in program.functions if f not in program.handlers]
    for body in (f.body for f in functions):
        for e in ir.expressions(body):
            match e:
                case ir.Read(feature) if feature in features:
                    inputs.read(feature)
                case ir.Statistic():
                    inputs.statistic(e)
                case ir.Occurrences(statistic, ir.Read(feature)):
                    inputs.occurrences(statistic, inputs.read(feature))
                case ir.Query():
                    inputs.query(e)
                case ir.Cell():
                    inputs.cell(e)
    if declared.subject is not None:
        inputs.read(declared.subject)
    return inputs.asked


SECONDS = 10.0
ROUNDS = 7
"""Rounds of the search for a counterexample in an interactive verification."""


@dataclass(frozen=True, slots=True)
class ProofBudget:
    """Limits per property: the rules' work, rounds of the search, and seconds if interactive."""

    rules: int
    rounds: int = ROUNDS
    seconds: float = math.inf


_LIBRARY = (
    "it holds if the mathematical library's functions are monotone in float64, which the library does not promise: it "
    "documents how near the exact result they come"
)

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
    return _Attempt(policy, declared, budget).verdict()


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
    return _Attempt(policy, declared, _IN_SEARCH).is_certain()


class _Attempt:
    def __init__(self, policy: Policy, declared: Property, budget: ProofBudget) -> None:
        self._policy = policy
        self._declared = declared
        self._budget = budget
        self._started = time.perf_counter()
        self._deadline = self._started + budget.seconds

    def verdict(self) -> Verdict:
        try:
            said = statement(self._policy.program, self._policy.task, self._declared)
        except TooLarge as large:
            return self._of_large(str(large))
        except RecursionError:
            return self._of_large("unfolded, it is nested too deeply")
        known = _assumed(said)
        if known is None or self._by_rules(said, known, trust_library=False):
            return self._verdict("proved", "certificate")
        return self._by_search(said, known)

    def is_certain(self) -> bool:
        try:
            said = statement(self._policy.program, self._policy.task, self._declared)
        except (TooLarge, RecursionError):
            return False
        known = _assumed(said)
        return known is None or self._by_rules(said, known, trust_library=False)

    def _by_rules(self, said: Claim, known: Facts, trust_library: bool) -> bool:
        try:
            return Order(self._budget.rules, self._deadline, trust_library).always(said.concluded, known)
        except (OutOfSteps, TooLarge, RecursionError):  # deep choices within deep chains overflow the stack
            return False

    def _by_search(self, said: Claim, known: Facts) -> Verdict:
        from vulcan.anvil.proofs.search import Search  # loads numpy

        search = Search(said, self._declared, Judge(self._policy, self._declared))
        found = search.run(self._budget.rounds)
        if found is not None:
            return self._verdict("refuted", "search", found)
        if time.perf_counter() > self._deadline:
            return self._verdict("unknown", "none", reason="the time is up")
        if self._budget.seconds < math.inf and self._by_rules(said, known, trust_library=True):
            return self._verdict("unknown", "none", reason=_LIBRARY)
        reason = f"no certificate, and no counterexample among {search.tried:,} inputs"
        return self._verdict("unknown", "none", reason=reason)

    def _of_large(self, reason: str) -> Verdict:

        found = blind_search(self._policy, self._declared, Judge(self._policy, self._declared))
        if found is not None:
            return self._verdict("refuted", "search", found)
        return self._verdict("unknown", "none", reason=reason)

    def _verdict(
        self, outcome: Outcome, method: Method, found: Counterexample | None = None, reason: str = ""
    ) -> Verdict:
        return Verdict(self._declared, outcome, method, time.perf_counter() - self._started, found, reason)


def _assumed(said: Claim) -> Facts | None:
    """Return the facts that the assumptions imply; None if no input satisfies them, so the property is vacuous."""
    known = Facts(said.graph)
    try:
        for test in said.assumed:
            known = known.assume(test)
    except Contradiction:
        return None
    return known
