"""The reference of the Python interface, from the sources of the modules that are public (docs/versioning.md)."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from markdown_parts import block, paragraphs, written_by

ROOT = Path(__file__).resolve().parents[2]

MODULES = (
    "vulcan", "vulcan.task", "vulcan.evaluator", "vulcan.findings", "vulcan.anvil", "vulcan.testing", "vulcan.errors",
)  # fmt: skip
"""What programs, tasks and evaluators may rely on, in the order of the page."""

HEAD = """# The Python interface

{remark}

What a task, an evaluator or a program of yours may import. [Your own task](../own-task.md) shows these parts at work;
[what is promised of them](../versioning.md) from one version to the next is said there.
"""


def python_page(modules: tuple[str, ...] = MODULES) -> str:
    """The page, in Markdown."""
    parts = [HEAD.format(remark=written_by("python_page.py"))]
    for name in modules:
        parts += _module(name)
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def _module(name: str) -> Iterator[str]:
    tree = _parsed(name)
    yield f"## {name}"
    yield paragraphs(ast.get_docstring(tree))
    wanted = set(_public(tree))
    for node, owner in _definitions(tree, wanted):
        for defined in _names(node):
            if defined in wanted:
                yield from _described(defined, node, owner, getattr(import_module(name), defined, None))


def _parsed(module: str) -> ast.Module:
    path = ROOT.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8"))


def _public(tree: ast.Module) -> list[str]:
    """`__all__`; where there is none, every name that is defined here and has no underscore."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return [str(one) for one in ast.literal_eval(node.value)]
    return [name for node in tree.body for name in _names(node) if not name.startswith("_")]


def _names(node: ast.stmt) -> list[str]:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _definitions(tree: ast.Module, wanted: set[str]) -> Iterator[tuple[ast.stmt, ast.Module]]:
    """What the module defines, and what of its public names it takes from others; with the module that defines it."""
    for node in _statements(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module not in MODULES:
            names = {alias.name for alias in node.names} & wanted
            if names:
                theirs = _parsed(node.module)
                yield from ((found, theirs) for found in theirs.body if names.intersection(_names(found)))
        else:
            yield node, tree


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Those at the top, and imports that only tools for types see: of names that are loaded when first used."""
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from node.body
        else:
            yield node


def _described(name: str, node: ast.stmt, tree: ast.Module, live: object) -> Iterator[str]:
    yield f"### {name}"
    match node:
        case ast.ClassDef():
            yield block(_class_head(node), "python")
            yield paragraphs(ast.get_docstring(node))
            yield from _methods(node, live)
        case ast.FunctionDef():
            yield block(_signature(_complete(node, live)), "python")
            yield paragraphs(ast.get_docstring(node))
        case _:
            yield block(_shortened(ast.unparse(node)), "python")
            yield paragraphs(_said_after(tree, node))


def _class_head(node: ast.ClassDef) -> str:
    """Its first line, and its fields."""
    bases = f"({', '.join(ast.unparse(base) for base in node.bases)})" if node.bases else ""
    declared = [_PlainTypes().visit(one) for one in node.body if isinstance(one, ast.AnnAssign) and not _hidden(one)]
    fields = [f"    {ast.unparse(one)}" for one in declared]
    decorators = [f"@{ast.unparse(one)}" for one in node.decorator_list]
    return "\n".join([*decorators, f"class {node.name}{bases}:", *(fields or ["    ..."])])


class _PlainTypes(ast.NodeTransformer):
    """Types without the meaning that a field has as a key of JSON documents."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        match node:
            case ast.Subscript(value=ast.Name("Annotated"), slice=ast.Tuple(elts=[plain, *_])):
                return plain
        return node


def _hidden(field: ast.AnnAssign) -> bool:
    return isinstance(field.target, ast.Name) and field.target.id.startswith("_")


def _methods(node: ast.ClassDef, live: object) -> Iterator[str]:
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"):
            said = paragraphs(ast.get_docstring(one))
            signature = _signature(_complete(one, getattr(live, one.name, None)))
            yield block("\n".join([*(f"@{ast.unparse(d)}" for d in one.decorator_list), signature]), "python")
            yield said


def _complete(node: ast.FunctionDef, live: object) -> ast.FunctionDef:
    """The function with the signature that it has once it is loaded, where that has more options than its source."""
    if not hasattr(live, "__signature__"):
        return node
    signature = re.sub(r"\b(?:\w+\.)+(?=[A-Z])", "", str(live.__signature__))
    complete = ast.parse(f"def {node.name}{signature}: ...").body[0]
    assert isinstance(complete, ast.FunctionDef)
    return complete


def _signature(node: ast.FunctionDef) -> str:
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    whole = f"def {node.name}({ast.unparse(node.args)}){returned}"
    if len(whole) <= 110:
        return whole
    listed = ",\n".join(f"    {part}" for part in _split(ast.unparse(node.args)))
    return f"def {node.name}(\n{listed},\n){returned}"


def _split(arguments: str) -> list[str]:
    """Arguments at the commas that stand in no bracket."""
    parts, depth = [""], 0
    for letter in arguments:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _shortened(text: str, most: int = 300) -> str:
    return text if len(text) <= most else text[:most].rstrip() + " ..."


def _said_after(tree: ast.Module, node: ast.stmt) -> str:
    """The text that stands below a constant."""
    after = dict(zip(tree.body, tree.body[1:], strict=False)).get(node)
    match after:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text
    return ""


if __name__ == "__main__":
    sys.stdout.write(python_page())
