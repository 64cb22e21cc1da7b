"""Programs fitted to lessons: products of powers, small trees, and trees of them, with a holdout in time.

The expected gain is a cost times a worth that depends on the situation. Its logarithm is linear in the logarithms of
the features (a Poisson regression), or constant in each leaf of a tree, or both. What is fitted to the first two thirds
of the time is judged by its deviance in the last; what predicts no better there than a constant is no program.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Rejected, check, ir
from vulcan.anvil.rewrite.traversal import numbered
from vulcan.anvil.unparse import emit_source
from vulcan.generator.draft import rounded
from vulcan.generator.expression_tree import operate
from vulcan.lessons import WORTH, Lesson
from vulcan.task import Task

Numbers = NDArray[np.float64]

HELD_OUT = 1 / 3
"""Share of each instance's time by whose situations a fit is judged."""

MIN_SITUATIONS = 500
_STEPS, _RIDGE, _FARTHEST = 25, 1e-3, 40.0
_DEPTH, _SPLITS, _MIN_LEAF, _MIN_GAIN = 3, 12, 0.01, 8.0
"""Of a tree: its depth, thresholds tried a feature, least share of the situations in a leaf, least gain of a split."""


@dataclass(frozen=True)
class _Data:
    """Situations with their gains and costs."""

    x: Numbers
    gains: Numbers
    costs: Numbers

    def of(self, chosen: NDArray[np.bool_]) -> _Data:
        return _Data(self.x[chosen], self.gains[chosen], self.costs[chosen])

    def deviance(self, log_worth: Numbers | float) -> float:
        """Return minus the log-likelihood a situation, but for a constant."""
        eta = np.clip(log_worth, -_FARTHEST, _FARTHEST)
        return float((np.exp(eta) * self.costs - self.gains * eta).mean())

    @property
    def level(self) -> float:
        """The logarithm of the worth of all situations together."""
        return math.log(max(self.gains.sum(), 1e-9) / self.costs.sum())

    @cached_property
    def powers(self) -> _Powers:
        """The product of powers that is fitted to them."""
        return _Powers.of(self)


@dataclass(frozen=True, slots=True)
class _Powers:
    """A product of powers of the features, each plus 1, and a factor for those that are 0."""

    base: float
    exponents: dict[int, float]
    zeros: dict[int, float]

    @classmethod
    def of(cls, data: _Data) -> _Powers:
        columns = [n for n in range(data.x.shape[1]) if np.ptp(data.x[:, n])]
        zero = [n for n in columns if 0.01 < (data.x[:, n] == 0).mean() < 0.99]
        design = np.stack(
            [np.ones(len(data.x)), *(np.log1p(data.x[:, n]) for n in columns), *(data.x[:, n] == 0 for n in zero)]
        )
        w = np.zeros(len(design))
        w[0] = data.level
        for _ in range(_STEPS):  # einsum, as a product of BLAS depends on its number of threads
            eta = np.clip(np.einsum("ji,j->i", design, w), -_FARTHEST, _FARTHEST)
            expected = np.exp(eta) * data.costs
            curved = np.array([[np.einsum("i,i->", a, b) for b in design] for a in design * expected])
            curved += _RIDGE * np.diag(np.diag(curved)) + 1e-9 * np.eye(len(w))
            step = np.linalg.solve(curved, np.einsum("ji,i->j", design, data.gains - expected))
            largest = float(np.abs(step).max())
            w += step * min(1.0, 2.0 / max(largest, 1e-12))
            if largest < 1e-6:
                break
        found = [float(value) for value in w]
        ends = 1 + len(columns)
        return cls(found[0], dict(zip(columns, found[1:ends], strict=True)), dict(zip(zero, found[ends:], strict=True)))

    def log_worth(self, x: Numbers) -> Numbers:
        total = np.full(len(x), self.base)
        for n, exponent in self.exponents.items():
            total += exponent * np.log1p(x[:, n])
        for n, factor in self.zeros.items():
            total += factor * (x[:, n] == 0)
        return total


@dataclass(frozen=True, slots=True)
class _Tree:
    """A leaf with the logarithm of its worth, or a split of a feature at a threshold."""

    level: float
    column: int = -1
    threshold: float = 0.0
    parts: tuple[_Tree, ...] = ()

    @classmethod
    def of(cls, data: _Data, depth: int = _DEPTH, least: int | None = None) -> _Tree:
        least = max(20, int(_MIN_LEAF * len(data.x))) if least is None else least
        leaf = cls(data.level)
        found, most = leaf, _MIN_GAIN
        all_gains, all_costs = data.gains.sum(), data.costs.sum()
        whole = _likelihood(all_gains, all_costs)
        for column in range(data.x.shape[1]) if depth else ():
            values = data.x[:, column]
            thresholds = np.unique(np.quantile(values, np.linspace(0.05, 0.95, _SPLITS)))
            above = np.searchsorted(thresholds, values)  # so many thresholds are below each value
            sums = (np.bincount(above, of)[: len(thresholds)].cumsum() for of in (None, data.gains, data.costs))
            for threshold, count, gains, costs in zip(thresholds, *sums, strict=True):
                if not least <= count <= len(values) - least:
                    continue
                parts = _likelihood(gains, costs) + _likelihood(all_gains - gains, all_costs - costs)
                if parts - whole > most:
                    most, found = parts - whole, cls(leaf.level, column, float(threshold))
        if found is leaf:
            return leaf
        low = data.x[:, found.column] <= found.threshold
        return replace(found, parts=tuple(cls.of(data.of(side), depth - 1, least) for side in (low, ~low)))

    def log_worth(self, x: Numbers) -> Numbers:
        if not self.parts:
            return np.full(len(x), self.level)
        low, high = (part.log_worth(x) for part in self.parts)
        return np.where(x[:, self.column] <= self.threshold, low, high)


