"""An oracle of its own: the source run by plain CPython, which also sees where plain Python and Anvil part by design.

They part where plain Python raises, overflows, gives a complex number, or computes with an integer beyond 2**53.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from vulcan.task import Entity, Global, History, Scalar, Signature

_EXACT = 2**53


class Parted(Exception):
    """What is computed here is outside ordinary arithmetic."""


class Plain:
    """Called with values it gives the program's number by CPython, the source unchanged. Raises Parted."""

    def __init__(self, source: str, signature: Signature) -> None:
        self.signature = signature
        watched = ast.fix_missing_locations(_Watched().visit(ast.parse(source)))
        self.functions = [self._load(watched), self._load(source)]

    def _load(self, source: str | ast.Module) -> Callable[..., float]:
        module: dict[str, Any] = {"_see": _see, "_power": _power}
        exec(compile(source, "<policy>", "exec"), module)
        return module[self.signature.function]  # type: ignore[no-any-return]

    def __call__(self, values: Mapping[str, float]) -> float:
        arguments = [_argument(argument, values) for argument in self.signature.arguments]
        try:
            _, unchanged = (float(function(*arguments)) for function in self.functions)
        except (ArithmeticError, ValueError) as error:
            raise Parted from error
        return unchanged


def _argument(argument: Scalar | Entity | Global | History, values: Mapping[str, float]) -> Any:
    match argument:
        case Scalar(feature):
            return _number(values[argument.name], feature.type)
        case Entity(name=name, features=features) | Global(name=name, features=features):
            return SimpleNamespace(**{f.name: _number(values[f"{name}.{f.name}"], f.type) for f in features})
        case History(name=name):
            return SimpleNamespace(
                contains=lambda key: bool(values[f"{name}.contains"]),
                count=lambda key: int(values[f"{name}.count"]),
                age=lambda key: int(values[f"{name}.age"]),
            )


def _number(value: float, kind: str) -> float | int | bool:
    return {"float": float, "int": int, "bool": bool}[kind](value)


class _Watched(ast.NodeTransformer):
    """Every value goes through `_see`, and every power through `_power`, which would not end on huge integers."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.AugAssign):
            load = ast.Name(node.target.id, ast.Load())  # type: ignore[union-attr]
            node = ast.Assign([node.target], self._seen(ast.BinOp(load, node.op, node.value)), lineno=0)
        if isinstance(node, ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.Call | ast.Constant):
            return self._seen(node)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        return node

    @staticmethod
    def _seen(node: ast.expr) -> ast.expr:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            return ast.Call(ast.Name("_power", ast.Load()), [node.left, node.right], [])
        return ast.Call(ast.Name("_see", ast.Load()), [node], [])


def _see(value: Any) -> Any:
    if isinstance(value, int) and abs(value) > _EXACT:
        raise Parted
    if isinstance(value, complex) or not math.isfinite(value):
        raise Parted
    return value


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and (abs(a) > _EXACT or b * abs(a).bit_length() > 64):
        raise Parted
    return _see(a**b)
