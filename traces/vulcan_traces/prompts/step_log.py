"""Constants of a language-model server's steps, fitted to a log of them.

A table with a header row, one step a line: `prefill_tokens`, `decode_tokens` (requests that write a token each),
`context` (tokens of these requests' contexts, all together), `seconds`, and where it is known `pairs` (of a prompt's
token and one that it attends to: n * c + n * n / 2 for n tokens after c). Other columns are passed over.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vulcan.errors import UserError

Numbers = NDArray[np.float64]

_UNITS = {"base_ms": 1e3, "prefill_us": 1e6, "pair_ns": 1e9, "decode_us": 1e6, "context_ns": 1e9}
_COLUMNS = {"prefill_us": "prefill_tokens", "pair_ns": "pairs", "decode_us": "decode_tokens", "context_ns": "context"}
_FEW = 20


@dataclass(frozen=True, slots=True)
class FittedSteps:
    """`constants` by name, with their units, and the relative errors of the fitted steps."""

    constants: dict[str, float]
    errors: Numbers


def fit_steps(path: Path) -> FittedSteps:
    """Return the constants, none below 0, with the least sum of squared relative errors. Raises UserError."""
    columns = _read(path)
    seconds = columns.pop("seconds")
    terms = {"base_ms": np.ones(len(seconds)), **{n: columns[c] for n, c in _COLUMNS.items() if c in columns}}
    scaled = np.stack([column / seconds for column in terms.values()], axis=1)
    best: tuple[float, Numbers] | None = None
    # the least squares that keep to a bound are those without one of the terms that are not at it
    for others in product((False, True), repeat=len(terms) - 1):
        chosen = np.array([True, *others])
        found = np.zeros(len(terms))
        found[chosen] = np.linalg.lstsq(scaled[:, chosen], np.ones(len(seconds)), rcond=None)[0]
        lost = float(((scaled @ found - 1.0) ** 2).sum())
        if found[0] > 1e-6 and found.min() >= 0 and (best is None or lost < best[0]):
            best = lost, found
    if best is None:
        raise UserError(f"{path}: no step takes some time whatever its tokens, which cannot be; see its columns")
    found = best[1]
    constants = dict.fromkeys(_UNITS, 0.0) | {
        name: float(f"{_UNITS[name] * value:.4g}") for name, value in zip(terms, found, strict=True)
    }
    return FittedSteps(constants, scaled @ found - 1.0)


def _read(path: Path) -> dict[str, Numbers]:
    needed = ("prefill_tokens", "decode_tokens", "context", "seconds")
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"{path}: not readable as a table: {error}") from error
    names = [*needed, *(("pairs",) if rows and "pairs" in rows[0] else ())]
    found: list[list[float]] = []
    for number, row in enumerate(rows, 2):
        try:
            values = [float(row[name]) for name in names]
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{path}, line {number}: numbers are needed in the columns {', '.join(needed)}") from error
        if not (np.isfinite(values).all() and min(values) >= 0 and values[3] > 0):
            raise UserError(f"{path}, line {number}: numbers from 0 on are needed, and seconds above it")
        found.append(values)
    if len(found) < _FEW:
        raise UserError(f"{path}: {len(found)} steps; at least {_FEW} are needed to fit five constants")
    columns = dict(zip(names, np.array(found).T, strict=True))
    for name in needed[:3]:
        if np.ptp(columns[name]) == 0:
            raise UserError(f"{path}: {name} is {columns[name][0]:g} in each step: what it costs cannot be told")
    return columns
