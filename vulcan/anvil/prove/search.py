"""Looks for a counterexample: inputs at boundaries, at random and up hill, the same ones on every run."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil.flow.intervals import Interval
from vulcan.anvil.prove.counterexample import Counterexample, calm, simplest
from vulcan.anvil.prove.replay import Judge, Point
from vulcan.anvil.prove.samples import Samples, fitted
from vulcan.anvil.prove.statement import Statement
from vulcan.anvil.prove.terms import Input, Lookup, Term, parts_within
from vulcan.anvil.prove.vector import Numbers, evaluate, margin
from vulcan.task import Property

_SEED = 20_250_101
_FIRST = 4_096
_ROUND = 2_048
_MOST_NUMBERS = 1_000_000
"""Terms times inputs, in the first round: of a large program fewer inputs are tried."""

_ROUNDS = 7
_KEPT = 48
_JUDGED = 40
"""Inputs that look like counterexamples and are put before the judge, in one round."""

Table = dict[Term, Numbers]


class Search:
    def __init__(self, statement: Statement, declared: Property, judge: Judge) -> None:
        self._statement = statement
        self._declared = declared
        self._judge = judge
        self._rng = np.random.default_rng(_SEED)
        terms = [part for term in self._roots() for part in parts_within(term)]
        self._given = sorted({t for t in terms if t.operation in ("input", "lookup")}, key=lambda t: t.index)
        numbers = {t.number for t in terms if t.number is not None}
        self._samples = Samples(self._rng, sorted(n for n in numbers if n is not None))
        self._pair = self._subject_pair()
        self._calm = {name: calm(within) for name, within in statement.ranges.items()}
        self._round = max(_KEPT, min(_ROUND, _MOST_NUMBERS // (2 * len(set(terms)) + 1)))
        self.tried = 0

    def _roots(self) -> tuple[Term, ...]:
        return (*self._statement.assumed, self._statement.concluded, *self._statement.copies)

    def _subject_pair(self) -> tuple[Term, Term] | None:
        subject = self._declared.subject
        if subject is None:
            return None
        one, other = (each.read(subject) for each in self._statement.inputs)
        return None if one is other else (one, other)

    def run(self) -> Counterexample | None:
        """A counterexample that the judge confirms, made as simple as it gets; None where none was found."""
        if not self._given or (self._declared.subject is not None and self._pair is None):
            return self._judged(np.zeros(1, dtype=np.int64), {}) if self._declared.subject is None else None
        table = self._fresh(min(_FIRST, 2 * self._round))
        for _ in range(_ROUNDS):
            size = len(next(iter(table.values())))
            self.tried += size
            violation = self._violation(table, size)
            order = np.argsort(-violation, kind="stable")
            found = self._judged(order[: int(np.sum(violation > 0.0))][:_JUDGED], table)
            if found is not None:
                return found
            table = self._next(table, order)
        return None

    def near(self, values: dict[Term, float]) -> Counterexample | None:
        """A counterexample at or around the input."""
        kept = {t: np.full(self._round, values.get(t, _range(t).low)) for t in self._given}
        table = {t: fitted(column, _range(t)) for t, column in kept.items()}
        moved = self._moved(table, self._round)
        table = {t: np.concatenate([column[:1], moved[t]]) for t, column in table.items()}
        violation = self._violation(table, self._round + 1)
        order = np.argsort(-violation, kind="stable")
        return self._judged(order[violation[order] > 0.0][:_JUDGED], table)

    # Rounds

    def _fresh(self, size: int) -> Table:
        table = {term: self._samples.column(_range(term), size) for term in self._given}
        names = [t for t in self._given if t.operation == "input"]
        for term in names:  # some are equal to another, or next to it
            other = names[int(self._rng.integers(0, len(names)))]
            copied = self._rng.random(size) < 0.12
            beside = table[other] + self._rng.choice(np.array([0.0, 1.0, -1.0]), size)
            table[term] = fitted(np.where(copied, beside, table[term]), _range(term))
        return self._in_order(table)

    def _in_order(self, table: Table) -> Table:
        """The subject is larger in the second copy."""
        if self._pair is not None:
            one, other = self._pair
            low, high = np.minimum(table[one], table[other]), np.maximum(table[one], table[other])
            again = self._rng.random(len(low)) < 0.6
            high = np.where((low == high) | again, self._samples.above(low, _range(one)), high)
            table[one], table[other] = low, high
        return table

    def _next(self, table: Table, order: NDArray[np.int64]) -> Table:
        kept = {t: column[order[:_KEPT]] for t, column in table.items()}
        parents = {t: np.resize(column, self._round) for t, column in kept.items()}
        moved = self._moved(parents, self._round)
        fresh = self._fresh(self._round // 2)
        return {t: np.concatenate([kept[t], moved[t], fresh[t]]) for t in table}

    def _moved(self, table: Table, size: int) -> Table:
        changed = {}
        rate = min(1.0, 2.0 / len(table))
        for term, column in table.items():
            other = self._samples.moved(column, _range(term))
            changed[term] = np.where(self._rng.random(size) < rate, other, column)
        if self._pair is None:
            return changed
        one, other_copy = self._pair
        low = np.minimum(changed[one], changed[other_copy])
        high = np.maximum(changed[one], changed[other_copy])
        changed[one] = low
        changed[other_copy] = np.where(low == high, self._samples.above(low, _range(one)), high)
        return changed

    def _violation(self, table: Table, size: int) -> Numbers:
        """Above 0 where the input looks like a counterexample; the higher the nearer it is to being one."""
        statement = self._statement
        done = evaluate(self._roots(), table, size)
        violation = -margin(statement.graph, statement.concluded, done)
        violation = np.where(
            done[statement.concluded] == 0.0, np.maximum(violation, 5e-324), np.minimum(violation, 0.0)
        )
        for test in statement.assumed:
            holds = margin(statement.graph, test, done)
            fails = done[test] == 0.0
            violation = np.where(fails, -1e307 + np.clip(holds, -1e306, 0.0), violation)
        return violation

    # The judge

    def _judged(self, rows: Iterable[int], table: Table) -> Counterexample | None:
        for row in rows:
            values = {term: float(column[row]) for term, column in table.items()}
            points = self.points(values)
            results = self._judge.results(points)
            if results is not None:
                return simplest(self._judge, self._declared, points, results, self._statement.ranges)
        return None

    def points(self, values: dict[Term, float]) -> tuple[Point, ...]:
        """The inputs of each copy, by name; also those that do not matter."""
        done = evaluate(self._roots(), {t: np.array([v]) for t, v in values.items()}, 1) if values else {}
        found = {}
        for term in self._given:
            if isinstance(term.payload, Lookup):
                found[term.payload.statistic, float(done[term.parts[0]][0])] = float(done[term][0])
        points = []
        for copy in range(1, len(self._statement.copies) + 1):
            named: dict[str, float] = {}
            for term, value in values.items():
                if isinstance(term.payload, Input) and term.payload.copy in (0, copy):
                    named[term.payload.name] = value
            points.append(Point({**self._calm, **named}, found))
        return tuple(points)


def _range(term: Term) -> Interval:
    payload = term.payload
    assert isinstance(payload, Input | Lookup)
    return payload.range
