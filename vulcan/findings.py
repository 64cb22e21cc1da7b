"""Findings: what an evaluator says of a policy or a workload besides metrics.

A finding is a sentence, a small table or a series, of bounded size. Findings are computed on demand, for policies that
will be shown, and those of training instances alone reach prompts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vulcan.task import Json, SplitName

MAX_FINDINGS = 40
"""Most findings of one policy on one instance."""

MAX_SENTENCES, MAX_TITLE, MAX_CELL = 1000, 200, 80
"""Longest text of a statement, title of a table or series, and cell of a table or name of an axis, in characters."""

MAX_COLUMNS, MAX_ROWS, MAX_POINTS = 8, 16, 128
"""Largest table and series."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A finding in words: one sentence or a few. `weight` orders findings in a prompt, the highest first.

    Those of weight 0 are for people alone.
    """

    text: str
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check_text(self.text, "a statement", MAX_SENTENCES)
        _check_weight(self.weight)


@dataclass(frozen=True, slots=True)
class SmallTable:
    """A finding as a table: rows of texts and finite numbers, as many in each as there are columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | float, ...], ...]
    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "rows", tuple(tuple(map(_cell, row)) for row in self.rows))
        _check_text(self.title, "the title of a table", MAX_TITLE)
        _check_weight(self.weight)
        _check_count(self.columns, "columns of a table", MAX_COLUMNS)
        _check_count(self.rows, "rows of a table", MAX_ROWS)
        for column in self.columns:
            _check_text(column, "a column's name", MAX_CELL)
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"table {self.title!r}: each row needs {len(self.columns)} cells, one a column")


class SweptTable(SmallTable):
    """A table whose first column has the values of a variable in ascending order: drawn, each other one is a line."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Series:
    """A finding as a curve: points of two finite numbers each, in the order of `x`.

    Series of one title and one `x` are lines of one picture, which `y` tells apart.
    """

    title: str
    x: str
    y: str
    points: tuple[tuple[float, float], ...]
    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", tuple((_finite(x), _finite(y)) for x, y in self.points))
        _check_text(self.title, "the title of a series", MAX_TITLE)
        _check_text(self.x, "the name of an axis", MAX_CELL)
        _check_text(self.y, "the name of an axis", MAX_CELL)
        _check_weight(self.weight)
        _check_count(self.points, "points of a series", MAX_POINTS)


EvaluatorFinding = Statement | SmallTable | Series
"""What an evaluator says of a policy or a workload. Constructing one that is out of bounds raises ValueError."""

_KINDS: Mapping[str, type[EvaluatorFinding]] = {"statement": Statement, "table": SmallTable, "series": Series}


@dataclass(frozen=True, slots=True)
class InstanceFinding:
    """A finding, with the instance and the split that it is of."""

    instance: str
    split: SplitName
    content: EvaluatorFinding

    def to_json(self) -> dict[str, Json]:
        kind = next(name for name, declared in _KINDS.items() if isinstance(self.content, declared))
        return {"instance": self.instance, "split": self.split, "kind": kind, **_plain(self.content)}

    @classmethod
    def from_json(cls, plain: object) -> InstanceFinding:
        """Read what `to_json` wrote. Raises ValueError for anything else."""
        if not isinstance(plain, Mapping):
            raise ValueError("a finding that is not an object")
        fields: dict[str, Any] = dict(plain)
        instance, split, kind = (fields.pop(name, None) for name in ("instance", "split", "kind"))
        if not isinstance(instance, str) or split not in ("train", "validation", "test") or kind not in _KINDS:
            raise ValueError("a finding without its instance, split or kind")
        try:
            return cls(instance, split, _KINDS[kind](**fields))
        except TypeError as error:
            raise ValueError(f"a malformed {kind}") from error


def _plain(content: EvaluatorFinding) -> dict[str, Json]:
    match content:
        case Statement(text, weight):
            return {"text": text, "weight": weight}
        case SmallTable(title, columns, rows, weight):
            return {"title": title, "columns": list(columns), "rows": [list(row) for row in rows], "weight": weight}
        case Series(title, x, y, points, weight):
            return {"title": title, "x": x, "y": y, "points": [list(point) for point in points], "weight": weight}


def _check_text(text: object, what: str, longest: int) -> None:
    if not isinstance(text, str) or not 0 < len(text) <= longest:
        raise ValueError(f"{what} needs from 1 to {longest} characters")
    text.encode()  # an unpaired surrogate is a ValueError: no prompt could hold it


def _check_weight(weight: object) -> None:
    if _finite(weight) < 0:
        raise ValueError(f"a weight of {weight}: at least 0 is needed")


def _check_count(items: Sequence[object], what: str, most: int) -> None:
    if not 0 < len(items) <= most:
        raise ValueError(f"{len(items)} {what}: from 1 to {most} are possible")


def _cell(value: object) -> str | float:
    if isinstance(value, str):
        if len(value) > MAX_CELL:
            raise ValueError(f"a cell of a table may have {MAX_CELL} characters at most")
        value.encode()
        return value
    return _finite(value)


def _finite(value: object) -> float:
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise ValueError(f"{value!r} is no number")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number} is not finite")
    return int(number) if isinstance(value, int) and abs(number) < 2**53 else number


def pictured(findings: Iterable[EvaluatorFinding]) -> list[Statement | SmallTable | list[Series]]:
    """Return findings, those of the highest weight first, with the series of one picture together."""
    shown: list[Statement | SmallTable | list[Series]] = []
    pictures: dict[tuple[str, str], list[Series]] = {}
    for one in sorted(findings, key=lambda finding: -finding.weight):
        if not isinstance(one, Series):
            shown.append(one)
        elif (one.title, one.x) in pictures:
            pictures[one.title, one.x].append(one)
        else:
            shown.append(pictures.setdefault((one.title, one.x), [one]))
    return shown
