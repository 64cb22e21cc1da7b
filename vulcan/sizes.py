"""Sizes as users write them: a number and a unit, such as `64MiB`, `1.2M` or `10%`."""

from __future__ import annotations

import re
from collections.abc import Mapping

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


def parse_size(
    text: str, units: Mapping[str, float], what: str, hint: str, *, whole: float = 0, most: float = MAX_SIZE
) -> float:
    """Return the size that a text means, in the unit whose value is 1; `whole` is what `%` is a share of, if allowed.

    Raises UserError, with what the size is of and the hint, where the text is none or not from above 0 to `most`.
    """
    match = _FORM.match(text.strip())
    unit = match["unit"].lower() if match else ""
    if match is None or not (unit in units or (unit == "%" and whole)):
        raise UserError(f"{what} {text!r} is not a size: write {hint}")
    number = float(match["number"])
    if number <= 0:
        raise UserError(f"{what} {text!r} is not above 0")
    size = number / 100 * whole if unit == "%" else number * units[unit]
    if size > most:
        raise UserError(f"{what} {text!r} is over {most:,.0f}")
    return size


def parse_bytes(text: str, what: str, most: float = MAX_SIZE) -> int:
    """Return the whole number of bytes that a text such as `4096` or `2MiB` means. Raises UserError."""
    size = parse_size(text, BYTES, what, "a whole number of bytes (4096, 4KiB or 2MiB)", most=most)
    if size != int(size):
        raise UserError(f"{what} {text!r} is not a whole number of bytes")
    return int(size)
