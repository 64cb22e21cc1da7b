"""Text for people: numbers, numbers with their nouns, and untrusted text made safe for a terminal.

Output of a model, a server or a file may hold escape sequences, which can colour, clear or rename a terminal or write
to its clipboard (ECMA-48; the sequences of xterm), and bidirectional control characters, with which a program reads
differently from how it runs (CVE-2021-42574).
"""

from __future__ import annotations

import re

# Control characters except line feeds and tabs; bidirectional overrides, embeddings and isolates; halves of surrogate
# pairs, which cannot be written as UTF-8 at all
_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, in the singular or the plural (by default with an s): `1 file`, `2 files`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def printable(text: str) -> str:
    r"""Escape unsafe characters as in a Python string: `\x1b` for the escape character.

    Windows line ends become line feeds. Safe text is returned unchanged.
    """
    return _UNFIT.sub(_written_out, text.replace("\r\n", "\n"))


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


_EXTREME = 1e300
_PLAIN_NUMBERS_UP_TO = 1e6


def format_number(value: float) -> str:
    """Format a number for display: 3, 0.5, 123,456,789, 2^40 or 1e+300."""
    if abs(value) >= _EXTREME or not value.is_integer() or abs(value) < _PLAIN_NUMBERS_UP_TO:
        return f"{value:g}"
    exponent = abs(value).as_integer_ratio()[0].bit_length() - 1
    return f"{'-' if value < 0 else ''}2^{exponent}" if abs(value) == 2.0**exponent else f"{value:,.0f}"
