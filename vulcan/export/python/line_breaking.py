"""Line breaking of long expressions."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

WIDTH = 100


def fitted(before: str, expression: ast.expr, after: str = "") -> Iterator[str]:
    """Yield the lines of `before expression after`; `before` starts with its indentation.

    An expression that does not fit is filled into lines between brackets: texts in it must have no spaces.
    """
    text = ast.unparse(expression)
    if len(before + text + after) <= WIDTH:
        yield before + text + after
        return
    indent = before[: len(before) - len(before.lstrip())]
    inner = indent + "    "
    yield before + "("
    yield from textwrap.wrap(
        text, WIDTH, initial_indent=inner, subsequent_indent=inner, break_long_words=False, break_on_hyphens=False
    )
    yield f"{indent}){after}"
