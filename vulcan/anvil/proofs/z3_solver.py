"""Proofs by z3, for claims with neither certificate nor counterexample.

Terms become formulas of real arithmetic for z3, of which every float64 execution is a solution. A correctly rounded
result r of an exact e is a variable with |r - e| <= 2**-53 |e| + 2**-1075, or e itself if both are integers below
2**53. Rounding is monotone and preserves float64 numbers: r is not below an operand, or 0, that e is not below, and
results of the same operation in the two copies are in the order of the exact ones. Saturation, x/0 = 0 and the domains
of functions are as in the language. Functions of the mathematical library are equal for equal arguments and lie within
their bounds; nothing else is assumed about them. So unsatisfiable means proved in float64, while a solution is only a
hint where to look for a counterexample.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import z3

from vulcan.anvil.proofs.claims import Claim
from vulcan.anvil.proofs.facts import Facts
from vulcan.anvil.proofs.ranges import MAX_EXACT_FLOOR, is_exact
from vulcan.anvil.proofs.terms import Term
from vulcan.anvil.semantics import MAX

_UNIT = Fraction(1, 2**53)
_UNDERFLOW = Fraction(1, 2**1075)
_ROUNDED = ("add", "subtract", "multiply", "divide", "sqrt")

Formula = Any  # z3 has no type annotations


class Encoding:
    """Formulas of terms; `whole` inputs are integers if `integers` is set, otherwise any reals in their range."""

    def __init__(self, known: Facts, context: z3.Context, integers: bool) -> None:
        self._known = known
        self._context = context
        self._integers = integers
        self._numbers: dict[Term, Formula] = {}
        self._exact: dict[Term, Formula] = {}
        self.constraints: list[Formula] = []
        self.inputs: dict[Term, Formula] = {}

    def value(self, number: float | Fraction) -> Formula:
        fraction = Fraction(number)
        return z3.RealVal(f"{fraction.numerator}/{fraction.denominator}", self._context)

    def number(self, term: Term) -> Formula:
        """Return the term's value."""
        term = self._known.head(term)
        if term not in self._numbers:
            self._numbers[term] = self._number(term)
        return self._numbers[term]

    def assumption(self, term: Term) -> Formula:
        """Return the formula that an assumed term is not 0, without using the facts, which include it."""
        return self._test(term, Facts(self._known.graph))

    def test(self, term: Term) -> Formula:
        """Return the formula that the term is not 0."""
        return self._test(term, self._known)

    def _test(self, term: Term, known: Facts) -> Formula:
        decided = known.decide(term)
        if decided is not None:
            return z3.BoolVal(decided, self._context)
        match term.operation, term.parts:
            case "less", (a, b):
                return self.number(a) < self.number(b)
            case "at_most", (a, b):
                return self.number(a) <= self.number(b)
            case "equal", (a, b):
                return self.number(a) == self.number(b)
            case "differs", (a, b):
                return self.number(a) != self.number(b)
            case "choose", (case, then, otherwise):
                return z3.If(self._test(case, known), self._test(then, known), self._test(otherwise, known))
        return self.number(term) != 0

    def twins(self, u: Term, v: Term, seen: set[tuple[Term, Term]] | None = None) -> None:
        """Relate one operation in the two copies.

        If it only rounds, the results are in the order of the exact ones; otherwise equal operands have equal results.
        """
        u, v = self._known.head(u), self._known.head(v)
        seen = set() if seen is None else seen
        if u is v or (u, v) in seen or u.operation != v.operation or not u.parts:
            return
        seen.add((u, v))
        for a, b in zip(u.parts, v.parts, strict=True):
            self.twins(a, b, seen)
        if u.is_test or u.operation == "choose" or (u.operation == "lookup" and u.payload != v.payload):
            return
        r, s = self.number(u), self.number(v)
        if u in self._exact and v in self._exact:
            e, f = self._exact[u], self._exact[v]
            self.constraints += [z3.Implies(e <= f, r <= s), z3.Implies(f <= e, s <= r)]
            return
        same = [self.number(a) == self.number(b) for a, b in zip(u.parts, v.parts, strict=True)]
        self.constraints.append(z3.Implies(z3.And(*same), r == s))

    def _variable(self, term: Term, integer: bool = False) -> Formula:
        found = self._known.range(term)
        name = f"t{term.index}"
        made = z3.ToReal(z3.Int(name, self._context)) if integer else z3.Real(name, self._context)
        self.constraints += [made >= self.value(found.low), made <= self.value(found.high)]
        return made

    def _number(self, term: Term) -> Formula:
        if term.number is not None:
            return self.value(term.number)
        if term.is_test:
            return z3.If(self.test(term), self.value(1.0), self.value(0.0))
        if term.operation in ("input", "lookup"):
            made = self._variable(term, self._integers and self._known.range(term).whole)
            self.inputs[term] = made
            for part in term.parts:
                self.number(part)
            return made
        if term.operation == "choose":
            case, then, otherwise = term.parts
            return z3.If(self.test(case), self.number(then), self.number(otherwise))
        operands = [self.number(part) for part in term.parts]
        if term.operation in _ROUNDED:
            return self._rounded(term, operands)
        return self._other(term, operands)

    def _rounded(self, term: Term, operands: list[Formula]) -> Formula:
        exact = self._exactly(term, operands)
        found = self._known.range(term)
        ring = term.operation in ("add", "subtract", "multiply")
        if ring and is_exact(found) and all(self._known.range(part).whole for part in term.parts):
            if self._integers:
                return exact
            made = exact  # exact for integers; other reals are no solutions anyway
            self.constraints += [made >= self.value(found.low), made <= self.value(found.high)]
            return made
        made = self._variable(term)
        self._exact[term] = exact
        low, high = self.value(1 - _UNIT), self.value(1 + _UNIT)
        off = self.value(_UNDERFLOW)
        near = z3.If(
            exact >= 0,
            z3.And(made >= exact * low - off, made <= exact * high + off),
            z3.And(made >= exact * high - off, made <= exact * low + off),
        )
        if found.magnitude >= MAX:
            most, least = self.value(MAX), self.value(-MAX)
            near = z3.If(exact >= most, made == most, z3.If(exact <= least, made == least, near))
        self.constraints.append(near)
        for anchor in (self.value(0.0), *operands):
            self.constraints += [
                z3.Implies(exact >= anchor, made >= anchor), z3.Implies(exact <= anchor, made <= anchor)
            ]  # fmt: skip
        return made

    def _exactly(self, term: Term, operands: list[Formula]) -> Formula:
        match term.operation, operands:
            case "add", (a, b):
                return a + b
            case "subtract", (a, b):
                return a - b
            case "multiply", (a, b):
                return a * b
            case "divide", (a, b):
                if term.parts[1].number is not None:
                    return a / b
                quotient = z3.Real(f"q{term.index}", self._context)
                self.constraints.append(z3.If(b == 0, quotient == 0, quotient * b == a))
                return quotient
        (a,) = operands
        root = z3.Real(f"q{term.index}", self._context)
        self.constraints += [root >= 0, z3.If(a <= 0, root == 0, root * root == a)]
        return root

    def _other(self, term: Term, operands: list[Formula]) -> Formula:
        match term.operation, operands:
            case "negate", (a,):
                return -a
            case "abs", (a,):
                return z3.If(a >= 0, a, -a)
            case "min", (a, b):
                return z3.If(a <= b, a, b)
            case "max", (a, b):
                return z3.If(a >= b, a, b)
            case "floor", (a,):
                return z3.ToReal(z3.ToInt(a))
            case "ceil", (a,):
                return -z3.ToReal(z3.ToInt(-a))
            case "trunc", (a,):
                return z3.If(a >= 0, z3.ToReal(z3.ToInt(a)), -z3.ToReal(z3.ToInt(-a)))
        made = self._variable(term)
        small = self._known.range(term).magnitude < MAX_EXACT_FLOOR
        divided = term.operation == "floor_divide" and term.parts[1].number not in (None, 0.0)
        if divided and small:
            self.constraints.append(made == z3.ToReal(z3.ToInt(operands[0] / operands[1])))
        if term.operation == "round":
            half = self.value(0.5)
            self.constraints += [made - operands[0] <= half, operands[0] - made <= half, z3.IsInt(made)]
        return made


