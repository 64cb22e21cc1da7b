"""Facts about a program's values at one point: bounds, zeros, dependences, and the effects of conditions.

`Shared` is the state of a whole program's analysis: its findings and its limits. `Conditions` narrows values by
conditions.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from vulcan.anvil import ir
from vulcan.anvil.analysis.intervals import ANYTHING, Bounds, Interval, declared_bounds, point
from vulcan.anvil.semantics import MAX
from vulcan.task import Signature

Source = ir.Read | ir.Statistic | ir.Query | ir.Local | ir.Cell | ir.Draw
"""A source that a value can depend on: an input of the function, the state, or (in a helper) one of its arguments.

An array is one source, a `Cell` of its name.
"""

MIN = math.nextafter(0.0, 1.0)


class AbstractValue(NamedTuple):
    """Bounds of a value, and the sources it depends on."""

    bounds: Interval
    depends: frozenset[Source] = frozenset()

    @property
    def may_be_zero(self) -> bool:
        return self.bounds.has_zero

    @property
    def may_be_other_than_zero(self) -> bool:
        return not self.bounds.low == self.bounds.high == 0.0

    @property
    def is_one_value(self) -> bool:
        return self.bounds.low == self.bounds.high

    def __or__(self, other: AbstractValue) -> AbstractValue:
        return AbstractValue(self.bounds | other.bounds, self.depends | other.depends)

    def narrowed(self, bounds: Interval, nonzero: bool = False) -> AbstractValue | None:
        """Return the value restricted to these bounds too, and to what is not 0; None where that is empty."""
        met = meet(self.bounds, bounds)
        met = without_zero(met) if met is not None and nonzero else met
        return None if met is None else AbstractValue(met, self.depends)


UNKNOWN = AbstractValue(ANYTHING)


def meet(a: Interval, b: Interval) -> Interval | None:
    """Return the intersection; None where it is empty."""
    met = a & b
    return met if met.low <= met.high else None


def without_zero(a: Interval) -> Interval | None:
    """Return the bounds without a 0 at either end; None where they contain nothing else."""
    if a.low == a.high == 0.0:
        return None
    least = 1.0 if a.whole else MIN
    return Interval(least if a.low == 0.0 else a.low, -least if a.high == 0.0 else a.high, a.whole)


@dataclass
class State:
    """Knowledge at one point: values of locals, bounds of expressions, and the expression that each local equals.

    Registers and fields that were written since the function began are locals too. `facts` and `meanings` hold until a
    local in them is assigned again. `values` has what expressions of the program were found to be here, by identity: a
    state is changed only while it has none.
    """

    names: dict[str, AbstractValue] = field(default_factory=dict)
    facts: dict[ir.Expression, Interval] = field(default_factory=dict)
    meanings: dict[str, ir.Expression] = field(default_factory=dict)
    values: dict[int, AbstractValue] = field(default_factory=dict, compare=False)

    def copy(self) -> State:
        return State(dict(self.names), dict(self.facts), dict(self.meanings))

    def assign(self, name: str, known: AbstractValue, value: ir.Expression | None = None) -> None:
        """Assign a new value to the local, computed by `value`."""
        self.forget(name)
        self.names[name] = known
        if value is not None and name not in locals_of(value):
            self.meanings[name] = value

    def forget(self, name: str) -> None:
        """Drop what was known of the local, or of the elements of the array."""
        self.facts = {e: fact for e, fact in self.facts.items() if name not in locals_of(e)}
        self.meanings = {n: e for n, e in self.meanings.items() if n != name and name not in locals_of(e)}

    def learn(self, expression: ir.Expression, bounds: Interval) -> bool:
        """Add a fact; return False where it contradicts another."""
        met = meet(self.facts.get(expression, ANYTHING), bounds)
        if met is not None:
            self.facts[expression] = met
        return met is not None

    def __or__(self, other: State) -> State:
        """Join two states: retain facts that hold in both."""
        return State(
            {name: self.names[name] | other.names[name] for name in self.names.keys() & other.names.keys()},
            {e: self.facts[e] | other.facts[e] for e in self.facts.keys() & other.facts.keys()},
            {name: e for name, e in self.meanings.items() if other.meanings.get(name) == e},
        )

    def widened(self, earlier: State) -> State:
        """Widen: move every bound that still changes so far out that it cannot change again."""
        names = {}
        for name, known in self.names.items():
            bounds = widened(earlier.names.get(name, known).bounds, known.bounds)
            names[name] = AbstractValue(bounds, known.depends)
        facts = {e: fact for e, fact in self.facts.items() if earlier.facts.get(e) == fact}
        return State(names, facts, self.meanings)


def widened(before: Interval, now: Interval) -> Interval:
    """Return the bounds with every one that has changed moved so far out that it cannot change again."""
    low = before.low if now.low >= before.low else 0.0 if now.low >= 0.0 else -MAX
    high = before.high if now.high <= before.high else 0.0 if now.high <= 0.0 else MAX
    return Interval(low, high, now.whole and abs(low) < MAX > abs(high))


def join(a: State | None, b: State | None) -> State | None:
    """Join two states; None means unreachable."""
    return a | b if a is not None and b is not None else a if b is None else b


@lru_cache(maxsize=4096)  # each time that a local is assigned, of every fact
def locals_of(expression: ir.Expression) -> frozenset[str]:
    """Return the locals and the state that the expression reads."""
    return frozenset(e.name for e in ir.parts(expression) if isinstance(e, ir.Local | ir.Cell | ir.Element))


_MAX_STEPS = 10_000
"""Evaluations of expressions after which a walk no longer narrows and unrolls: it stays sound, and terminates."""
_MAX_CALLS = 16
"""Analyses of one helper for different arguments; further calls share one analysis for any arguments."""
_MAX_NARROWING = 40

Place = tuple[ir.Position, ir.Expression]
"""Position of an expression, and the expression itself: several can begin at one position."""


@dataclass
class AnalysisResult:
    """The findings of a walk.

    `results` are those of each function that the task names; `outcomes` those of each condition; `stored` the bounds of
    what was written to state, `state` those that hold at any time; `values` those of each expression by identity, over
    all evaluations, if requested.
    """

    results: dict[str, AbstractValue] = field(default_factory=dict)
    outcomes: dict[Place, set[bool]] = field(default_factory=dict)
    stored: dict[str, Interval] = field(default_factory=dict)
    state: Mapping[str, Interval] = field(default_factory=dict)
    values: dict[int, Interval] | None = None


class Shared:
    """Shared state of the walks through one program; `walk` returns a function's result for given arguments."""

    walk: Callable[[ir.Function, dict[str, AbstractValue]], AbstractValue]

    def __init__(self, program: ir.Module, signature: Signature, any_parameters: bool) -> None:
        self.bounds: Bounds = declared_bounds(program, signature)
        if any_parameters:
            self.bounds.parameters = dict.fromkeys(self.bounds.parameters, ANYTHING)
        self.functions = {f.name: f for f in program.functions}
        self.findings = AnalysisResult()
        self.results: dict[tuple[str, tuple[Interval, ...]], AbstractValue] = {}
        self.calls: dict[str, int] = {}
        self.steps = 0
        self.depth = 0

    @property
    def narrows(self) -> bool:
        return self.steps < _MAX_STEPS and self.depth < _MAX_NARROWING

    def call(self, name: str, arguments: list[AbstractValue]) -> AbstractValue:
        """Return a helper's result for these arguments."""
        function = self.functions[name]
        key = (name, tuple(a.bounds for a in arguments))
        if key not in self.results:
            self.calls[name] = self.calls.get(name, 0) + 1
            if self.calls[name] > _MAX_CALLS or self.steps >= _MAX_STEPS:
                key = (name, (ANYTHING,) * len(arguments))
        if key not in self.results:
            names = {
                argument: AbstractValue(bounds, frozenset((ir.Local(argument),)))
                for argument, bounds in zip(function.arguments, key[1], strict=True)
            }
            self.results[key] = self.walk(function, names)
        result = self.results[key]
        depends: frozenset[Source] = frozenset()
        for argument, known in zip(function.arguments, arguments, strict=True):
            if ir.Local(argument) in result.depends:
                depends |= known.depends
        return AbstractValue(result.bounds, depends)


