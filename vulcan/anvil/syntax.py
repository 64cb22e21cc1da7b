"""Small questions to Python's syntax tree, and names for its nodes that people understand."""

from __future__ import annotations

import ast

from vulcan.anvil.program import Position

_CARRIES_NO_MEANING = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below, without those that only name an operator or a context; for trees are walked often."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST) and not isinstance(item, _CARRIES_NO_MEANING)]
        elif isinstance(value, ast.AST) and not isinstance(value, _CARRIES_NO_MEANING):
            found.append(value)
    return found


def within(node: ast.AST) -> list[ast.AST]:
    """The node and all below it."""
    found = [node]
    for each in found:  # which grows as it is walked
        found += children(each)
    return found


def stored_names(node: ast.stmt) -> set[str]:
    """Every name that the statement, or a statement inside it, assigns."""
    return {n.id for n in within(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def may_leave(node: ast.stmt) -> bool:
    return any(isinstance(n, ast.Return | ast.Break | ast.Continue) for n in within(node))


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def dotted(node: ast.expr) -> str:
    """`a.b.c` for a chain of attributes on a name; an empty string for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def position(node: ast.AST) -> Position:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", -1) + 1


def snippet(node: ast.AST) -> str:
    try:
        text = ast.unparse(node).partition("\n")[0]
    except ValueError:  # an integer of more digits than Python prints, or an f-string that it cannot write back
        return kind_of(node).strip("`")
    return text if len(text) <= 60 else text[:57] + "..."


_KINDS: dict[type[ast.AST], str] = {
    ast.While: "`while`",
    ast.Lambda: "`lambda`",
    ast.ClassDef: "a class",
    ast.FunctionDef: "a function inside a function",
    ast.Global: "`global`",
    ast.Nonlocal: "`nonlocal`",
    ast.Try: "`try`",
    ast.With: "`with`",
    ast.Raise: "`raise`",
    ast.Assert: "`assert`",
    ast.Delete: "`del`",
    ast.Subscript: "a subscript",
    ast.NamedExpr: "`:=`",
    ast.JoinedStr: "an f-string",
    ast.ListComp: "a comprehension",
    ast.GeneratorExp: "a comprehension",
    ast.Assign: "an assignment to anything but one plain name",
    ast.Expr: "an expression whose value is not used",
    ast.Break: "`break` outside a loop",
    ast.Continue: "`continue` outside a loop",
}


def kind_of(node: ast.AST) -> str:
    return _KINDS.get(type(node), f"{type(node).__name__.lower()}")