_SEED = 1


@dataclass(frozen=True, slots=True)
class Effort:
    """Limits for z3: `steps` of its own counter, which are reproducible, and `deadline` in interactive use.

    The deadline is of `time.perf_counter`.
    """

    steps: int
    deadline: float


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of z3: `holds` is a proof; `hints` are solutions in the reals, maybe near a float64 counterexample."""

    holds: bool
    hints: tuple[dict[Term, float], ...]
    reason: Literal["", "gave up", "only in the reals"]


def ask(statement: Claim, known: Facts, effort: Effort) -> Answer:
    """Ask z3 whether the statement holds; `known` are the facts that its assumptions imply."""
    hints = []
    for integers in (False, True):
        context = z3.Context()
        encoding = Encoding(known, context, integers)
        fails = z3.Not(encoding.test(statement.concluded))
        assumed = [encoding.assumption(test) for test in statement.assumed]
        if len(statement.copies) == 2:
            encoding.twins(*statement.copies)
        solver = z3.Solver(ctx=context)
        solver.set("random_seed", _SEED)
        solver.set("rlimit", effort.steps)
        if math.isfinite(effort.deadline):
            left = effort.deadline - time.perf_counter()
            solver.set("timeout", max(int(1000 * left * (1.0 if integers else 0.5)), 1))
        solver.add(*encoding.constraints, *assumed, fails)
        match str(solver.check()):
            case "unsat":
                return Answer(True, (), "")
            case "sat":
                hints.append(_solution(solver.model(), encoding))
            case _:
                return Answer(False, tuple(hints), "gave up")
    return Answer(False, tuple(hints), "only in the reals")


def _solution(model: Any, encoding: Encoding) -> dict[Term, float]:
    return {term: _float(model.eval(made, model_completion=True)) for term, made in encoding.inputs.items()}


def _float(value: Any) -> float:
    if z3.is_algebraic_value(value):
        value = value.approx(30)
    if not z3.is_rational_value(value):
        return 0.0
    return float(Fraction(value.numerator_as_long(), value.denominator_as_long()))
