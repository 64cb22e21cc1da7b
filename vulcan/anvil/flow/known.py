"""What is known of the values of a program at one place in it: bounds, whether they can be 0, on what they depend."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from vulcan.anvil import program as p
from vulcan.anvil.flow.intervals import ANYTHING, Interval
from vulcan.anvil.semantics import LARGEST

Source = p.Read | p.Statistic | p.Query | p.Local
"""What a value can depend on: what the function is shown, or (in a helper) one of its arguments."""

LEAST = math.nextafter(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Known:
    """Bounds of a value, whether it is certainly not 0 though the bounds hold 0, and what may change it."""

    bounds: Interval
    nonzero: bool = False
    depends: frozenset[Source] = frozenset()

    @property
    def may_be_zero(self) -> bool:
        return self.bounds.has_zero and not self.nonzero

    @property
    def may_be_other_than_zero(self) -> bool:
        return not self.bounds.low == self.bounds.high == 0.0

    @property
    def is_one_value(self) -> bool:
        return self.bounds.low == self.bounds.high

    def __or__(self, other: Known) -> Known:
        nonzero = not self.may_be_zero and not other.may_be_zero
        return Known(self.bounds | other.bounds, nonzero, self.depends | other.depends)

    def narrowed(self, bounds: Interval, nonzero: bool) -> Known | None:
        """The same where it lies within these bounds too; None where it cannot."""
        met = meet(self.bounds, bounds)
        if met is None:
            return None
        nonzero = nonzero or self.nonzero
        if nonzero and met.has_zero:
            cut = without_zero(met)
            if cut is None:
                return None
            met = cut
        return Known(met, nonzero, self.depends)


UNKNOWN = Known(ANYTHING)


def meet(a: Interval, b: Interval) -> Interval | None:
    """The values that lie in both; None where there are none."""
    low, high, whole = max(a.low, b.low), min(a.high, b.high), a.whole or b.whole
    if whole and abs(low) <= 2**53:
        low = float(math.ceil(low))
    if whole and abs(high) <= 2**53:
        high = float(math.floor(high))
    return Interval(low, high, whole) if low <= high else None


def without_zero(a: Interval) -> Interval | None:
    """The bounds once 0 at an end of them is left out; None where nothing else was in them."""
    if a.low == a.high == 0.0:
        return None
    least = 1.0 if a.whole else LEAST
    return Interval(least if a.low == 0.0 else a.low, -least if a.high == 0.0 else a.high, a.whole)


@dataclass(frozen=True, slots=True)
class Fact:
    """What a condition has shown of an expression."""

    bounds: Interval
    nonzero: bool


@dataclass
class State:
    """What is known where the walk is: of the locals, of expressions that conditions were about, and of which local
    is which expression. `facts` and `meanings` hold while no local in them is assigned again."""

    names: dict[str, Known] = field(default_factory=dict)
    facts: dict[p.Expression, Fact] = field(default_factory=dict)
    meanings: dict[str, p.Expression] = field(default_factory=dict)

    def copy(self) -> State:
        return State(dict(self.names), dict(self.facts), dict(self.meanings))

    def assign(self, name: str, known: Known, value: p.Expression | None = None) -> None:
        """The local has a new value, which `value` computes."""
        self.facts = {e: fact for e, fact in self.facts.items() if name not in locals_of(e)}
        self.meanings = {n: e for n, e in self.meanings.items() if n != name and name not in locals_of(e)}
        self.names[name] = known
        if value is not None and name not in locals_of(value):
            self.meanings[name] = value

    def learn(self, expression: p.Expression, bounds: Interval, nonzero: bool) -> bool:
        """Take in a fact; False where it contradicts another."""
        old = self.facts.get(expression, Fact(ANYTHING, False))
        met = meet(old.bounds, bounds)
        if met is not None:
            self.facts[expression] = Fact(met, nonzero or old.nonzero)
        return met is not None

    def __or__(self, other: State) -> State:
        """What is known where either may have led."""
        return State(
            {name: self.names[name] | other.names[name] for name in self.names.keys() & other.names.keys()},
            {
                e: Fact(self.facts[e].bounds | other.facts[e].bounds, self.facts[e].nonzero and other.facts[e].nonzero)
                for e in self.facts.keys() & other.facts.keys()
            },
            {name: e for name, e in self.meanings.items() if other.meanings.get(name) == e},
        )

    def widened(self, earlier: State) -> State:
        """This state with every bound that still moves set so far out that it moves no more."""
        names = {}
        for name, known in self.names.items():
            before = earlier.names.get(name, known).bounds
            bounds = Interval(
                _lower(before.low, known.bounds.low), _upper(before.high, known.bounds.high), known.bounds.whole
            )
            bounds = bounds if abs(bounds.low) < LARGEST > abs(bounds.high) else Interval(bounds.low, bounds.high)
            names[name] = Known(bounds, known.nonzero, known.depends)
        facts = {e: fact for e, fact in self.facts.items() if earlier.facts.get(e) == fact}
        return State(names, facts, self.meanings)


def _lower(before: float, now: float) -> float:
    return before if now >= before else 0.0 if now >= 0.0 else -LARGEST


def _upper(before: float, now: float) -> float:
    return before if now <= before else 0.0 if now <= 0.0 else LARGEST


def join(a: State | None, b: State | None) -> State | None:
    """What is known where either may have led; None is a place that is not reached."""
    return a | b if a is not None and b is not None else a if b is None else b


def locals_of(expression: p.Expression) -> frozenset[str]:
    """The locals that the expression reads."""
    found: set[str] = set()
    pending = [expression]
    while pending:
        e = pending.pop()
        if isinstance(e, p.Local):
            found.add(e.name)
        pending.extend(p.children(e))
    return frozenset(found)
