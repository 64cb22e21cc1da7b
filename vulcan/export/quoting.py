"""Readable text of Python: string literals that evaluate to exactly the given text, and lines of long expressions."""

from __future__ import annotations

import ast
import textwrap
import warnings
from collections.abc import Iterator

from vulcan.anvil.unparse import printable

MAX_LINE = 120


def quoted(text: str) -> str:
    """Return a literal of the text: verbatim in triple quotes where that is exact, else escaped on one line."""
    literal = f"'''\\\n{text}'''"
    return literal if _means(literal, text) else repr(text)


def docstring(text: str, indent: str = "") -> str:
    """Return a docstring of the text, its non-empty lines indented by `indent`."""
    lines = [line.rstrip() for line in text.strip().split("\n")]
    plain = "\n".join([lines[0], *(indent + line if line else line for line in lines[1:])])
    plain = plain.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    plain = printable(plain)
    if plain.endswith('"'):
        plain = plain[:-1] + '\\"'
    return f'{indent}"""{plain}\n{indent}"""' if "\n" in plain else f'{indent}"""{plain}"""'


def _means(literal: str, text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an invalid escape would warn everyone who imports the module
            return bool(ast.literal_eval(literal) == text)
    except (SyntaxError, ValueError):  # not a literal, or one with characters no source file can contain
        return False


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
