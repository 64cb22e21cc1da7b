"""What the grammar table allows, said a second time and apart from the checker: each node of a tree looked up in it."""

# ruff: noqa: E501 (short programs and lists are shown on one line each)

from __future__ import annotations

import ast
import math
import sys

from vulcan.anvil.grammar import grammar
from vulcan.task import History, Signature

_PLAIN = (
    ast.Module, ast.arguments, ast.arg, ast.If, ast.Break, ast.Continue, ast.Pass, ast.IfExp, ast.Name, ast.expr_context,
    ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip


def why_not(tree: ast.Module, signature: Signature) -> str:
    """The first node that the table does not hold, and why; an empty string where it holds all of them."""
    table = _Table(tree, signature)
    return next(filter(None, map(table.refuses, ast.walk(tree))), "")


class _Table:
    def __init__(self, tree: ast.Module, signature: Signature) -> None:
        self.signature = signature
        self.functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        self.features = {name for name, _ in signature.features()}
        self.histories = {a.name for a in signature.arguments if isinstance(a, History)}
        self.texts = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
        self.called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
        self.inner = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
        self.bounds = {id(n.iter) for n in ast.walk(tree) if isinstance(n, ast.For)}
        self.top = {id(n) for n in tree.body}
        helpers = [n for name, n in self.functions.items() if name != signature.function]
        self.in_helpers = {id(n) for helper in helpers for n in ast.walk(helper)}

    def refuses(self, node: ast.AST) -> str:
        return "" if self.holds(node) else f"{type(node).__name__}: {ast.dump(node)[:200]}"

    def holds(self, node: ast.AST) -> bool:
        match node:
            case ast.FunctionDef(decorator_list=[], args=ast.arguments(
                posonlyargs=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[])):  # fmt: skip
                return id(node) in self.top and not getattr(node, "type_params", [])
            case ast.Import(names=[ast.alias(name="math", asname=None)]):
                return id(node) in self.top
            case ast.alias(name="math", asname=None):
                return True
            case (
                ast.Assign(targets=[ast.Name()]) | ast.Return(value=ast.expr()) | ast.For(target=ast.Name(), orelse=[])
            ):
                return True
            case ast.AnnAssign(target=ast.Name(), annotation=ast.Name(id="int" | "float" | "bool"), value=ast.expr()):
                return True
            case ast.AugAssign(target=ast.Name(), op=op):
                return type(op) in grammar.BINARY
            case ast.BinOp(op=op):
                return type(op) in grammar.BINARY
            case ast.UnaryOp(op=op):
                return type(op) in grammar.UNARY
            case ast.BoolOp(op=op):
                return type(op) in grammar.BOOLEAN
            case ast.Compare(ops=ops):
                return all(type(op) in grammar.COMPARISONS for op in ops)
            case ast.Expr(value=ast.Constant(value=str())):
                return True
            case ast.Constant(value=str()):
                return id(node) in self.texts
            case ast.Constant(value=bool() | int() | float() as value):
                return abs(value) <= sys.float_info.max and not math.isnan(value)
            case ast.Attribute():
                return id(node) in self.inner or id(node) in self.called or self.read(node)
            case ast.Call():
                return self.call(node)
            case _:
                return isinstance(node, _PLAIN)

    def read(self, node: ast.expr) -> bool:
        readable = set() if id(node) in self.in_helpers else self.features
        return ast.unparse(node) in readable | set(grammar.CONSTANTS)

    def call(self, node: ast.Call) -> bool:
        name = ast.unparse(node.func)
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            return False
        if id(node) in self.bounds:
            return name == "range" and all(isinstance(ast.literal_eval(a), int) for a in node.args)
        if name in self.functions:
            return name != self.signature.function and len(node.args) == len(self.functions[name].args.args)
        if name in grammar.FUNCTIONS:
            least, most = grammar.FUNCTIONS[name].arguments
            return least <= len(node.args) and (most is None or len(node.args) <= most)
        if id(node) in self.in_helpers:
            return False
        owner, _, method = name.rpartition(".")
        if owner in self.histories:
            return method in grammar.HISTORY_QUERIES and [ast.unparse(a) for a in node.args] == [self.key()]
        kind = grammar.STATISTICS.get(method)
        if kind is None or len(node.args) != kind.looks_for + len(kind.arguments):
            return False
        literals = [ast.literal_eval(a) for a in node.args[kind.looks_for :]]
        within = all(a.low <= x <= a.high for a, x in zip(kind.arguments, literals, strict=True))
        return within and (owner in self.features or owner in self.of_population())

    def key(self) -> str:
        entity = self.signature.entity
        return f"{entity.name}.{entity.key}" if entity else ""

    def of_population(self) -> set[str]:
        entity = self.signature.entity
        return {f"{entity.population}.{f.name}" for f in entity.features} if entity else set()
