"""Asks z3 where no certificate and no counterexample was found."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import z3

from vulcan.anvil.prove.encode import Encoding
from vulcan.anvil.prove.known import Known
from vulcan.anvil.prove.statement import Statement
from vulcan.anvil.prove.terms import Term

_SEED = 1


@dataclass(frozen=True, slots=True)
class Effort:
    """How much z3 may do: `steps` of its own count, the same on every run; until `deadline` where somebody waits.

    The deadline is of `time.perf_counter`.
    """

    steps: int
    deadline: float


@dataclass(frozen=True, slots=True)
class Answer:
    """`holds` is a proof; `hints` are solutions in the reals, that may be near a counterexample in float64."""

    holds: bool
    hints: tuple[dict[Term, float], ...]
    reason: Literal["", "gave up", "only in the reals"]


def ask(statement: Statement, known: Known, effort: Effort) -> Answer:
    """Whether the statement holds; `known` is what its assumptions say."""
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
