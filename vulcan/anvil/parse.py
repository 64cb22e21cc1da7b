"""Parsing of source text into Python's syntax tree, with size limits checked first, and helpers for its nodes."""

from __future__ import annotations

import ast
import io
import os
import re
import threading
import tokenize
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from vulcan.anvil.grammar import grammar
from vulcan.anvil.ir import Position
from vulcan.anvil.rejection import Rejected, violation

_NO_NODES = frozenset({"arg", "attr", "ctx", "id", "kind", "op", "ops", "type_comment"})
"""Fields that hold no nodes, or only operators and contexts."""

_FIELDS = {
    kind: tuple(name for name in kind._fields if name not in _NO_NODES)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}


def children(node: ast.AST) -> list[ast.AST]:
    """Return the direct child nodes, except operators and contexts (trees are walked often)."""
    found: list[ast.AST] = []
    for name in _FIELDS[type(node)]:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def within(node: ast.AST) -> list[ast.AST]:
    """Return the node and all its descendants."""
    found = [node]
    for each in found:  # grows during the loop
        found += children(each)
    return found


def stored_names(node: ast.stmt) -> set[str]:
    """Return every name that the statement, or a statement inside it, assigns."""
    return {n.id for n in within(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def may_leave(node: ast.stmt) -> bool:
    return any(isinstance(n, ast.Return | ast.Break | ast.Continue) for n in within(node))


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def dotted(node: ast.expr) -> str:
    """Return `a.b.c` for a chain of attributes on a name; an empty string for anything else."""
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
    except ValueError:  # an integer of more digits than Python prints, or an f-string that it cannot unparse
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


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """Limits on the source, in bytes, and on the tree, in nodes and levels."""

    source: int = grammar.MAX_SOURCE_BYTES
    tree: int = grammar.MAX_TREE_NODES
    depth: int = grammar.MAX_TREE_DEPTH


ANVIL = SizeLimits()


_PARSING = threading.RLock()
os.register_at_fork(before=_PARSING.acquire, after_in_parent=_PARSING.release, after_in_child=_PARSING.release)


def syntax_tree(text: str) -> ast.Module:
    """Parse Python without its warnings (e.g. of an invalid escape in a docstring), one thread at a time.

    CPython before 3.11.8 and 3.12.2 has one counter of depth for all threads that build trees, and raises SystemError
    where two of them meet (gh-106905); and `catch_warnings` changes the filters of all threads. Raises SyntaxError;
    ValueError for a NUL byte or half a surrogate pair; MemoryError and RecursionError where nested too deeply.
    """
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def parse(source: str, bounds: SizeLimits = ANVIL) -> ast.Module:
    """Parse the source. Raises Rejected where it is too large, too deep or not Python."""
    size = len(source.encode("utf-8", errors="surrogatepass"))
    if size > bounds.source:
        raise Rejected((violation("too-long", 1, 1, f"the source has {size:,} bytes"),))
    try:
        tree = syntax_tree(source)
    except SyntaxError as error:
        raise Rejected((violation("syntax", error.lineno or 1, max(error.offset or 1, 1), error.msg),)) from None
    except ValueError as error:  # a NUL byte or half a surrogate pair
        what = "bytes that are not UTF-8" if isinstance(error, UnicodeError) else error
        raise Rejected((violation("syntax", 1, 1, f"Python cannot parse this: {what}"),)) from None
    except (MemoryError, RecursionError):
        raise Rejected((violation("too-deep", 1, 1, "nested too deeply for Python's own parser"),)) from None
    _bound(tree, bounds)
    _require_utf8(source)
    if not source.isascii():
        _require_ascii_names(source)
        _count_columns_in_characters(tree, source)
    return tree


def _bound(tree: ast.Module, bounds: SizeLimits) -> None:
    """Check the limits level by level, not by recursion: the tree may be deeper than the interpreter's stack."""
    nodes = 0
    line, column = 1, 1
    level: deque[ast.AST] = deque([tree])
    depth = 0
    while level:
        depth += 1
        for _ in range(len(level)):
            node = level.popleft()
            nodes += 1
            line, column = getattr(node, "lineno", line), getattr(node, "col_offset", column - 1) + 1
            if nodes > bounds.tree:
                raise Rejected((violation("too-large", line, column, "the program has too many syntax nodes"),))
            if depth > bounds.depth:
                raise Rejected((violation("too-deep", line, column, "the program is nested too deeply"),))
            level.extend(children(node))


def _require_utf8(source: str) -> None:
    """Reject a declaration of another encoding, in which Python would run other text than what is checked here."""
    lines = re.sub("\r\n?", "\n", source).encode("utf-8")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(lines).readline)
    except SyntaxError as error:
        encoding = error.msg
    if encoding not in ("utf-8", "utf-8-sig"):
        message = f"the source declares another encoding than UTF-8 ({encoding})"
        raise Rejected((violation("syntax", 1, 1, message),))


def _require_ascii_names(source: str) -> None:
    """Reject names that are not ASCII by the source's tokens; in the tree, Python has normalized them."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    names = [t for t in tokens if t.type == tokenize.NAME and not t.string.isascii()]
    if names:
        message = "the name {!r} is not plain ASCII"
        raise Rejected(tuple(violation("ascii", t.start[0], t.start[1] + 1, message.format(t.string)) for t in names))


def _count_columns_in_characters(tree: ast.Module, source: str) -> None:
    """Convert columns, which Python's trees count in bytes of UTF-8, to characters."""
    lines = [line.encode("utf-8") for line in re.split("\r\n|\r|\n", source)]
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt | ast.arg):
            node.col_offset = len(lines[node.lineno - 1][: node.col_offset].decode("utf-8", errors="replace"))


def reachable(named: Iterable[str], called: Callable[[str], Iterable[str]]) -> set[str]:
    """Return the functions of these names, and those that they call, directly or not."""
    found, pending = set(named), list(named)
    while pending:
        new = set(called(pending.pop())) - found
        found |= new
        pending += new
    return found
