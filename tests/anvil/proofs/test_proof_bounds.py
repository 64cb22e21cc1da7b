"""What is known of a term is true: its bounds, its smallest magnitude, and what follows from assumptions."""

from __future__ import annotations

from random import Random

import pytest

from vulcan.anvil.analysis.intervals import Interval
from vulcan.anvil.grammar import grammar
from vulcan.anvil.proofs.facts import Contradiction, Facts
from vulcan.anvil.proofs.search import evaluate
from vulcan.anvil.proofs.terms import Graph, Input, Term

ENDS = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 7.0, 1e-320, 5e-324, -1e-300, 1e300, -1e300, 1e16, 2.5, 745.0, 1e154,
        -745.0, 2.0**53, -(2.0**53), 1e20, 0.1, 1.7976931348623157e308)  # fmt: skip
OPERATIONS = sorted(
    name for name, operation in grammar.OPERATIONS.items() if name not in ("plus", "truth", "not", "and", "or")
)


def an_interval(random: Random) -> Interval:
    low, high = sorted(random.choice((random.choice(ENDS), random.uniform(-20.0, 20.0))) for _ in range(2))
    if random.random() < 0.4:
        low, high = float(round(low)), float(round(high))
        return Interval(low + 0.0, high + 0.0, True)
    return Interval(low, high)


def a_value(within: Interval, random: Random) -> float:
    low, high = within.low, within.high
    value = random.choice(
        (low, high, low / 2 + high / 2, random.choice(ENDS), random.uniform(-3.0, 3.0), low + random.random(), 0.0)
    )
    value = float(round(value)) if within.whole else value
    return min(max(value, low), high) + 0.0


def test_every_operation_stays_within_its_bounds_and_away_from_zero_as_said() -> None:
    random = Random(11)
    checked = 0
    for name in OPERATIONS * 150:
        graph = Graph()
        count = grammar.OPERATIONS[name].arguments[0]
        ranges = [an_interval(random) for _ in range(count)]
        inputs = [graph.input(Input(f"x{i}", within)) for i, within in enumerate(ranges)]
        term = graph.operate(name, *inputs)
        known = Facts(graph)
        found, least = known.range(term), known._least(term)
        for _ in range(12):
            operands = [a_value(within, random) for within in ranges]
            result = grammar.OPERATIONS[name].evaluate(*operands)
            assert found.low <= result <= found.high, f"{name}{operands} = {result!r} outside {found} of {ranges}"
            assert not found.whole or result.is_integer(), f"{name}{operands} = {result!r}"
            assert result == 0.0 or abs(result) >= least, f"{name}{operands} = {result!r} is below {least} of {ranges}"
            checked += 1
    assert checked > 25_000


def a_term(graph: Graph, inputs: list[Term], random: Random, depth: int) -> Term:
    if depth == 0 or random.random() < 0.25:
        return random.choice(inputs) if random.random() < 0.8 else graph.number(random.choice((0.0, 1.0, 3.0, -2.5)))
    parts = [a_term(graph, inputs, random, depth - 1) for _ in range(3)]
    kind = random.choice(("add", "subtract", "multiply", "min", "max", "abs", "negate", "choose", "compare", "divide"))
    if kind == "choose":
        return graph.choose(a_test(graph, inputs, random, depth - 1), parts[0], parts[1])
    if kind == "compare":
        return a_test(graph, inputs, random, depth - 1)
    return graph.operate(kind, *parts[: 1 if kind in ("abs", "negate") else 2])


def a_test(graph: Graph, inputs: list[Term], random: Random, depth: int) -> Term:
    a, b = (a_term(graph, inputs, random, max(depth, 0)) for _ in range(2))
    test = graph.compare(random.choice(("<", "<=", "==", "!=", ">", ">=")), a, b)
    if random.random() < 0.3:
        other = graph.compare(random.choice(("<", "<=", "!=")), b, random.choice(inputs))
        test = graph.operate(random.choice(("and", "or")), test, other)
    return test


@pytest.mark.parametrize("seed", range(6))
def test_what_follows_from_assumptions_is_true_of_every_input_that_fulfils_them(seed: int) -> None:
    """Bounds, order and settled tests; and a contradiction only where no input fulfils them."""
    import numpy as np

    random = Random(seed)
    fulfilled = 0
    for _ in range(120):
        graph = Graph()
        ranges = [Interval(-3.0, 3.0, True), Interval(0.0, 4.0, True), Interval(-2.0, 2.0), Interval(0.0, 1e300)]
        inputs = [graph.input(Input(f"x{i}", within)) for i, within in enumerate(ranges)]
        tests = [a_test(graph, inputs, random, 2) for _ in range(random.choice((1, 2, 3)))]
        outcomes = [random.random() < 0.6 for _ in tests]
        columns = {t: np.array([a_value(w, random) for _ in range(400)]) for t, w in zip(inputs, ranges, strict=True)}
        terms = list(graph.terms)
        done = evaluate(terms, columns, 400)
        fits = np.ones(400, dtype=bool)
        for test, outcome in zip(tests, outcomes, strict=True):
            fits &= (done[test] != 0.0) == outcome
        known: Facts | None = Facts(graph)
        try:
            for test, outcome in zip(tests, outcomes, strict=True):
                known = known.assume(test, outcome)
            ranges_of = {term: known.range(term) for term in terms}
        except Contradiction:
            assert not fits.any(), f"seed {seed}: an input fulfils {tests}"
            continue
        fulfilled += int(fits.sum())
        for term in terms:
            values = done[term][fits]
            found = ranges_of[term]
            assert ((found.low <= values) & (values <= found.high)).all(), f"seed {seed}: {term} outside {found}"
            decided = known.decide(term)
            assert decided is None or ((values != 0.0) == decided).all(), f"seed {seed}: {term} is not {decided}"
            assert (done[known.head(term)][fits] == values).all() if known.head(term) in done else True
        for one in terms:
            for other in terms:
                if known.ordered(one, other):
                    assert (done[one][fits] <= done[other][fits]).all(), f"seed {seed}: {one} above {other}"
    assert fulfilled > 2_000
