"""What a condition says of the values behind it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from vulcan.anvil import program as p
from vulcan.anvil.flow.intervals import ANYTHING, Interval, point
from vulcan.anvil.flow.known import LEAST, Known, Source, State, join
from vulcan.anvil.flow.shared import Shared
from vulcan.anvil.semantics import LARGEST

_REVERSED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_NEGATIVE = Interval(-LARGEST, -LEAST)


class Conditions(ABC):
    """The half of a walk that narrows; a state of None is a place that is not reached."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.findings = shared.findings

    @abstractmethod
    def value(self, e: p.Expression, state: State) -> Known:
        """What is known of an expression there."""

    def fork(
        self, test: p.Expression, state: State, at: p.Position
    ) -> tuple[State | None, State | None, frozenset[Source]]:
        """The states where the test holds and where it does not, and what that depends on."""
        known = self.value(test, state)
        then = self.where(test, True, state) if known.may_be_other_than_zero else None
        otherwise = self.where(test, False, state) if known.may_be_zero else None
        seen = self.findings.outcomes.setdefault((at, test), set())
        seen.update(outcome for outcome, way in ((True, then), (False, otherwise)) if way is not None)
        return then, otherwise, known.depends if then is not None and otherwise is not None else frozenset()

    def where(self, e: p.Expression, holds: bool, state: State) -> State | None:
        """What is known where the condition holds, or where it does not; None where that cannot be."""
        if not self.shared.narrows:
            return state
        self.shared.depth += 1
        narrowed = self.narrowed(e, holds, state)
        self.shared.depth -= 1
        return narrowed

    def narrowed(self, e: p.Expression, holds: bool, state: State) -> State | None:
        match e:
            case p.Operate("not", (operand,)):
                return self.where(operand, not holds, state)
            case p.Operate("truth", (operand,)):
                return self.where(operand, holds, state)
            case p.Operate("and" | "or" as operation, operands):
                return self.where_sequence(operands, operation == "and", holds, state)
            case p.Compare(operators, operands) if holds:
                rest: State | None = state
                for op, a, b in zip(operators, operands, operands[1:], strict=False):
                    rest = self.related(a, op, b, rest) if rest is not None else None
                return rest
            case p.Compare((op,), (a, b)):
                return self.related(a, _REVERSED[op], b, state)
            case p.Compare():
                return state
            case _:
                return self.learned(e, ANYTHING if holds else point(0.0), holds, state)

    def where_sequence(
        self, operands: tuple[p.Expression, ...], is_and: bool, holds: bool, state: State
    ) -> State | None:
        rest: State | None = state
        if holds == is_and:  # each of them
            for operand in operands:
                rest = self.where(operand, holds, rest) if rest is not None else None
            return rest
        decided: State | None = None  # the first of them that decides
        for operand in operands:
            if rest is None:
                break
            decided = join(decided, self.where(operand, holds, rest))
            rest = self.where(operand, not holds, rest)
        return decided

    def related(self, a: p.Expression, op: str, b: p.Expression, state: State) -> State | None:
        """What is known where `a op b`."""
        if op in (">", ">="):
            return self.related(b, "<" if op == ">" else "<=", a, state)
        known_a, known_b = self.value(a, state).bounds, self.value(b, state).bounds
        new: State | None = state
        match op:
            case "<":
                new = self.learned(a, Interval(-LARGEST, _just(known_b.high, -1)), False, new)
                new = self.learned(b, Interval(_just(known_a.low, 1), LARGEST), False, new)
                difference = _NEGATIVE
            case "<=":
                new = self.learned(a, Interval(-LARGEST, known_b.high), False, new)
                new = self.learned(b, Interval(known_a.low, LARGEST), False, new)
                difference = Interval(-LARGEST, 0.0)
            case "==":
                new = self.learned(a, known_b, False, new)
                new = self.learned(b, known_a, False, new)
                difference = point(0.0)
            case _:
                if known_b.low == known_b.high == 0.0:
                    new = self.learned(a, ANYTHING, True, new)
                elif known_a.low == known_a.high == 0.0:
                    new = self.learned(b, ANYTHING, True, new)
                difference = ANYTHING
        if new is None:
            return None
        new = new.copy()
        opposite = Interval(-difference.high, -difference.low)
        possible = new.learn(p.Operate("subtract", (a, b)), difference, op in ("<", "!="))
        return new if new.learn(p.Operate("subtract", (b, a)), opposite, op in ("<", "!=")) and possible else None

    def learned(self, e: p.Expression, bounds: Interval, nonzero: bool, state: State | None) -> State | None:
        """What is known where the expression lies within the bounds, and perhaps is not 0."""
        if state is None:
            return None
        known = self.value(e, state).narrowed(bounds, nonzero)
        if known is None:
            return None
        if isinstance(e, p.Number | p.Parameter):
            return state
        new = state.copy()
        if not isinstance(e, p.Local):
            return new if new.learn(e, known.bounds, nonzero) else None
        new.names[e.name] = Known(known.bounds, known.nonzero, state.names[e.name].depends)
        meaning = new.meanings.get(e.name)
        if meaning is None:
            return new
        if nonzero and isinstance(meaning, p.Compare | p.Operate):
            return self.where(meaning, True, new)
        if bounds == point(0.0) and isinstance(meaning, p.Compare | p.Operate):
            return self.where(meaning, False, new)
        return new if new.learn(meaning, known.bounds, nonzero) else None


def _just(x: float, sign: int) -> float:
    """The next float64 above or below, as far as there is one."""
    return min(max(math.nextafter(x, sign * math.inf), -LARGEST), LARGEST)
