"""Search for counterexamples: boundary values and random inputs, reproducible with a fixed seed.

Candidate values of an input are the ends of its range, the program's constants, all magnitudes, and small integers.
Terms are evaluated with numpy for many inputs at once; the reference interpreter then judges the candidates, since
functions of the mathematical library may differ in the last place from its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import semantics
from vulcan.anvil.analysis.intervals import Interval
from vulcan.anvil.proofs.claims import Claim
from vulcan.anvil.proofs.terms import Input, Lookup, Term, parts_within
from vulcan.anvil.proofs.verdict import Counterexample, Judge, Point, calm
from vulcan.anvil.semantics import MAX
from vulcan.anvil.unparse import number_source
from vulcan.task import Property

Numbers = NDArray[np.float64]


def evaluate(wanted: Iterable[Term], given: Mapping[Term, Numbers], size: int) -> dict[Term, Numbers]:
    """Evaluate the wanted terms and all their parts for `size` inputs; `given` has inputs and lookups' answers.

    A lookup of the same value as an earlier one of the same statistic has the same answer.
    """
    done: dict[Term, Numbers] = {}
    lookups: list[Term] = []
    needed = sorted({part for term in wanted for part in parts_within(term)}, key=lambda t: t.index)
    with np.errstate(all="ignore"):
        for term in needed:
            match term.operation:
                case "number":
                    done[term] = np.full(size, term.number)
                case "input":
                    done[term] = given[term]
                case "lookup":
                    done[term] = _found(term, lookups, given, done)
                    lookups.append(term)
                case "choose":
                    test, then, otherwise = (done[part] for part in term.parts)
                    done[term] = np.where(test != 0.0, then, otherwise)
                case operation:
                    done[term] = _OPERATIONS[operation](*(done[part] for part in term.parts))
    return done


def _found(term: Term, before: list[Term], given: Mapping[Term, Numbers], done: Mapping[Term, Numbers]) -> Numbers:
    answer = given[term]
    for other in before:
        if _source(other) == _source(term):
            answer = np.where(done[other.parts[0]] == done[term.parts[0]], done[other], answer)
    return answer


def _source(term: Term) -> object:
    return term.payload.source if isinstance(term.payload, Lookup) else None


def _saturated(function: Callable[..., Numbers]) -> Callable[..., Numbers]:
    return lambda *operands: np.clip(function(*operands), -MAX, MAX)


def _guarded(function: Callable[..., Numbers]) -> Callable[..., Numbers]:
    return lambda a, b: np.where(b != 0.0, np.clip(function(a, np.where(b != 0.0, b, 1.0)), -MAX, MAX), 0.0)


def _above(function: Callable[..., Numbers], least: float) -> Callable[..., Numbers]:
    return lambda a: np.where(a > least, function(np.where(a > least, a, least + 1.0)), 0.0)


def _power(a: Numbers, b: Numbers) -> Numbers:
    outside = ((a == 0.0) & (b < 0.0)) | ((a < 0.0) & (b != np.floor(b)))
    return np.where(outside, 0.0, np.clip(np.power(np.where(outside, 1.0, a), b), -MAX, MAX))


def _test(function: Callable[[Numbers, Numbers], NDArray[np.bool_]]) -> Callable[..., Numbers]:
    return lambda a, b: function(a, b).astype(np.float64)


_OPERATIONS: dict[str, Callable[..., Numbers]] = {
    "add": _saturated(np.add),
    "subtract": _saturated(np.subtract),
    "multiply": _saturated(np.multiply),
    "divide": _guarded(np.divide),
    "floor_divide": _guarded(np.floor_divide),
    "modulo": _guarded(np.mod),
    "power": _power,
    "negate": np.negative,
    "min": lambda *a: functools.reduce(np.minimum, a),
    "max": lambda *a: functools.reduce(np.maximum, a),
    "abs": np.abs,
    "round": np.rint,
    "trunc": np.trunc,
    "floor": np.floor,
    "ceil": np.ceil,
    "sqrt": _above(np.sqrt, 0.0),
    "exp": _saturated(np.exp),
    "expm1": _saturated(np.expm1),
    "log": _above(np.log, 0.0),
    "log2": _above(np.log2, 0.0),
    "log10": _above(np.log10, 0.0),
    "log1p": _above(np.log1p, -1.0),
    "tanh": np.tanh,
    "atan": np.arctan,
    "sin": np.sin,
    "cos": np.cos,
    "hash": np.vectorize(semantics.hash, otypes=[np.float64]),
    "less": _test(np.less),
    "at_most": _test(np.less_equal),
    "equal": _test(np.equal),
    "differs": _test(np.not_equal),
}


Generator = np.random.Generator

_SPECIAL = (0.0, 1.0, -1.0, 2.0, 0.5, 3.0, 10.0, 100.0, 1000.0, 1e6, 1e9, 2.0**31, 2.0**53, 1e16, 1e100, 1e-5, 5e-324)


class Samples:
    """Random values within a range; `constants` are those of the program."""

    def __init__(self, rng: Generator, constants: list[float]) -> None:
        self._rng = rng
        self._constants = np.array([*constants, *_SPECIAL])

    def column(self, within: Interval, size: int) -> Numbers:
        """Draw `size` values, one per input."""
        rng = self._rng
        kind = rng.integers(0, 6, size)
        low, high = within.low, within.high
        ends = rng.choice(np.array([low, high, low + 1.0, high - 1.0, low + 2.0]), size)
        near = rng.choice(self._constants, size) + rng.choice(np.array([0.0, 0.0, 1.0, -1.0, 0.5]), size)
        half = (high / 2 - low / 2) * rng.random(size)
        # state may be any float64: twice a half would overflow there
        uniform = low + half * 2.0 if high / 2 - low / 2 <= MAX / 2 else low + half + half
        small = max(low, 0.0) + rng.integers(0, 30, size)
        values = np.choose(kind, [ends, near, self._magnitudes(low, high, size), uniform, small, near])
        return fitted(values, within)

    def _magnitudes(self, low: float, high: float, size: int) -> Numbers:
        rng = self._rng
        largest = np.log10(max(abs(low), abs(high), 1e-300))
        smallest = min(largest - 1.0, -3.0)
        exponents = np.where(rng.random(size) < 0.8, rng.uniform(smallest, largest, size), rng.uniform(-4, 4, size))
        signs = rng.choice(np.array([1.0, -1.0]), size)
        return np.asarray(np.power(10.0, exponents) * signs, dtype=np.float64)

    def above(self, values: Numbers, within: Interval) -> Numbers:
        """Draw a larger value for each value, where the range has one."""
        rng = self._rng
        size = len(values)
        kind = rng.integers(0, 5, size)
        least = values + 1.0 if within.whole else np.nextafter(values, np.inf)
        steps = np.power(10.0, rng.uniform(-3, 6, size))
        other = self.column(within, size)
        made = np.choose(kind, [least, values + 1.0, values + np.ceil(steps), values * (1.0 + steps), other])
        made = fitted(np.where(made > values, made, least), within)
        return made


def fitted(values: Numbers, within: Interval) -> Numbers:
    """Clip the values to the range, and round them if it has only integers."""
    values = np.where(np.isfinite(values), values, within.high)
    if within.whole:
        values = np.rint(values)
    return np.clip(values, within.low, within.high) + 0.0


_SEED = 20_250_101
_LEAST, _MOST = 96, 4_096
_MAX_NUMBERS = 1_000_000
"""Terms times inputs, in a round: large programs are tried on fewer inputs."""

_JUDGED = 40
"""Maximum number of likely counterexamples judged in one round."""

Table = dict[Term, Numbers]


class Search:
    def __init__(self, statement: Claim, declared: Property, judge: Judge) -> None:
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
        self._size = max(_LEAST, min(_MOST, 2 * _MAX_NUMBERS // (2 * len(set(terms)) + 1)))
        self.tried = 0

    def _roots(self) -> tuple[Term, ...]:
        return (*self._statement.assumed, self._statement.concluded, *self._statement.copies)

    def _subject_pair(self) -> tuple[Term, Term] | None:
        subject = self._declared.subject
        if subject is None:
            return None
        one, other = (each.read(subject) for each in self._statement.inputs)
        return None if one is other else (one, other)

    def run(self, rounds: int) -> Counterexample | None:
        """Return a counterexample that the judge confirms; None if none was found."""
        if not self._given or (self._declared.subject is not None and self._pair is None):
            return self._judged([0], {}) if self._declared.subject is None else None
        for _ in range(rounds):
            table = self._fresh()
            self.tried += self._size
            done = evaluate(self._roots(), table, self._size)
            fails = done[self._statement.concluded] == 0.0
            for test in self._statement.assumed:
                fails &= done[test] != 0.0
            found = self._judged(np.flatnonzero(fails), table)
            if found is not None:
                return found
        return None

    def _fresh(self) -> Table:
        size = self._size
        table = {term: self._samples.column(_range(term), size) for term in self._given}
        names = [t for t in self._given if t.operation == "input"]
        for term in names:  # make some inputs equal or adjacent to others
            other = names[int(self._rng.integers(0, len(names)))]
            copied = self._rng.random(size) < 0.12
            beside = table[other] + self._rng.choice(np.array([0.0, 1.0, -1.0]), size)
            table[term] = fitted(np.where(copied, beside, table[term]), _range(term))
        if self._pair is not None:  # make the subject larger in the second copy
            one, other = self._pair
            low, high = np.minimum(table[one], table[other]), np.maximum(table[one], table[other])
            again = self._rng.random(size) < 0.6
            table[one], table[other] = low, np.where((low == high) | again, self._samples.above(low, _range(one)), high)
        return table

    # The judge

    def _judged(self, rows: Iterable[int], table: Table) -> Counterexample | None:
        """Return the counterexample with the numbers that are easiest to read, of those that the judge confirms."""
        candidates = [{term: float(column[row]) for term, column in table.items()} for row in rows]
        for values in sorted(candidates, key=_effort)[:_JUDGED]:
            points = self.points(values)
            results = self._judge.results(points)
            if results is not None:
                shown = tuple(map(self._judge.shown, points))
                return Counterexample(shown, results, self._declared.subject)
        return None

    def points(self, values: dict[Term, float]) -> tuple[Point, ...]:
        """Return the inputs of each copy, by name; including those without influence."""
        done = evaluate(self._roots(), {t: np.array([v]) for t, v in values.items()}, 1) if values else {}
        found = {}
        for term in self._given:
            if isinstance(term.payload, Lookup):
                found[term.payload.source, float(done[term.parts[0]][0])] = float(done[term][0])
        points = []
        for copy in range(1, len(self._statement.copies) + 1):
            named: dict[str, float] = {}
            for term, value in values.items():
                if isinstance(term.payload, Input) and term.payload.copy in (0, copy):
                    named[term.payload.name] = value
            points.append(Point({**self._calm, **named}, found))
        return tuple(points)


def _effort(values: Mapping[Term, float]) -> int:
    return sum(len(number_source(value)) for value in values.values())


def _range(term: Term) -> Interval:
    payload = term.payload
    assert isinstance(payload, Input | Lookup)
    return payload.range
