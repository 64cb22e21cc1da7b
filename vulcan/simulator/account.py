"""What a policy loses, divided into parts and groups, in sentences and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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

    `event` and `unit` are words for these, such as `minute` and `dollars`. At most five parts fit into a table.
    """

    name: str
    event: str
    unit: str
    parts: Mapping[str, NDArray[np.float64]]
    groups: Sequence[Grouping] = field(default=())

    @property
    def total(self) -> NDArray[np.float64]:
        """The loss of each event."""
        losses: NDArray[np.float64] = np.sum(list(self.parts.values()), axis=0)
        return losses

    def findings(self, *others: Account) -> list[EvaluatorFinding]:
        """Return where the run loses, beside one or two others, such as the best baseline and a bound."""
        mean = float(self.total.mean())
        shares = "; ".join(f"{name} {_number(part.mean())}" for name, part in self.parts.items())
        beside = "".join(f" With {other.name}: {_number(other.total.mean())}." for other in others)
        said = f"A {self.event} costs {_number(mean)} {self.unit} on average: {shares}.{beside}"
        return [Statement(said, 10.0), *(self._table(group, others) for group in self.groups)]

    def compare(self, other: Account) -> list[EvaluatorFinding]:
        """Return what this run saves over another, by part."""
        rows = [
            (name, _rounded(part.mean()), _rounded(other.parts[name].mean()),
             _rounded(other.parts[name].mean() - part.mean()))
            for name, part in self.parts.items()
        ]  # fmt: skip
        columns = ("part", self.name, other.name, f"saved by {self.name}")
        return [SmallTable(f"{self.unit.capitalize()} a {self.event}, by part", columns, tuple(rows), 9.0)]

    def _table(self, group: Grouping, others: Sequence[Account]) -> SmallTable:
        """The mean loss of each class; the more it differs between classes, the higher the weight."""
        rows: list[tuple[str | float, ...]] = []
        for number, name in enumerate(group.names):
            here = group.classes == number
            if here.any():
                losses = [*self.parts.values(), *(other.total for other in others)]
                rows.append((name, _rounded(100 * here.mean()), *(_rounded(loss[here].mean()) for loss in losses)))
        columns = (group.by, f"{self.event}s %", *self.parts, *(other.name for other in others))
        counts = np.maximum(np.bincount(group.classes, minlength=len(group.names)), 1)
        means = np.bincount(group.classes, self.total, len(group.names)) / counts
        apart = float(np.ptp(means) / max(np.abs(means).max(), 1e-12))
        return SmallTable(
            f"{self.unit.capitalize()} a {self.event}, by {group.by}", columns, tuple(rows), 3 + 3 * apart
        )


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def _number(value: float) -> str:
    return f"{value:.4g}"
