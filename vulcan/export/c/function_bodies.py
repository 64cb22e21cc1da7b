"""The C functions that exported headers call, of which each header takes those it needs."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_DEFINED = re.compile(r"\b(policy_[a-z0-9_]+)\([^;{]*\)\n\{", re.MULTILINE)
_CALLED = re.compile(r"\bpolicy_[a-z0-9_]+\b")


@cache
def functions_of(file: str) -> dict[str, str]:
    """The text of each function by its name, in the order in which they have to stand."""
    text = (Path(__file__).parent / file).read_text(encoding="utf-8")
    blocks = [block.strip("\n") for block in text.split("\n\n\n")]
    return {match.group(1): block for block in blocks if (match := _DEFINED.search(block))}


def needed(file: str, code: str) -> str:
    """The functions of a file that the code calls, and those that these call."""
    functions = functions_of(file)
    wanted: set[str] = set()
    pending = [code]
    while pending:
        for name in set(_CALLED.findall(pending.pop())) & functions.keys() - wanted:
            wanted.add(name)
            pending.append(functions[name])
    return "\n\n".join(text for name, text in functions.items() if name in wanted)