def _likelihood(gains: float, costs: float) -> float:
    return float(gains * math.log(max(gains, 0.5) / max(costs, 1e-9)))


@dataclass(frozen=True, slots=True)
class _Fit:
    """A product of powers times a tree; either may be missing."""

    powers: _Powers | None
    tree: _Tree | None

    @classmethod
    def of(cls, data: _Data, powers: bool, tree: bool) -> _Fit:
        product = data.powers if powers else None
        if product is not None and tree:
            expected = np.exp(np.clip(product.log_worth(data.x), -_FARTHEST, _FARTHEST))
            data = replace(data, costs=data.costs * expected)
        return cls(product, _Tree.of(data) if tree else None)

    def log_worth(self, x: Numbers) -> Numbers:
        return sum((part.log_worth(x) for part in (self.powers, self.tree) if part is not None), np.zeros(len(x)))


_PRODUCT = "powers"
"""Name of the local that a fitted helper has."""

_FORMS = ((True, False), (False, True), (True, True))
"""Which of a product of powers and a tree a fit is made of."""


def explained(early: _Data, late: _Data, powers: bool, tree: bool) -> float:
    """Return the share of the late situations' deviance that a fit to the early ones explains."""
    fit = _Fit.of(early, powers, tree)
    nothing = late.deviance(early.level)
    everything = late.deviance(np.log(np.maximum(late.gains, 1e-300) / late.costs))
    return (nothing - late.deviance(fit.log_worth(late.x))) / max(nothing - everything, 1e-12)


def fitted_programs(task: Task, lessons: Sequence[Lesson]) -> tuple[str, ...]:
    """Return the policies that are fitted to the lessons, of which the first use each lesson once. Deterministic."""
    by_name: dict[str, list[Lesson]] = {}
    for lesson in lessons:
        by_name.setdefault(lesson.name, []).append(lesson)
    rows = [list(_programs(task, of)) for of in by_name.values()]
    longest = max(map(len, rows), default=0)
    return tuple(dict.fromkeys(row[n] for n in range(longest) for row in rows if n < len(row)))


def _programs(task: Task, lessons: Sequence[Lesson]) -> Iterator[str]:
    """Yield the programs of lessons of one name, those of the fit that predicts best first."""
    parts = [
        np.concatenate([getattr(one, of) for one in lessons], dtype=float) for of in ("situations", "gains", "costs")
    ]
    data = _Data(*parts)
    is_early = np.concatenate([np.arange(len(one.gains)) < (1 - HELD_OUT) * len(one.gains) for one in lessons])
    early, late = data.of(is_early), data.of(~is_early)
    if len(is_early) < MIN_SITUATIONS or not early.gains.any():
        return
    told = [(explained(early, late, *form), form) for form in _FORMS]
    for share, form in sorted(told, key=lambda one: -one[0]):
        if share > 0:
            fit = _Fit.of(data, *form)
            yield _written(task, lessons[0], fit, f"Fitted to training data, of which it explains {share:.0%} held out")


def _written(task: Task, lesson: Lesson, fit: _Fit, said: str) -> str:
    """Return the lesson's program with the fit as its helper. Raises ValueError for one that the task rejects."""
    try:
        policy = check(lesson.program, task)
        program = policy.program
        helper = next(function for function in program.helpers if function.name == WORTH)
        parameters = dict(program.parameters)
        body = _body(fit, helper.arguments, parameters)
        functions = tuple(replace(f, body=body) if f is helper else f for f in program.functions)
        about = f"{said}: {lesson.name}."
        made = replace(program, parameters=tuple(parameters.items()), functions=functions, documentation=about)
        return check(emit_source(made, policy.task.whole_interface), task).source
    except (Rejected, StopIteration) as error:
        raise ValueError(
            f"lesson {lesson.name!r}: its program is no policy with a helper {WORTH!r}: {error}"
        ) from error


def _body(fit: _Fit, names: Sequence[str], parameters: dict[str, float]) -> tuple[ir.Statement, ...]:
    def number(stem: str, value: float) -> ir.Expression:
        name = numbered(stem.upper(), parameters)
        parameters[name] = rounded(value)
        return ir.Parameter(name)

    product: ir.Expression | None = None
    factors: list[ir.Expression] = []
    for n, exponent in fit.powers.exponents.items() if fit.powers else ():
        base = operate("add", ir.Number(1.0), ir.Local(names[n]))
        factors.append(operate("power", base, number(f"{names[n]}_exponent", exponent)))
    for n, factor in fit.powers.zeros.items() if fit.powers else ():
        test = ir.Compare(("==",), (ir.Local(names[n]), ir.Number(0.0)))
        value = number(f"no_{names[n]}", math.exp(min(max(factor, -9.0), 9.0)))
        factors.append(ir.Choose(test, value, ir.Number(1.0)))

    for part in factors:
        product = part if product is None else operate("multiply", product, part)

    def worth(level: float) -> tuple[ir.Statement, ...]:
        result = number("level", math.exp(level + (fit.powers.base if fit.powers else 0.0)))
        return (ir.Return(result if product is None else operate("multiply", result, ir.Local(_PRODUCT))),)

    def block(tree: _Tree) -> tuple[ir.Statement, ...]:
        if not tree.parts:
            return worth(tree.level)
        limit = number(f"{names[tree.column]}_limit", tree.threshold)
        test = ir.Compare(("<=",), (ir.Local(names[tree.column]), limit))
        return (ir.If(test, block(tree.parts[0]), ()), *block(tree.parts[1]))

    body = block(fit.tree) if fit.tree else worth(0.0)
    return body if product is None else (ir.Assign(_PRODUCT, product), *body)
