"""Terms of a proof: a DAG in which equal terms are one object.

A policy, both copies of it if a property compares two inputs, and the property's own conditions are unfolded into
the same graph. -0.0 and 0.0 are one number here: operations cannot tell them apart except by the sign of another zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from vulcan.anvil import ir
from vulcan.anvil.analysis.intervals import Interval
from vulcan.anvil.grammar import grammar

MAX_TERMS = 1_500
MAX = 120

COMPARISONS = {"less": "at_least", "at_most": "more", "equal": "differs", "differs": "equal"}
"""Tests of two numbers. `more` and `at_least` are written as `less` and `at_most` with swapped operands."""


class TooLarge(Exception):
    """The unfolded program exceeds the limits on terms of a proof."""


@dataclass(frozen=True, slots=True)
class Input:
    """A number given to the program: a feature, a statistic or an answer of a history.

    `copy` is 0 if both copies of a two-copy property see the same number, else 1 or 2.
    """

    name: str
    range: Interval
    copy: int = 0


@dataclass(frozen=True, slots=True)
class Lookup:
    """An unknown function of the value looked for, or of an array's index; `Term.parts` is that value.

    `source` is the statistic, or the array.
    """

    source: ir.Statistic | ir.Cell
    name: str
    range: Interval


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A node: `operation` is `number`, `input`, `lookup`, `choose`, a test of COMPARISONS, or of the grammar table.

    `cone` has a bit for this term and for each of its descendants.
    """

    index: int
    operation: str
    parts: tuple[Term, ...]
    payload: float | Input | Lookup | None
    depth: int
    cone: int = field(repr=False)

    @property
    def number(self) -> float | None:
        return self.payload if isinstance(self.payload, float) else None

    @property
    def is_test(self) -> bool:
        return self.operation in COMPARISONS


