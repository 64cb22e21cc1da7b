"""A program without what means nothing when it runs, and a digest that tells whether two are the same."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Set
from typing import cast

from vulcan.program.offered import METHODS, MODULES, NAMES


def plain(tree: ast.Module) -> ast.Module:
    """The same tree, changed in place."""
    return cast(ast.Module, ast.fix_missing_locations(_Plain().visit(tree)))


class _Plain(ast.NodeTransformer):
    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        made = ast.Assign([self.visit(node.target)], self.visit(node.value))
        return ast.copy_location(made, node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self._body(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._body(node)

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self._body(node)

    def _body(self, node: ast.FunctionDef | ast.ClassDef | ast.Module) -> ast.AST:
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.copy_location(ast.Pass(), node.body[0])]
        return self.generic_visit(node)


def fingerprint_of(tree: ast.Module, kept: Collection[str]) -> str:
    """A digest that is equal for programs that differ only in layout and in the names that they choose.

    `tree` is plain, and is changed. `kept` are the names that the task gives a meaning; those of what is offered have
    one too.
    """
    fixed = NAMES | METHODS | set(kept) | {name for names in MODULES.values() for name in names}
    return hashlib.sha256(ast.dump(_Renamed(fixed, tree).visit(tree)).encode()).hexdigest()


def size_of(tree: ast.AST) -> int:
    """Nodes of the tree that mean something by themselves."""
    idle = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.Pass)
    return sum(not isinstance(node, idle) for node in ast.walk(tree))


class _Renamed(ast.NodeTransformer):
    """Names in order of appearance: those of a function's own by function, all others alike wherever they stand."""

    def __init__(self, fixed: Set[str], tree: ast.AST) -> None:
        # what is passed by its name means its argument, whichever function that is of
        self.fixed = fixed | {n.arg for n in ast.walk(tree) if isinstance(n, ast.keyword) and n.arg is not None}
        self.shared: dict[str, str] = {}
        self.scopes: list[dict[str, str]] = []

    def name(self, name: str) -> str:
        if name in self.fixed or name.startswith("__"):
            return name
        return self.shared.setdefault(name, f"v{len(self.shared)}")

    def local(self, name: str) -> str:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return self.name(name)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self.local(node.name)
        return self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._function(node)

    def _function(self, node: ast.FunctionDef | ast.Lambda) -> ast.AST:
        elsewhere = {name for n in ast.walk(node) if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
        own: dict[str, str] = {}
        for part in ast.walk(node):
            match part:
                case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                    if name not in elsewhere and name not in self.fixed:
                        own.setdefault(name, f"l{len(self.scopes)}.{len(own)}")
        self.scopes.append(own)
        made = self.generic_visit(node)
        self.scopes.pop()
        return made

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.local(node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.local(node.arg)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = self.name(node.attr)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self.local(node.name)
        return self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        node.name = self.local(node.name) if node.name is not None else None
        return self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> ast.AST:
        node.asname = self.local(node.asname) if node.asname is not None else None
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        node.names = [self.name(name) for name in node.names]
        return node
