"""Any text as a Python string literal that reads well and evaluates to exactly that text."""

from __future__ import annotations

import ast
import warnings

MAX_LINE = 120
_BEFORE = len("POLICY = ")


def quoted(text: str) -> str:
    """A literal of the text: in triple quotes as it stands where that is the same text, else escaped.

    A marker for linters stands behind it where its lines are untidy, for they have to stay as they are.
    """
    literal = _literal(text)
    lines = literal.split("\n")
    untidy = len(lines[0]) > MAX_LINE - _BEFORE or any(len(x) > MAX_LINE or x != x.rstrip() for x in lines)
    return literal + ("  # noqa: E501, W291, W293" if untidy else "")


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'''", "\\'\\'\\'")
    if escaped.endswith("'"):
        escaped = escaped[:-1] + "\\'"
    for literal in (f"'''\\\n{text}'''", f"r'''{text}'''", f'"""{text}"""', f'r"""{text}"""', f"'''{escaped}'''"):
        if _means(literal, text):
            return literal
    return repr(text)


def docstring(text: str, indent: str = "") -> str:
    """The lines of a docstring, joined: every line but an empty one starts with `indent`."""
    lines = [line.rstrip() for line in text.strip().split("\n")]
    plain = "\n".join([lines[0], *(indent + line if line else line for line in lines[1:])])
    plain = plain.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    plain = "".join(c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode() for c in plain)
    if plain.endswith('"'):
        plain = plain[:-1] + '\\"'
    whole = f'{indent}"""{plain}\n{indent}"""' if "\n" in plain else f'{indent}"""{plain}"""'
    return whole + ("  # noqa: E501" if any(len(line) > MAX_LINE for line in whole.split("\n")) else "")


def _means(literal: str, text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a doubtful escape would be a warning to everyone who imports the module
            return bool(ast.literal_eval(literal) == text)
    except (SyntaxError, ValueError):  # not a literal, or one that holds what no source file can
        return False