class Graph:
    """Factory of terms; folds constants, by the definitions of the language, and input-independent terms."""

    def __init__(self) -> None:
        self.terms: list[Term] = []
        self.work = 0
        """Number of term bounds computed so far."""
        self._known: dict[tuple[object, ...], Term] = {}
        self.zero, self.one = self.number(0.0), self.number(1.0)

    def _make(
        self, operation: str, parts: tuple[Term, ...] = (), payload: float | Input | Lookup | None = None
    ) -> Term:
        key = (operation, payload, *(part.index for part in parts))
        found = self._known.get(key)
        if found is None:
            index = len(self.terms)
            depth = 1 + max((part.depth for part in parts), default=0)
            if index >= MAX_TERMS:
                raise TooLarge(f"unfolded, it has more than {MAX_TERMS:,} terms")
            if depth > MAX:
                raise TooLarge(f"unfolded, it is a chain of more than {MAX} operations")
            cone = 1 << index
            for part in parts:
                cone |= part.cone
            found = self._known[key] = Term(index, operation, parts, payload, depth, cone)
            self.terms.append(found)
        return found

    def number(self, value: float) -> Term:
        return self._make("number", (), value + 0.0)  # turns -0.0 into 0.0

    def input(self, given: Input) -> Term:
        if given.range.low == given.range.high:
            return self.number(given.range.low)
        return self._make("input", (), given)

    def lookup(self, asked: Lookup, value: Term) -> Term:
        return self._make("lookup", (value,), asked)

    def choose(self, test: Term, then: Term, otherwise: Term) -> Term:
        """Return `then` where the test is not 0, else `otherwise`."""
        test = self.truth(test)
        if test.number is not None:
            return then if test.number != 0.0 else otherwise
        if then.operation == "choose" and then.parts[0] is test:
            then = then.parts[1]
        if otherwise.operation == "choose" and otherwise.parts[0] is test:
            otherwise = otherwise.parts[2]
        if then is otherwise:
            return then
        if then is self.one and otherwise is self.zero:
            return test
        if then is self.zero and otherwise is self.one:
            return self.negation(test)
        return self._make("choose", (test, then, otherwise))

    def is_truth(self, term: Term) -> bool:
        """Check whether the term can only be 0 or 1."""
        if term.operation == "choose":
            return self.is_truth(term.parts[1]) and self.is_truth(term.parts[2])
        return term.is_test or term is self.zero or term is self.one

    def truth(self, term: Term) -> Term:
        """Return 1 where the term is not 0, else 0."""
        if self.is_truth(term):
            return term
        if term.operation == "choose":
            test, then, otherwise = term.parts
            return self.choose(test, self.truth(then), self.truth(otherwise))
        return self.compare("!=", term, self.zero)

    def negation(self, test: Term) -> Term:
        match test.operation, test.parts:
            case "less", (a, b):
                return self._compare("at_most", b, a)
            case "at_most", (a, b):
                return self._compare("less", b, a)
            case ("equal" | "differs") as operation, (a, b):
                return self._compare(COMPARISONS[operation], a, b)
            case "choose", (inner, then, otherwise):
                return self.choose(inner, self.negation(then), self.negation(otherwise))
            case _:
                return self.compare("==", test, self.zero)

    def both(self, a: Term, b: Term) -> Term:
        """Return 1 where both tests hold, else 0."""
        return self.choose(a, self.truth(b), self.zero)

    def compare(self, operator: str, a: Term, b: Term) -> Term:
        """Return a comparison by its operator in the source."""
        match operator:
            case "<":
                return self._compare("less", a, b)
            case "<=":
                return self._compare("at_most", a, b)
            case ">":
                return self._compare("less", b, a)
            case ">=":
                return self._compare("at_most", b, a)
            case _:
                return self._compare("equal" if operator == "==" else "differs", a, b)

    def _compare(self, operation: str, a: Term, b: Term) -> Term:
        if a is b:
            return self.one if operation in ("at_most", "equal") else self.zero
        if a.number is not None and b.number is not None:
            holds = {
                "less": a.number < b.number,
                "at_most": a.number <= b.number,
                "equal": a.number == b.number,
                "differs": a.number != b.number,
            }[operation]
            return self.one if holds else self.zero
        if operation in ("equal", "differs"):
            if a.index > b.index:
                a, b = b, a
            for test, other in ((a, b), (b, a)):  # a truth compared with 0 or 1 is itself, or its negation
                if self.is_truth(test) and (other is self.zero or other is self.one):
                    return test if (operation == "equal") == (other is self.one) else self.negation(test)
        return self._make(operation, (a, b))

    def operate(self, operation: str, *operands: Term) -> Term:
        """Return an operation of the grammar table."""
        match operation:
            case "plus":
                return operands[0]
            case "truth":
                return self.truth(operands[0])
            case "not":
                return self.negation(self.truth(operands[0]))
            case "and" | "or" | "min" | "max" if len(operands) > 2:
                return self.operate(operation, self.operate(operation, *operands[:-1]), operands[-1])
            case "and":
                return self.choose(operands[0], operands[1], self.zero)
            case "or":
                return self.choose(operands[0], operands[0], operands[1])
        numbers = [operand.number for operand in operands]
        if None not in numbers:
            return self.number(grammar.OPERATIONS[operation].evaluate(*numbers))
        return self._folded(operation, operands) or self._make(operation, self._ordered(operation, operands))

    def _ordered(self, operation: str, operands: tuple[Term, ...]) -> tuple[Term, ...]:
        if operation in ("add", "multiply", "min", "max"):
            return tuple(sorted(operands, key=lambda term: term.index))
        return operands

    def _folded(self, operation: str, operands: tuple[Term, ...]) -> Term | None:
        """Return a simpler term that is the same float64 for every finite operand; None if there is none."""
        match operation, operands:
            case "add", (a, b) if self.zero in (a, b):
                return b if a is self.zero else a
            case "subtract", (a, b) if b is self.zero or a is b:
                return self.zero if a is b else a
            case "multiply", (a, b) if self.zero in (a, b):
                return self.zero
            case "multiply", (a, b) if self.one in (a, b):
                return b if a is self.one else a
            case "divide", (a, b) if b is self.one or a is self.zero or b is self.zero:
                return a if b is self.one else self.zero
            case (("floor_divide" | "modulo"), (a, b)) if self.zero in (a, b):
                return self.zero
            case "modulo", (a, b) if a is b:
                return self.zero
            case "negate", (Term(operation="negate", parts=(a,)),):
                return a
            case (("min" | "max"), (a, b)) if a is b:
                return a
            case "power", (_, b) if b is self.zero:
                return self.one
            case (("floor" | "ceil" | "round" | "trunc" | "abs"), (a,)) if a.operation == operation or a.is_test:
                return a
        return None


def parts_within(term: Term) -> Iterator[Term]:
    """Yield the term and all its descendants, each once, parts first."""
    seen: set[int] = set()
    pending = [term]
    found: list[Term] = []
    while pending:
        current = pending.pop()
        if current.index not in seen:
            seen.add(current.index)
            found.append(current)
            pending.extend(current.parts)
    yield from sorted(found, key=lambda t: t.index)
