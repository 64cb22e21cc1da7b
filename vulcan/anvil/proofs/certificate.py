"""Certificates: rule-based proofs that one term is never above another, in exact float64 arithmetic.

Correctly rounded operations (+ - * / and sqrt), saturation, floor and the like, min, max and comparisons are monotone
in float64 as in the reals: an order of the exact results also holds for the rounded ones. Functions of the
mathematical library are not known to be monotone: of two of their results nothing is proved but what their bounds say.
"""

from __future__ import annotations

import math
import time

from vulcan.anvil.proofs.facts import Contradiction, Facts
from vulcan.anvil.proofs.ranges import MAX_EXACT_FLOOR
from vulcan.anvil.proofs.terms import Term

MAX_WORK = 100_000
"""Maximum number of rules tried and bounds computed; takes about a second."""

MAX_SPLIT = 12


class OutOfSteps(Exception):
    """The work limit or deadline of the search for a certificate was reached."""


class Order:
    """One search for a certificate. It is limited by `work`, not by time, so that it is reproducible.

    A `deadline`, of `time.perf_counter`, is for interactive use.
    """

    def __init__(self, work: int = MAX_WORK, deadline: float = math.inf) -> None:
        self._left = work
        self._deadline = deadline
        self._seen_work: int | None = None
        self._memory: dict[Facts, dict[tuple[Term, Term, bool], bool]] = {}

    def _step(self, known: Facts) -> None:
        work = known.graph.work
        self._left -= 1 + work - (work if self._seen_work is None else self._seen_work)
        self._seen_work = work
        if self._left < 0 or time.perf_counter() > self._deadline:
            raise OutOfSteps

    # Tests

    def always(self, test: Term, known: Facts, splits: int = MAX_SPLIT) -> bool:
        """Check whether the test certainly holds on every input, by case splits where needed. Raises OutOfSteps."""
        try:
            if self.holds(test, known):
                return True
            if splits == 0:
                return False
            case = self._open_case(test, known)
        except Contradiction:
            return True
        if case is None:
            return False
        return all(self._always_where(test, known, case, outcome, splits - 1) for outcome in self._open(case, known))

    def _open(self, case: Term, known: Facts) -> tuple[bool, ...]:
        """Return the possible outcomes of the case."""
        try:
            if self.holds(case, known):
                return (True,)
            return (False,) if self.holds(known.graph.negation(case), known) else (True, False)
        except Contradiction:
            return ()

    def _always_where(self, test: Term, known: Facts, case: Term, outcome: bool, splits: int) -> bool:
        try:
            return self.always(test, known.assume(case, outcome), splits)
        except Contradiction:
            return True

    def holds(self, test: Term, known: Facts) -> bool:
        """Check whether the rules show, without case splits, that the test is not 0."""
        self._step(known)
        decided = known.decide(test)
        if decided is not None:
            return decided
        match test.operation, test.parts:
            case "less", (a, b):
                return self.at_most(a, b, known, True)
            case "at_most", (a, b):
                return self.at_most(a, b, known)
            case "equal", (a, b):
                return self.same(a, b, known) or (self.at_most(a, b, known) and self.at_most(b, a, known))
            case "differs", (a, b):
                return self.at_most(a, b, known, True) or self.at_most(b, a, known, True)
            case "choose", (case, then, otherwise):
                if self.holds(then, known):
                    return self.holds(case, known) or self.holds(otherwise, known)
                return self.holds(otherwise, known) and self.holds(known.graph.negation(case), known)
        return False

    def _open_case(self, test: Term, known: Facts) -> Term | None:
        """Return an undecided test that the outcome may depend on; None if there is none."""
        for term in sorted(self._live(test, known), key=lambda t: (t.operation != "choose", t.index)):
            match term.operation, term.parts:
                case "choose", (case, _, _):
                    case = _atom(case, known)
                case _ if term.is_test and term is not test:
                    case = term
                case _:
                    continue
            if known.decide(case) is None:
                return case
        return None

    def _live(self, test: Term, known: Facts) -> list[Term]:
        """Return the reachable parts of the test, with decided choices replaced by the chosen part."""
        seen: dict[Term, None] = {}
        pending = [test]
        while pending:
            term = pending.pop()
            if term in seen or (term.is_test and known.decide(term) is not None):
                continue
            seen[term] = None
            if term.operation == "choose" and (held := known.decide(term.parts[0])) is not None:
                pending.append(term.parts[1 if held else 2])
                del seen[term]
            else:
                pending.extend(term.parts)
        return list(seen)

    # Terms

    def same(self, u: Term, v: Term, known: Facts) -> bool:
        """Check whether the two are the same number on every input."""
        u, v = known.head(u), known.head(v)
        if u is v:
            return True
        if u.operation != v.operation or len(u.parts) != len(v.parts) or not u.parts:
            return False
        if u.operation == "lookup" and u.payload != v.payload:
            return False
        self._step(known)
        return all(self.same(a, b, known) for a, b in zip(u.parts, v.parts, strict=True))

    def at_most(self, u: Term, v: Term, known: Facts, strict: bool = False) -> bool:
        """Check whether the rules show u <= v on every input, or u < v if `strict`. May raise Contradiction."""
        u, v = known.head(u), known.head(v)
        if u is v:
            return not strict
        x, y = known.range(u), known.range(v)
        if x.high < y.low or (x.high <= y.low and not strict) or known.ordered(u, v, strict):
            return True
        if x.low > y.high or known.ordered(v, u, not strict):
            return False
        memory = self._memory.setdefault(known, {})
        key = (u, v, strict)
        if key not in memory:
            self._step(known)
            memory[key] = False  # circular reasoning proves nothing
            memory[key] = self._by_rules(u, v, known, strict)
        return memory[key]

    def _by_rules(self, u: Term, v: Term, known: Facts, strict: bool) -> bool:
        if self._by_assumptions(u, v, known, strict) or self._by_extremes(u, v, known, strict):
            return True
        return not strict and (  # rounding can make near numbers equal
            self._alike(u, v, known) or self._from_above(u, v, known) or self._from_below(u, v, known)
        )

    def _by_assumptions(self, u: Term, v: Term, known: Facts, strict: bool) -> bool:
        le = self.at_most
        return any(le(above, v, known, strict and not strictly) for above, strictly in known.above(u)) or any(
            le(u, below, known, strict and not strictly) for below, strictly in known.below(v)
        )

    def _by_extremes(self, u: Term, v: Term, known: Facts, strict: bool) -> bool:
        match u.operation:
            case "max" if all(self.at_most(part, v, known, strict) for part in u.parts):
                return True
            case "min" if any(self.at_most(part, v, known, strict) for part in u.parts):
                return True
        match v.operation:
            case "max" if any(self.at_most(u, part, known, strict) for part in v.parts):
                return True
            case "min" if all(self.at_most(u, part, known, strict) for part in v.parts):
                return True
        return False

    # The same operation on both sides

    def _alike(self, u: Term, v: Term, known: Facts) -> bool:
        if u.operation != v.operation or not u.parts:
            return False
        le, us, vs = self.at_most, u.parts, v.parts
        match u.operation:
            case "add":
                ahead = le(us[0], vs[0], known) and le(us[1], vs[1], known)
                return ahead or (le(us[0], vs[1], known) and le(us[1], vs[0], known))
            case "subtract":
                return le(us[0], vs[0], known) and le(vs[1], us[1], known)
            case "multiply":
                return self._products(us, vs, known) or self._products(us, (vs[1], vs[0]), known)
            case "divide":
                return self._quotients(us, vs, known)
            case "floor_divide":
                small = all(known.range(t).magnitude < MAX_EXACT_FLOOR for t in (u, v))
                return small and self._quotients(us, vs, known)
            case "negate":
                return le(vs[0], us[0], known)
            case "floor" | "ceil" | "round" | "trunc" | "sqrt":
                return le(us[0], vs[0], known)
            case "min" | "max":
                return (le(us[0], vs[0], known) and le(us[1], vs[1], known)) or (
                    le(us[0], vs[1], known) and le(us[1], vs[0], known)
                )
            case "abs":
                return known.range(us[0]).low >= 0.0 and le(us[0], vs[0], known)
        return self.same(u, v, known)

    def _products(self, us: tuple[Term, ...], vs: tuple[Term, ...], known: Facts) -> bool:
        (a, b), (c, d) = us, vs
        return (self._scaled(a, c, b, known) and self._scaled(b, d, c, known)) or (
            self._scaled(b, d, a, known) and self._scaled(a, c, d, known)
        )

    def _scaled(self, a: Term, b: Term, factor: Term, known: Facts) -> bool:
        """Check a * factor <= b * factor, exactly."""
        if self.same(a, b, known):
            return True
        found = known.range(factor)
        return (found.low >= 0.0 and self.at_most(a, b, known)) or (found.high <= 0.0 and self.at_most(b, a, known))

    def _quotients(self, us: tuple[Term, ...], vs: tuple[Term, ...], known: Facts) -> bool:
        (a, b), (c, d) = us, vs
        # A quotient by 0 is 0, so a common divisor is no exception to the rule for factors.
        return (self._scaled(a, c, b, known) and self._shared_out(c, b, d, known)) or (
            self._shared_out(a, b, d, known) and self._scaled(a, c, d, known)
        )

    def _shared_out(self, a: Term, by: Term, other: Term, known: Facts) -> bool:
        """Check a / by <= a / other, exactly."""
        if self.same(by, other, known):
            return True
        x, y, z = known.range(a), known.range(by), known.range(other)
        if (z.low > 0.0 or y.high < 0.0) and x.low >= 0.0:
            return self.at_most(other, by, known)
        if (y.low > 0.0 or z.high < 0.0) and x.high <= 0.0:
            return self.at_most(by, other, known)
        return False

    # A term and one of its parts

    def _from_above(self, u: Term, v: Term, known: Facts) -> bool:
        """Check u <= part <= v for a part of v."""
        le, part = self.at_most, known.range
        match v.operation, v.parts:
            case "add", (a, b):
                return (part(b).low >= 0.0 and le(u, a, known)) or (part(a).low >= 0.0 and le(u, b, known))
            case "subtract", (a, b):
                return (part(b).high <= 0.0 and le(u, a, known)) or (part(u).high <= 0.0 and le(b, a, known))
            case "multiply", (a, b):
                return any(part(x).low >= 0.0 and part(y).low >= 1.0 and le(u, x, known) for x, y in ((a, b), (b, a)))
            case "divide", (a, b):
                return part(a).low >= 0.0 and 0.0 < part(b).low <= part(b).high <= 1.0 and le(u, a, known)
            case "abs", (a,):
                return le(u, a, known)
            case "ceil", (a,):
                return le(u, a, known)
            case (("floor" | "round" | "trunc"), (a,)):
                return part(u).whole and le(u, a, known)
        return False

    def _from_below(self, u: Term, v: Term, known: Facts) -> bool:
        """Check u <= part <= v for a part of u."""
        le, part = self.at_most, known.range
        match u.operation, u.parts:
            case "add", (a, b):
                return (part(b).high <= 0.0 and le(a, v, known)) or (part(a).high <= 0.0 and le(b, v, known))
            case "subtract", (a, b):
                return part(b).low >= 0.0 and le(a, v, known)
            case "multiply", (a, b):
                return any(part(x).low >= 0.0 and part(y).high <= 1.0 and le(x, v, known) for x, y in ((a, b), (b, a)))
            case "divide", (a, b):
                least = part(b).least_magnitude
                return part(a).low >= 0.0 and (least >= 1.0 or part(b).high <= 0.0) and le(a, v, known)
            case "floor_divide", (a, b):
                # (a - a % b) / b is at most a after any rounding; its floor is only rounded up to the true one.
                return part(a).low >= 0.0 and part(b).low >= 1.0 and le(a, v, known)
            case "modulo", (a, _):
                return part(a).low >= 0.0 and le(a, v, known)
            case "floor", (a,):
                return le(a, v, known)
            case (("ceil" | "round" | "trunc"), (a,)):
                return part(v).whole and le(a, v, known)
        return False


def _atom(test: Term, known: Facts) -> Term:
    """Return an undecided comparison within the test."""
    while test.operation == "choose":
        held = known.decide(test.parts[0])
        test = test.parts[0 if held is None else 1 if held else 2]
    return test
