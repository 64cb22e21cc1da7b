"""A table of recorded decisions, which a new task begins from: its columns as features, with the ranges found in it."""

from __future__ import annotations

import csv
import keyword
import math
import re
from collections.abc import Mapping
from pathlib import Path
from statistics import linear_regression

from vulcan.errors import UserError
from vulcan.inputs import read_input

MIN_ROWS = 50
MAX_BYTES = 100_000_000
_COLUMN = re.compile(r"[a-z][a-z0-9_]*\Z")


def described(path: Path) -> Mapping[str, str]:
    """Return what the templates of `files/csv` replace. The last column is the decision. Raises UserError."""
    text = read_input(path, "table of decisions", MAX_BYTES, "begin with a part of it").decode("utf-8", "replace")
    header, *rows = list(csv.reader(text.splitlines())) or [[]]
    for name in header:
        if not _COLUMN.match(name) or keyword.iskeyword(name):
            raise UserError(
                f"{path}: the first line has to name the columns in lower-case letters, digits and underscores, "
                f"and {name[:30]!r} is {'a word of Python' if keyword.iskeyword(name) else 'no such name'}"
            )
    if len(header) < 2 or len(set(header)) < len(header):
        raise UserError(f"{path}: two columns or more are needed, of different names; the last is the decision")
    if len(rows) < MIN_ROWS:
        raise UserError(
            f"{path}: it has {len(rows)} rows, and {MIN_ROWS} are needed to search on some and test on others"
        )
    columns = {
        name: [_number(path, line, row, place) for line, row in enumerate(rows, 2)] for place, name in enumerate(header)
    }
    *seen, decision = header
    changing = [name for name in seen if len(set(columns[name])) > 1]
    if not changing:
        raise UserError(f"{path}: no column but the decision changes, so that nothing can be decided by it")
    if len(set(columns[decision])) == 1:
        raise UserError(f"{path}: the decision is always {columns[decision][0]:g}, so that nothing is decided")
    slope, base = linear_regression(columns[changing[0]], columns[decision])
    features = [
        f'Feature("{name}", "float", "unknown", {min(columns[name])!r}, {_high(columns[name])!r}, "the column {name}"),'
        for name in seen
    ]
    return {
        "features": "\n".join(f"{' ' * 20}{line}" for line in features),
        "decision": decision,
        "low": repr(min(columns[decision])),
        "high": repr(_high(columns[decision])),
        "first": changing[0],
        "slope": repr(slope),
        "base": repr(base),
    }


def _number(path: Path, line: int, row: list[str], place: int) -> float:
    try:
        number = float(row[place])
    except (IndexError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"{path}:{line}: a number is needed in column {place + 1}")
    return number


def _high(values: list[float]) -> float:
    """Return the highest value, above the lowest also where all are equal."""
    return max(*values, min(values) + 1.0)
