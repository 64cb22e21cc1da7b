"""Sizes as users write them: a number and a unit, such as `64MiB`, `4096` or `10%`."""

from __future__ import annotations

import re

BYTES_PER_UNIT = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "k": 2**10,
    "m": 2**20,
    "g": 2**30,
    "t": 2**40,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
_FORM = re.compile(r"(?P<number>[-+]?\d+(?:\.\d*)?|[-+]?\.\d+)\s*(?P<unit>%|[a-z]*)\Z", re.IGNORECASE)


def split_size(text: str, *units: str) -> tuple[float, str] | None:
    """Return the number and the lower-case unit, one of bytes or of `units`; None for anything else."""
    match = _FORM.match(text.strip())
    unit = match["unit"].lower() if match else ""
    return None if match is None or unit not in (*BYTES_PER_UNIT, *units) else (float(match["number"]), unit)
