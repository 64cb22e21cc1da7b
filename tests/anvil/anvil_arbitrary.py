"""Writes arbitrary Python: trees over every kind of node that `ast` knows, read from its own grammar, and their text.

Kinds that the policy language has are chosen more often than the rest, so that some of what comes out is accepted.
"""

# ruff: noqa: E501 (short programs and lists are shown on one line each)

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from vulcan.anvil.grammar import grammar
from vulcan.task import Signature

T = TypeVar("T")
Below = Callable[[int], int]

_FIELD = re.compile(r"(\w+)([?*]?) (\w+)")
_FULL = ("body", "targets", "names", "items", "values", "cases", "handlers", "ops", "comparators", "generators")
"""Fields that Python can write only where there is something in them."""

USUAL = (
    "Assign", "AugAssign", "If", "For", "Return", "Pass", "Constant", "Name", "Attribute", "Call", "BinOp", "UnaryOp", "BoolOp",
    "Compare", "IfExp", "Add", "Sub", "Mult", "Div", "Mod", "USub", "Not", "Lt", "Gt", "Eq", "And", "Or",
)  # fmt: skip
TEXTS = ("", "text", "obj.size", "\n", "{x}", "é", "\\", "'", '"""', "\ud800", "1" * 50)
NUMBERS: tuple[Any, ...] = (
    0, 1, 2, 3, -1, 0.5, 1e-320, 1e999, -1e999, 2**53 + 1, 10**400, 10**4299, 1j, True, False, None, ..., b"bytes", "text",
)  # fmt: skip
NAMES = (
    "x", "y", "i", "f", "rate", "now", "item", "world", "past", "math", "min", "range", "int", "print", "__import__", "__debug__",
    "self", "_", "é", "ſize", "x" * 300, "size", "open", "A", "exec",
)  # fmt: skip


def grammar_of(kind: type[ast.AST]) -> list[tuple[str, str, str]]:
    """(type, "" or "?" or "*", name) of each field, as the documentation of the class in `ast` spells its grammar."""
    documentation = (kind.__doc__ or "").replace("\n", " ")
    inside = documentation[documentation.find("(") + 1 : documentation.rfind(")")] if "(" in documentation else ""
    return _FIELD.findall(inside)


def kinds_of(name: str) -> list[type[ast.AST]]:
    """The kinds of node that may stand where the grammar says `name`."""
    base = getattr(ast, name)
    kinds = [k for k in base.__subclasses__() if k.__module__ in ("ast", "_ast") and hasattr(ast, k.__name__)]
    deprecated = {
        "Num", "Str", "Bytes", "NameConstant", "Ellipsis", "Index", "ExtSlice", "AugLoad", "AugStore", "Param",
        "Suite",
    }  # fmt: skip
    return [k for k in kinds if k.__name__ not in deprecated] or [base]


class Arbitrary:
    def __init__(self, signature: Signature, below: Below) -> None:
        self.signature = signature
        self.below = below
        self.left = 60
        self.reads = [name for name, _ in signature.features()]

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def source(self) -> str:
        """The text of a tree; whatever Python cannot write is left out."""
        head = f"def {self.signature.function}({', '.join(a.name for a in self.signature.arguments)}):\n"
        above = "\n".join(self.text("stmt") for _ in range(self.below(3) // 2))
        body = "\n".join(self.text("stmt") for _ in range(self.below(3)))
        result = self.text("expr")
        inside = "".join(f"    {line}\n" for line in f"{body}\nreturn {result}".split("\n"))
        return f"{above}\n{head}{inside}" if self.below(8) else f"{above}\n{body}\n"

    def text(self, name: str) -> str:
        self.left = 25
        try:
            return ast.unparse(ast.fix_missing_locations(self.node(name, 4)))
        except (ValueError, AttributeError, TypeError, IndexError, UnicodeError):  # no text says this tree
            return "pass" if name == "stmt" else "1"

    def node(self, name: str, depth: int) -> Any:
        self.left -= 1
        if name in ("identifier", "string", "int", "constant"):
            return self.leaf(name)
        if name == "expr" and self.below(3) == 2:
            return self.known_expression(depth)
        kinds = kinds_of(name)
        usual = [kind for kind in kinds if kind.__name__ in USUAL]
        if usual and self.below(5):
            kinds = usual
        if depth <= 0 or self.left <= 0:
            kinds = [k for k in kinds if k.__name__ in ("Pass", "Constant", "Name")] or kinds
        kind = self.pick(kinds)
        return kind(**{field: self.field(field, of, many, depth - 1) for of, many, field in grammar_of(kind)})

    def field(self, field: str, of: str, many: str, depth: int) -> Any:
        if field in ("target", "targets") and self.below(12):  # Python itself refuses most others
            target = ast.Name(self.pick(NAMES[:6]), ast.Store())
            return [target] if many == "*" else target
        if many == "?":
            return self.node(of, depth) if self.below(3) == 2 and depth > 0 else None
        if many == "*":
            return [self.node(of, depth) for _ in range((field in _FULL) + self.below(2) if depth > 0 else 1)]
        return self.node(of, depth)

    def leaf(self, name: str) -> Any:
        match name:
            case "identifier":
                return self.pick(NAMES)
            case "string":
                return self.pick(TEXTS)
            case "int":
                return self.pick((0, 1, -1, 114, 115))
        return self.pick(NUMBERS)

    def known_expression(self, depth: int) -> ast.expr:
        """Something that the task or the language offers, with arguments that may or may not fit."""
        feature = self.pick(self.reads)
        match self.below(4):
            case 0:
                return ast.parse(feature, mode="eval").body
            case 1:
                function = ast.parse(self.pick(tuple(grammar.FUNCTIONS)), mode="eval").body
            case 2:
                kind = self.pick(tuple(grammar.STATISTICS))
                function = ast.parse(f"{feature}.{kind}", mode="eval").body
            case _:
                function = ast.parse(f"past.{self.pick(tuple(grammar.HISTORY_QUERIES))}", mode="eval").body
                return ast.Call(function, [ast.parse("item.id", mode="eval").body], [])
        return ast.Call(function, [self.node("expr", depth - 1) for _ in range(self.below(3))], [])
