"""Line breaking of long expressions, at their outermost operators first."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

WIDTH = 100
_STEP = "    "

_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.And: "and",
    ast.Or: "or",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_SUMS = (ast.Add, ast.Sub)
_PRODUCTS = (ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)


def fitted(before: str, expression: ast.expr, after: str = "") -> Iterator[str]:
    """Yield the lines of `before expression after`; `before` starts with its indentation."""
    line = before + ast.unparse(expression) + after
    if len(line) <= WIDTH:
        yield line
    elif isinstance(expression, ast.Call):
        yield from _broken_call(before, expression, after)
    else:
        indent = before[: len(before) - len(before.lstrip())]
        yield before + "("
        yield from _broken(expression, indent + _STEP)
        yield f"{indent}){after}"


def _broken(expression: ast.expr, indent: str) -> Iterator[str]:
    """Yield the lines of an expression that is already inside brackets."""
    text = ast.unparse(expression)
    if len(indent + text) <= WIDTH:
        yield indent + text
        return
    match expression:
        case ast.BinOp():
            yield from _chain(_spine(expression), indent)
        case ast.BoolOp(op=op, values=values):
            yield from _chain([("", values[0]), *((_SYMBOLS[type(op)], value) for value in values[1:])], indent)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            symbols = (_SYMBOLS[type(op)] for op in ops)
            yield from _chain([("", left), *zip(symbols, comparators, strict=True)], indent)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield from _chain([("", body), ("if", test), ("else", orelse)], indent)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _chain([("not", operand)], indent)
        case ast.UnaryOp(operand=operand):
            yield from _enclosed(indent + "-", operand)
        case ast.Call():
            yield from _broken_call(indent, expression, "")
        case ast.Set(elts=elements):
            yield indent + "{"
            yield from _listed(elements, indent)
            yield indent + "}"
        case _:
            yield indent + text


def _spine(expression: ast.BinOp) -> list[tuple[str, ast.expr]]:
    """Split a + b - c into terms, each with the operator before it; likewise products."""
    group = next((g for g in (_SUMS, _PRODUCTS) if isinstance(expression.op, g)), ())
    terms: list[tuple[str, ast.expr]] = []
    left: ast.expr = expression
    while isinstance(left, ast.BinOp) and (left is expression or isinstance(left.op, group)):
        terms.append((_SYMBOLS[type(left.op)], left.right))
        left = left.left
    return [("", left), *reversed(terms)]


def _chain(parts: Sequence[tuple[str, ast.expr]], indent: str) -> Iterator[str]:
    for symbol, part in parts:
        yield from _enclosed(f"{indent}{symbol} " if symbol else indent, part)


def _enclosed(before: str, expression: ast.expr) -> Iterator[str]:
    """Yield a part of a broken expression, parenthesised unless it is a call, a name or a constant."""
    if isinstance(expression, ast.Call):
        yield from fitted(before, expression)
    elif isinstance(expression, ast.Name | ast.Attribute | ast.Constant):
        yield before + ast.unparse(expression)
    elif len(line := f"{before}({ast.unparse(expression)})") <= WIDTH:
        yield line
    else:
        indent = before[: len(before) - len(before.lstrip())]
        yield before + "("
        yield from _broken(expression, indent + _STEP)
        yield indent + ")"


def _broken_call(before: str, call: ast.Call, after: str) -> Iterator[str]:
    indent = before[: len(before) - len(before.lstrip())]
    yield f"{before}{ast.unparse(call.func)}("
    yield from _listed(call.args, indent)
    yield f"{indent}){after}"


def _listed(elements: Sequence[ast.expr], indent: str) -> Iterator[str]:
    for element in elements:
        *lines, last = _broken(element, indent + _STEP)
        yield from lines
        yield last + ","
