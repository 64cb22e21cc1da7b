"""What a module says for nothing: names that are never used, and statements after the end of a block."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

from vulcan.anvil.syntax import is_docstring, stored_names


def unused_names(tree: ast.Module, named: Sequence[str]) -> Iterator[tuple[ast.AST, str]]:
    """Where each name stands that is never used, and what it is. `named` are the functions that the task names."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    called = _called(functions, named)
    loaded = {name for node in functions if node.name in called for name in _loaded(node)}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if name not in loaded:
                    yield node, f"the parameter {name!r} is never used"
            case ast.FunctionDef(name=name) if name not in called:
                yield node, f"the helper {name!r} is never called"
            case ast.FunctionDef():
                yield from _in_function(node, is_helper=node.name not in named)
            case _:
                pass


def after_the_end(tree: ast.Module) -> Iterator[ast.stmt]:
    """The first statement of each block behind one that never goes on."""
    for node in ast.walk(tree):
        for block in (getattr(node, "body", []), getattr(node, "orelse", [])):
            if isinstance(block, list):
                yield from _behind(block)


def _behind(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement, following in pairwise(block):
        if _ends(statement):
            if not (isinstance(following, ast.Pass) or is_docstring(following)):
                yield following
            return


def _ends(node: ast.stmt) -> bool:
    match node:
        case ast.Return() | ast.Break() | ast.Continue():
            return True
        case ast.If(body=body, orelse=orelse):
            return bool(orelse) and any(map(_ends, body)) and any(map(_ends, orelse))
        case _:
            return False


def _in_function(node: ast.FunctionDef, is_helper: bool) -> Iterator[tuple[ast.AST, str]]:
    loaded = _loaded(node)
    for argument in node.args.args if is_helper else ():
        if not (argument.arg in loaded or argument.arg.startswith("_")):
            yield argument, f"the argument {argument.arg!r} of {node.name!r} is never used"
    counters = {
        loop.target.id for loop in ast.walk(node) if isinstance(loop, ast.For) if isinstance(loop.target, ast.Name)
    }
    arguments = {argument.arg for argument in node.args.args}
    for name in sorted(stored_names(node) - loaded - counters - arguments):
        if not name.startswith("_"):
            yield _first_store(node, name), f"the name {name!r} is assigned and never used"


def _first_store(node: ast.AST, name: str) -> ast.AST:
    stores = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)]
    return min(stores, key=lambda n: (n.lineno, n.col_offset))


def _loaded(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _called(functions: list[ast.FunctionDef], named: Sequence[str]) -> set[str]:
    """The functions that a call of one that the task names can come to."""
    known = {node.name: node for node in functions}
    found, pending = set(named), list(named)
    while pending:
        for name in _loaded(known[pending.pop()]) & known.keys() - found:
            found.add(name)
            pending.append(name)
    return found
