"""Sizes as users write them."""

from __future__ import annotations

import re

from vulcan.errors import UserError

_UNITS = {
    "": 1, "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
_FORM = re.compile(r"(?P<number>[-+]?\d+(?:\.\d*)?|[-+]?\.\d+)\s*(?P<unit>%|[a-z]*)\Z", re.IGNORECASE)


def size_in_pages(text: str, whole: int, page_size: int, what: str) -> int:
    """The number of pages that the text means.

    Bytes (`1000000`, `64MiB`), a share of the `whole`, which is in pages (`10%`), or pages (`1000pages`); rounded down.
    Raises UserError, saying of `what`, where it is none of these or comes to less than one page.
    """
    match = _FORM.match(text.strip())
    unit = match["unit"].lower() if match else ""
    if match is None or unit not in (*_UNITS, "%", "page", "pages"):
        raise UserError(f"{what} {text!r} is not a size: write bytes (64MiB), a share (10%) or pages (1000pages)")
    number = float(match["number"])
    if unit == "%":
        pages = number / 100 * whole
    elif unit in ("page", "pages"):
        pages = number
    else:
        pages = number * _UNITS[unit] / page_size
    if pages < 1:
        raise UserError(f"{what} {text!r} is less than one page of {page_size:,} bytes")
    if pages > 2**40:
        raise UserError(f"{what} {text!r} is over 2^40 pages")
    return int(pages)


def size_in_bytes(text: str, what: str) -> int:
    """Raises UserError where the text is not a whole number of bytes, such as `4096` or `2MiB`."""
    match = _FORM.match(text.strip())
    unit = match["unit"].lower() if match else ""
    if match is None or unit not in _UNITS:
        raise UserError(f"{what} {text!r} is not a number of bytes: write 4096, 4KiB or 2MiB")
    size = float(match["number"]) * _UNITS[unit]
    if size < 1 or size > 2**53 or size != int(size):
        raise UserError(f"{what} {text!r} is not a whole number of bytes above 0")
    return int(size)
