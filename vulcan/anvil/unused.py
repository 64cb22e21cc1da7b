"""What a module says for nothing: names that are never used, and statements after the end of a block."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from vulcan.anvil.syntax import is_docstring, position, within


def unused_names(tree: ast.Module, named: Sequence[str]) -> Iterator[tuple[ast.AST, str]]:
    """Where each name stands that is never used, and what it is. `named` are the functions that the task names."""
    names = {node.name: _names(node) for node in tree.body if isinstance(node, ast.FunctionDef)}
    called = _called(names, named)
    loaded = {name for function in called for name in _loaded(names[function])}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if name not in loaded:
                    yield node, f"the parameter {name!r} is never used"
            case ast.FunctionDef(name=name) if name not in called:
                yield node, f"the helper {name!r} is never called"
            case ast.FunctionDef():
                yield from _in_function(node, names[node.name], is_helper=node.name not in named)
            case _:
                pass


def after_the_end(tree: ast.Module) -> Iterator[ast.stmt]:
    """The first statement of each block behind one that never goes on."""
    for block in _blocks(tree.body):
        yield from _behind(block)


def _blocks(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    yield body
    for statement in body:
        for block in (getattr(statement, "body", []), getattr(statement, "orelse", [])):
            yield from _blocks(block)


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


def _names(node: ast.FunctionDef) -> list[ast.Name]:
    return [each for each in within(node) if isinstance(each, ast.Name)]


def _loaded(names: Iterable[ast.Name]) -> set[str]:
    return {name.id for name in names if isinstance(name.ctx, ast.Load)}


def _in_function(node: ast.FunctionDef, names: list[ast.Name], is_helper: bool) -> Iterator[tuple[ast.AST, str]]:
    loaded = _loaded(names)
    for argument in node.args.args if is_helper else ():
        if not (argument.arg in loaded or argument.arg.startswith("_")):
            yield argument, f"the argument {argument.arg!r} of {node.name!r} is never used"
    first: dict[str, ast.Name] = {}
    for name in sorted(names, key=position):
        if isinstance(name.ctx, ast.Store):
            first.setdefault(name.id, name)
    used = loaded | _counters(node.body) | {argument.arg for argument in node.args.args}
    for unused in sorted(first.keys() - used):
        if not unused.startswith("_"):
            yield first[unused], f"the name {unused!r} is assigned and never used"


def _counters(body: list[ast.stmt]) -> set[str]:
    loops = (statement for block in _blocks(body) for statement in block if isinstance(statement, ast.For))
    return {loop.target.id for loop in loops if isinstance(loop.target, ast.Name)}


def _called(functions: Mapping[str, list[ast.Name]], named: Sequence[str]) -> set[str]:
    """The functions that a call of one that the task names can come to."""
    found, pending = set(named), list(named)
    while pending:
        for name in _loaded(functions[pending.pop()]) & functions.keys() - found:
            found.add(name)
            pending.append(name)
    return found
