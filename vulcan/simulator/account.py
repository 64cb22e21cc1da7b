"""What a policy loses, divided into parts and groups, in sentences and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vulcan.findings import EvaluatorFinding, SmallTable, Statement


@dataclass(frozen=True)
class Grouping:
    """A division of events, such as by their time: the class of each, and the classes' names, at most sixteen."""

    by: str
    classes: NDArray[np.int64]
    names: Sequence[str]


def in_order(by: str, events: int, parts: int = 4) -> Grouping:
    """Divide events into parts of equal length, in their order."""
    return Grouping(by, np.arange(events) * parts // max(events, 1), [f"{n + 1}/{parts}" for n in range(parts)])


@dataclass(frozen=True)
class Account:
    """Losses of a run, which the metric is the mean of: by part, an array with one number for each event.

    `event` and `unit` are words for these, such as `minute` and `dollars`. Up to four parts are in the tables of all
    groups, more in a table of their own. Where many events are alike, one stands for as many as its weight.
    """

    name: str
    event: str
    unit: str
    parts: Mapping[str, NDArray[np.float64]]
    groups: Sequence[Grouping] = field(default=())
    weights: NDArray[np.float64] | None = field(default=None, kw_only=True)

    @property
    def total(self) -> NDArray[np.float64]:
        """The loss of each event."""
        losses: NDArray[np.float64] = np.sum(list(self.parts.values()), axis=0)
        return losses

    def mean(self, losses: NDArray[Any], of: NDArray[np.bool_] | slice = slice(None)) -> float:
        """Return the mean over events, all or some."""
        return float(np.average(losses[of], weights=None if self.weights is None else self.weights[of]))

    @property
    def _article(self) -> str:
        return "an" if self.event[0] in "aeiou" else "a"

    @property
    def _loss(self) -> str:
        return f"{self.unit.capitalize()} {self._article} {self.event}"

    def findings(self, *others: Account) -> list[EvaluatorFinding]:
        """Return where the run loses, beside one or two others, such as the best baseline and a bound."""
        few = len(self.parts) + len(others) <= _MOST_COLUMNS
        shares = "; ".join(f"{name} {_number(self.mean(part))}" for name, part in self.parts.items())
        beside = "".join(f" With {other.name}: {_number(other.mean(other.total))}." for other in others)
        mean = _number(self.mean(self.total))
        said = f"{self._article.capitalize()} {self.event} costs {mean} {self.unit} on average"
        said += f": {shares}.{beside}" if few else f".{beside}"
        made: list[EvaluatorFinding] = [Statement(said, 10.0)]
        if not few:
            made.append(self._by_part([self, *(other for other in others if other.parts.keys() == self.parts.keys())]))
        losses = self.parts if few else {self.name: self.total}
        losses = {**losses, **{other.name: other.total for other in others}}
        return [*made, *self._tables(losses)]

    def compare(self, other: Account) -> list[EvaluatorFinding]:
        """Return what this run saves over another, by part and by group."""
        saved = {f"saved by {self.name}": other.total - self.total}
        losses = {self.name: self.total, other.name: other.total, **saved}
        return [self._by_part([self, other], *saved), *self._tables(losses)]

    def _by_part(self, runs: Sequence[Account], *saved: str) -> SmallTable:
        """The mean loss of runs by part, and what the first saves over the second if there is a name for that."""
        rows: list[tuple[str | float, ...]] = []
        for name in self.parts:
            means = [run.mean(run.parts[name]) for run in runs]
            if len(self.parts) <= _MOST_COLUMNS or any(means):
                rows.append((name, *map(_rounded, means), *(_rounded(means[1] - means[0]) for _ in saved)))
        columns = ("part", *(run.name for run in runs), *saved)
        return SmallTable(f"{self._loss}, by part", columns, tuple(rows), 9.0)

    def _tables(self, losses: Mapping[str, NDArray[np.float64]]) -> list[SmallTable]:
        """A table for each grouping with events of several classes: of one, it would repeat the mean."""
        return [self._table(group, losses) for group in self.groups if len(np.unique(group.classes)) > 1]

    def _table(self, group: Grouping, losses: Mapping[str, NDArray[np.float64]]) -> SmallTable:
        """The mean losses of each class; the more the total differs between classes, the higher the weight."""
        rows: list[tuple[str | float, ...]] = []
        for number, name in enumerate(group.names):
            here = group.classes == number
            if here.any():
                cells = (_rounded(self.mean(loss, here)) for loss in losses.values())
                rows.append((name, _rounded(100 * self.mean(here)), *cells))
        columns = (group.by, f"{self.event}s %", *losses)
        weights = np.ones(len(group.classes)) if self.weights is None else self.weights
        counts = np.bincount(group.classes, weights)
        means = np.bincount(group.classes, self.total * weights)[counts > 0] / counts[counts > 0]
        apart = float(np.ptp(means) / max(np.abs(means).max(), 1e-12))
        return SmallTable(f"{self._loss}, by {group.by}", columns, tuple(rows), 3 + 3 * apart)


_MOST_COLUMNS = 6
"""Of losses in a table, beside the class and its share."""


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _number(value: float) -> str:
    return f"{value:.4g}"
