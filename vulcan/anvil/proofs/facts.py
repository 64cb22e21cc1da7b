"""Facts that follow from assumed tests: tighter bounds of terms, and their order.

The smallest nonzero magnitude of a divisor bounds its quotients: a quotient by 0 is 0, so only divisors close to 0
make it large. Float64 numbers of similar magnitude do not cancel to less than a unit in the last place: x + y is 0 or
at least 2**-54 of the larger one, however close they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from vulcan.anvil.analysis.intervals import TRUTH, Interval, point
from vulcan.anvil.proofs.ranges import bounds
from vulcan.anvil.proofs.terms import Graph, Input, Lookup, Term
from vulcan.anvil.semantics import MAX

MIN = 5e-324
_CANCELLED = 2.0**-54
_CAREFUL = 1.0 - 1e-9


def least_magnitude(term: Term, ranges: list[Interval], found: Interval, least: Callable[[Term], float]) -> float:
    """Return the smallest nonzero magnitude of a term within `found`, with parts within `ranges`.

    `least` gives the same of each part.
    """
    if not found.has_zero or found.whole:
        return max(found.least_magnitude, MIN)
    parts = [least(part) for part in term.parts]
    return max(_of(term, ranges, parts), MIN)


def _of(term: Term, ranges: list[Interval], parts: list[float]) -> float:
    match term.operation:
        case "add" | "subtract":
            return _sum(ranges, parts)
        case "multiply":
            return parts[0] * parts[1]
        case "divide":
            return parts[0] / ranges[1].magnitude if ranges[1].magnitude > 0.0 else MIN
        case "negate" | "abs":
            return parts[0]
        case "min" | "max":
            return min(parts)
        case "choose":
            return min(parts[1:])
        case "sqrt":
            return math.sqrt(parts[0])
        case "log" | "log2" | "log10":
            return 1e-17  # below the logarithms of the neighbours of 1
        case "log1p" | "tanh" | "atan":
            return min(parts[0], 1.0) * 0.4
        case "expm1":
            return min(parts[0], 1.0) * 0.4
        case "power":
            return _power(ranges, parts)
    return MIN


def _sum(ranges: list[Interval], parts: list[float]) -> float:
    """Bound a sum: with one summand 0 it is the other; otherwise it is 0 or at least a unit of the larger."""
    cases = [max(parts) * _CANCELLED]
    if ranges[0].has_zero:
        cases.append(parts[1])
    if ranges[1].has_zero:
        cases.append(parts[0])
    return min(cases)


def _power(ranges: list[Interval], parts: list[float]) -> float:
    base, exponent = ranges
    most = max(abs(exponent.low), abs(exponent.high))
    extremes = [parts[0], base.magnitude]
    logs = [abs(math.log(x)) for x in extremes if x > 0.0]
    return math.exp(-max(logs, default=0.0) * most) * _CAREFUL if max(logs, default=0.0) * most < 700.0 else MIN


_MAX_CONSEQUENCES = 60


class Contradiction(Exception):
    """The tests cannot all hold: any claim about such inputs is true."""


class Facts:
    """Facts about terms, immutable once made; `assume` returns an extended copy.

    Raises Contradiction where no input satisfies them.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._parent: Facts | None = None
        self._refined: dict[Term, Interval] = {}
        self._decided: dict[Term, bool] = {}
        self._above: dict[Term, list[tuple[Term, bool]]] = {}
        self._below: dict[Term, list[tuple[Term, bool]]] = {}
        self._touched = 0
        self._ranges: dict[Term, Interval] = {}
        self._magnitudes: dict[Term, float] = {}
        self._cases: dict[tuple[Term, bool], Facts | None] = {}
        self._consequences = 0

    def assume(self, test: Term, holds: bool = True) -> Facts:
        """Return the facts if the test holds too, or fails. Raises Contradiction."""
        key = (test, holds)
        if key not in self._cases:
            try:
                self._cases[key] = self._with(test, holds)
            except Contradiction:
                self._cases[key] = None
        found = self._cases[key]
        if found is None:
            raise Contradiction
        return found

    def _with(self, test: Term, holds: bool) -> Facts:
        child = Facts(self.graph)
        child._parent = self
        child._refined = dict(self._refined)
        child._decided = dict(self._decided)
        child._above = {term: list(found) for term, found in self._above.items()}
        child._below = {term: list(found) for term, found in self._below.items()}
        child._assume(test, holds)
        return child

    # Queries

    def range(self, term: Term) -> Interval:
        """Return the term's bounds. Raises Contradiction."""
        found = self._ranges.get(term)
        if found is None:
            if self._parent is not None and not term.cone & self._touched:
                found = self._parent.range(term)
            else:
                found = self._range(term)
                if term in self._refined:
                    found = found & self._refined[term]
                    if found.low > found.high:
                        raise Contradiction
            self._ranges[term] = found
        return found

    def _range(self, term: Term) -> Interval:
        self.graph.work += 1
        match term.payload:
            case float() as value:
                return point(value)
            case Input(range=found) | Lookup(range=found):
                return found
        if term.is_test:
            held = self.decide(term)
            return TRUTH if held is None else point(float(held))
        if term.operation == "choose":
            return self._of_choice(*term.parts)
        found = bounds(term, [self.range(part) for part in term.parts], self._least)
        if term.operation == "subtract" and self._above:
            found = self._of_difference(term.parts[0], term.parts[1], found)
        return found

    def _least(self, term: Term) -> float:
        """Return the term's smallest nonzero magnitude."""
        found = self._magnitudes.get(term)
        if found is None:
            if self._parent is not None and not term.cone & self._touched:
                found = self._parent._least(term)
            else:
                ranges = [self.range(part) for part in term.parts]
                found = least_magnitude(term, ranges, self.range(term), self._least)
            self._magnitudes[term] = found
        return found

    def _of_choice(self, test: Term, then: Term, otherwise: Term) -> Interval:
        held = self.decide(test)
        if held is not None:
            return self.range(then if held else otherwise)
        return self.range(then) | self.range(otherwise)

    def _of_difference(self, a: Term, b: Term, found: Interval) -> Interval:
        """Tighten a difference: in float64 it has the sign of the exact one, even after rounding."""
        least = 1.0 if found.whole else 5e-324
        if self.ordered(b, a):
            found = found & Interval(least if self.ordered(b, a, True) else 0.0, MAX)
        if self.ordered(a, b):
            found = found & Interval(-MAX, -least if self.ordered(a, b, True) else 0.0)
        if found.low > found.high:
            raise Contradiction
        return found

    def ordered(self, a: Term, b: Term, strict: bool = False) -> bool:
        """Check whether a <= b, or a < b if `strict`, was assumed, directly or through other terms."""
        if a is b:
            return not strict
        pending, seen = [(a, not strict)], set()
        while pending:
            state = pending.pop()
            if state in seen:
                continue
            seen.add(state)
            term, enough = state
            for above, strictly in self._above.get(term, ()):
                if above is b and (enough or strictly):
                    return True
                pending.append((above, enough or strictly))
        return False

    def above(self, term: Term) -> list[tuple[Term, bool]]:
        """Return the terms assumed to be at least the term, each with whether strictly."""
        return self._above.get(term, [])

    def below(self, term: Term) -> list[tuple[Term, bool]]:
        return self._below.get(term, [])

    def decide(self, test: Term) -> bool | None:
        """Decide the test: True if it holds on all inputs, False if on none, None if unknown."""
        if test in self._decided:
            return self._decided[test]
        if test.number is not None:
            return test.number != 0.0
        if test.operation in ("less", "at_most"):
            return self._is_below(test.parts[0], test.parts[1], test.operation == "less")
        if test.operation in ("equal", "differs"):
            equal = self._equal(*test.parts)
            return equal if equal is None or test.operation == "equal" else not equal
        found = self.range(test)
        if not found.has_zero:
            return True
        return False if found.low == found.high == 0.0 else None

    def _is_below(self, a: Term, b: Term, strict: bool) -> bool | None:
        x, y = self.range(a), self.range(b)
        if x.high < y.low or (x.high <= y.low and not strict) or self.ordered(a, b, strict):
            return True
        if y.high < x.low or (y.high <= x.low and strict) or self.ordered(b, a, not strict):
            return False
        return None

    def _equal(self, a: Term, b: Term) -> bool | None:
        x, y = self.range(a), self.range(b)
        if x.high < y.low or y.high < x.low or self.ordered(a, b, True) or self.ordered(b, a, True):
            return False
        if x.low == x.high == y.low == y.high or (self.ordered(a, b) and self.ordered(b, a)):
            return True
        return None

    def head(self, term: Term) -> Term:
        """Return an equal term whose outermost operation is not a decided choice, sign or rounding."""
        while True:
            if term.operation == "choose":
                held = self.decide(term.parts[0])
                if held is None:
                    return term
                term = term.parts[1 if held else 2]
            elif term.operation == "abs" and self.range(term.parts[0]).low >= 0.0:
                term = term.parts[0]
            elif term.operation == "abs" and self.range(term.parts[0]).high <= 0.0:
                term = self.graph.operate("negate", term.parts[0])
            elif term.operation in ("floor", "ceil", "round", "trunc") and self.range(term.parts[0]).whole:
                term = term.parts[0]
            elif term.operation in ("min", "max"):
                a, b = term.parts
                held = self._is_below(a, b, False)
                if held is None:
                    return term
                term = a if held == (term.operation == "min") else b
            else:
                found = self.range(term)
                return self.graph.number(found.low) if found.low == found.high else term

    # Propagation, during construction

    def _assume(self, test: Term, holds: bool) -> None:
        known = self.decide(test)
        if known is not None:
            if known != holds:
                raise Contradiction
            return
        self._decided[test] = holds
        self._touch(test)
        if test.is_test:
            opposite = self.graph.negation(test)
            self._decided[opposite] = not holds
            self._touch(opposite)
            if not holds:
                test, holds = opposite, True
        match test.operation, test.parts:
            case "less", (a, b):
                self._put_below(a, b, True)
            case "at_most", (a, b):
                self._put_below(a, b, False)
            case "equal", (a, b):
                self._put_below(a, b, False)
                self._put_below(b, a, False)
            case "differs", (a, b):
                self._put_apart(a, b)
            case "choose", parts:
                self._assume_choice(parts, holds)
            case _:
                if holds:
                    self._put_apart(test, self.graph.zero)
                else:
                    self._bound(test, 0.0, 0.0)

    def _assume_choice(self, parts: tuple[Term, ...], holds: bool) -> None:
        test, then, otherwise = parts
        if self.decide(then) is not None and self.decide(then) != holds:
            self._assume(test, False)
            self._assume(otherwise, holds)
        elif self.decide(otherwise) is not None and self.decide(otherwise) != holds:
            self._assume(test, True)
            self._assume(then, holds)

    def _touch(self, term: Term) -> None:
        self._touched |= 1 << term.index
        self._cases.clear()
        self._magnitudes.clear()
        self._ranges = {t: r for t, r in self._ranges.items() if not t.cone & (1 << term.index)}

    def _put_below(self, a: Term, b: Term, strict: bool) -> None:
        if self.ordered(b, a, not strict):
            raise Contradiction
        x, y = self.range(a), self.range(b)
        if a.number is None and b.number is None and not self.ordered(a, b, strict):
            self._above.setdefault(a, []).append((b, strict))
            self._below.setdefault(b, []).append((a, strict))
            self._touch(a)  # the bounds of their difference change
            self._touch(b)
        self._bound(a, -MAX, math.nextafter(y.high, -math.inf) if strict else y.high)
        self._bound(b, math.nextafter(x.low, math.inf) if strict else x.low, MAX)

    def _put_apart(self, a: Term, b: Term) -> None:
        for one, other in ((a, b), (b, a)):
            x, y = self.range(one), self.range(other)
            if y.low == y.high == x.low:
                self._bound(one, math.nextafter(x.low, math.inf), MAX)
            elif y.low == y.high == x.high:
                self._bound(one, -MAX, math.nextafter(x.high, -math.inf))

    def _bound(self, term: Term, low: float, high: float) -> None:
        """Bound the term, and those that are known to be above or below it."""
        old = self.range(term)
        new = old & Interval(low, high)
        if new.low > new.high:
            raise Contradiction
        if new == old or term.number is not None:
            return
        self._refined[term] = self._refined.get(term, new) & new
        self._touch(term)
        self._consequences += 1
        if self._consequences <= _MAX_CONSEQUENCES:
            for above, strict in list(self._above.get(term, ())):
                self._bound(above, math.nextafter(new.low, math.inf) if strict else new.low, MAX)
            for below, strict in list(self._below.get(term, ())):
                self._bound(below, -MAX, math.nextafter(new.high, -math.inf) if strict else new.high)
