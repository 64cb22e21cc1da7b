"""Text that others wrote, made fit for a terminal.

What a model, a server or a file says may hold escape sequences, which would colour, clear or rename a terminal, or
write into its clipboard (ECMA-48; the sequences of xterm), and characters that turn the direction of writing, so that a
program reads otherwise than it runs (CVE-2021-42574).
"""

from __future__ import annotations

import re

# Control characters but line feeds and tabs; the overrides, embeddings and isolates of direction; halves of surrogate
# pairs, which cannot be written as UTF-8 at all
_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    """The text with what is unfit written out, as in a Python string: `\\x1b` for the escape character.

    Line ends of Windows become line feeds. The same comes back where nothing is unfit.
    """
    return _UNFIT.sub(_written_out, text.replace("\r\n", "\n"))


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
