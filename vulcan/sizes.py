"""Sizes as users write them: a number and a unit, such as `64MiB`, `1.2M` or `10%`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from vulcan.errors import UserError

BYTES: Mapping[str, float] = {
    **{"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12},
    **{"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40},
}
"""Bytes of each unit."""

TOKENS: Mapping[str, float] = {"": 1, "k": 1_000, "m": 1_000_000}
"""Tokens of each unit."""

MAX_SIZE = 2**53

_FORM = re.compile(r"(?P<number>[-+]?\d+(?:\.\d*)?|[-+]?\.\d+)\s*(?P<unit>%|[a-z]*)\Z", re.IGNORECASE)


def split_size(text: str, units: Collection[str], *others: str) -> tuple[float, str] | None:
    """Return the number and the lower-case unit, one of those given; None for anything else."""
    match = _FORM.match(text.strip())
    unit = match["unit"].lower() if match else ""
    return None if match is None or unit not in (*units, *others) else (float(match["number"]), unit)


def parse_size(
    text: str, units: Mapping[str, float], what: str, hint: str, *, whole: float = 0, most: float = MAX_SIZE
) -> float:
    """Return the size that a text means, in the unit whose value is 1; `whole` is what `%` is a share of, if allowed.

    Raises UserError, with what the size is of and the hint, where the text is none or not from above 0 to `most`.
    """
    split = split_size(text, units, "%" if whole else "")
    if split is None:
        raise UserError(f"{what} {text!r} is not a size: write {hint}")
    number, unit = split
    if number <= 0:
        raise UserError(f"{what} {text!r} is not above 0")
    size = number / 100 * whole if unit == "%" else number * units[unit]
    if size > most:
        raise UserError(f"{what} {text!r} is over {most:,.0f}")
    return size
