"""Cache sizes as users write them."""

from __future__ import annotations

import re

from vulcan.errors import UserError
from vulcan_traces import Trace

_UNITS = {
    "": 1, "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
_FORM = re.compile(r"(?P<number>[-+]?\d+(?:\.\d*)?|[-+]?\.\d+)\s*(?P<unit>%|[a-z]*)\Z", re.IGNORECASE)


def capacity_in_bytes(text: str, trace: Trace) -> int:
    """Return the capacity in bytes that the text denotes for this trace.

    Bytes (`1000000`, `64MiB`), a share of the trace's footprint (`10%`), or a number of objects of its mean size
    (`1000obj`). Raises UserError where it is none of these, or comes to less than one byte.
    """
    match = _FORM.match(text.strip())
    unit = match["unit"].lower() if match else ""
    if match is None or unit not in (*_UNITS, "%", "obj", "objects"):
        raise UserError(f"cache size {text!r} is not a size: write bytes (64MiB), a share (10%) or objects (1000obj)")
    number = float(match["number"])
    if number <= 0:
        raise UserError(f"cache size {text!r} is not above 0")
    if unit == "%":
        size = number / 100 * trace.footprint
    elif unit in ("obj", "objects"):
        size = number * trace.footprint / trace.object_count
    else:
        size = number * _UNITS[unit]
    if size < 1:
        raise UserError(
            f"cache size {text!r} is less than one byte of {trace.name}, whose footprint is {trace.footprint:,} bytes"
        )
    if size > 2**53:
        raise UserError(f"cache size {text!r} is over 2^53 bytes")
    return int(size)