_REVERSED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_NEGATIVE = Interval(-MAX, -MIN)


class Conditions(ABC):
    """The narrowing half of a walk; a state of None means unreachable."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
        self.findings = shared.findings

    @abstractmethod
    def value(self, e: ir.Expression, state: State) -> AbstractValue:
        """Return the abstract value of an expression in a state."""

    def fork(
        self, test: ir.Expression, state: State, at: ir.Position
    ) -> tuple[State | None, State | None, frozenset[Source]]:
        """Return the states where the test holds and where it does not, and the sources that this depends on."""
        known = self.value(test, state)
        then = self.where(test, True, state) if known.may_be_other_than_zero else None
        otherwise = self.where(test, False, state) if known.may_be_zero else None
        seen = self.findings.outcomes.setdefault((at, test), set())
        seen.update(outcome for outcome, way in ((True, then), (False, otherwise)) if way is not None)
        return then, otherwise, known.depends if then is not None and otherwise is not None else frozenset()

    def where(self, e: ir.Expression, holds: bool, state: State) -> State | None:
        """Return the state where the condition holds, or where it does not; None where that is impossible."""
        if not self.shared.narrows:
            return state
        self.shared.depth += 1
        narrowed = self.narrowed(e, holds, state)
        self.shared.depth -= 1
        return narrowed

    def narrowed(self, e: ir.Expression, holds: bool, state: State) -> State | None:
        match e:
            case ir.Operate("not", (operand,)):
                return self.where(operand, not holds, state)
            case ir.Operate("truth", (operand,)):
                return self.where(operand, holds, state)
            case ir.Operate("and" | "or" as operation, operands):
                return self.where_sequence(operands, operation == "and", holds, state)
            case ir.Compare(operators, operands) if holds:
                rest: State | None = state
                for op, a, b in zip(operators, operands, operands[1:], strict=False):
                    rest = self.related(a, op, b, rest) if rest is not None else None
                return rest
            case ir.Compare((op,), (a, b)):
                return self.related(a, _REVERSED[op], b, state)
            case ir.Compare():
                return state
            case _:
                return self.learned(e, ANYTHING if holds else point(0.0), holds, state)

    def where_sequence(
        self, operands: tuple[ir.Expression, ...], is_and: bool, holds: bool, state: State
    ) -> State | None:
        rest: State | None = state
        if holds == is_and:  # all of them hold, or none
            for operand in operands:
                rest = self.where(operand, holds, rest) if rest is not None else None
            return rest
        decided: State | None = None  # joined over the operand that is the first to decide
        for operand in operands:
            if rest is None:
                break
            decided = join(decided, self.where(operand, holds, rest))
            rest = self.where(operand, not holds, rest)
        return decided

    def related(self, a: ir.Expression, op: str, b: ir.Expression, state: State) -> State | None:
        """Return the state where `a op b` holds."""
        if op in (">", ">="):
            return self.related(b, "<" if op == ">" else "<=", a, state)
        known_a, known_b = self.value(a, state).bounds, self.value(b, state).bounds
        new: State | None = state
        match op:
            case "<":
                new = self.learned(a, Interval(-MAX, _just(known_b.high, -1)), False, new)
                new = self.learned(b, Interval(_just(known_a.low, 1), MAX), False, new)
                difference = _NEGATIVE
            case "<=":
                new = self.learned(a, Interval(-MAX, known_b.high), False, new)
                new = self.learned(b, Interval(known_a.low, MAX), False, new)
                difference = Interval(-MAX, 0.0)
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
        possible = new.learn(ir.Operate("subtract", (a, b)), difference)
        return new if new.learn(ir.Operate("subtract", (b, a)), opposite) and possible else None

    def learned(self, e: ir.Expression, bounds: Interval, nonzero: bool, state: State | None) -> State | None:
        """Return the state where the expression lies within the bounds and, if `nonzero`, is not 0."""
        if state is None:
            return None
        known = self.value(e, state).narrowed(bounds, nonzero)
        if known is None:
            return None
        if isinstance(e, ir.Number | ir.Parameter):
            return state
        new = state.copy()
        if not isinstance(e, ir.Local):
            return new if new.learn(e, known.bounds) else None
        new.names[e.name] = AbstractValue(known.bounds, state.names[e.name].depends)
        meaning = new.meanings.get(e.name)
        if meaning is None:
            return new
        if nonzero and isinstance(meaning, ir.Compare | ir.Operate):
            return self.where(meaning, True, new)
        if bounds == point(0.0) and isinstance(meaning, ir.Compare | ir.Operate):
            return self.where(meaning, False, new)
        return new if new.learn(meaning, known.bounds) else None


def _just(x: float, sign: int) -> float:
    """Return the next float64 above or below, if there is a finite one."""
    return min(max(math.nextafter(x, sign * math.inf), -MAX), MAX)
