"""Terms computed for many inputs at once, with numpy: to look for counterexamples, which the reference then judges.

Functions of the mathematical library may differ in the last place from those of the reference.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil.prove.terms import Graph, Lookup, Term, parts_within
from vulcan.anvil.semantics import LARGEST

Numbers = NDArray[np.float64]


def evaluate(wanted: Iterable[Term], given: Mapping[Term, Numbers], size: int) -> dict[Term, Numbers]:
    """The terms wanted and all their parts, for `size` inputs; `given` holds inputs and what lookups answer.

    Where a lookup looks for the same value as an earlier one of the same statistic, it finds the same.
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
        if _statistic(other) == _statistic(term):
            answer = np.where(done[other.parts[0]] == done[term.parts[0]], done[other], answer)
    return answer


def _statistic(term: Term) -> object:
    return term.payload.statistic if isinstance(term.payload, Lookup) else None


def margin(graph: Graph, test: Term, done: Mapping[Term, Numbers]) -> Numbers:
    """How clearly the test holds: above 0 where it does, at most 0 where it fails, the further the clearer."""
    match test.operation, test.parts:
        case (("less" | "at_most"), (a, b)):
            with np.errstate(all="ignore"):
                apart = np.clip(done[b] - done[a], -LARGEST, LARGEST)
            return np.where(done[test] != 0.0, np.maximum(apart, 5e-324), np.minimum(apart, -0.0))
        case ("equal" | "differs") as operation, (a, b):
            with np.errstate(all="ignore"):
                apart = np.clip(np.abs(done[b] - done[a]), 0.0, LARGEST)
            return np.where(apart == 0.0, 5e-324, -apart) if operation == "equal" else apart
        case "choose", (case, then, otherwise):
            inner = margin(graph, case, done)
            branch = np.where(done[case] != 0.0, margin(graph, then, done), margin(graph, otherwise, done))
            if otherwise is graph.zero:  # both
                return np.where(done[case] != 0.0, branch, np.minimum(inner, -0.0))
            return branch
        case _:
            return np.where(done[test] != 0.0, 1.0, -1.0)


def _saturated(function: Callable[..., Numbers]) -> Callable[..., Numbers]:
    return lambda *operands: np.clip(function(*operands), -LARGEST, LARGEST)


def _guarded(function: Callable[..., Numbers]) -> Callable[..., Numbers]:
    return lambda a, b: np.where(b != 0.0, np.clip(function(a, np.where(b != 0.0, b, 1.0)), -LARGEST, LARGEST), 0.0)


def _above(function: Callable[..., Numbers], least: float) -> Callable[..., Numbers]:
    return lambda a: np.where(a > least, function(np.where(a > least, a, least + 1.0)), 0.0)


def _power(a: Numbers, b: Numbers) -> Numbers:
    outside = ((a == 0.0) & (b < 0.0)) | ((a < 0.0) & (b != np.floor(b)))
    return np.where(outside, 0.0, np.clip(np.power(np.where(outside, 1.0, a), b), -LARGEST, LARGEST))


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
    "less": _test(np.less),
    "at_most": _test(np.less_equal),
    "equal": _test(np.equal),
    "differs": _test(np.not_equal),
}
