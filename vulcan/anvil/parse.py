"""Source text to Python's syntax tree, with every size bounded before anything walks it."""

from __future__ import annotations

import ast
import re
import warnings
from collections import deque
from dataclasses import dataclass

from vulcan.anvil import grammar
from vulcan.anvil.rejection import Rejected, violation
from vulcan.anvil.syntax import children


@dataclass(frozen=True, slots=True)
class Bounds:
    """The largest source, in bytes, and tree, in nodes and in levels."""

    source: int = grammar.LARGEST_SOURCE
    tree: int = grammar.LARGEST_TREE
    depth: int = grammar.DEEPEST_TREE


ANVIL = Bounds()


def parse(source: str, bounds: Bounds = ANVIL) -> ast.Module:
    """The syntax tree of the source. Raises Rejected where it is too large, too deep or not Python."""
    size = len(source.encode("utf-8", errors="surrogatepass"))
    if size > bounds.source:
        raise Rejected((violation("too-long", 1, 1, f"the source has {size:,} bytes"),))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as a doubtful escape in a docstring: not the user's problem
            tree = ast.parse(source)
    except SyntaxError as error:
        raise Rejected((violation("syntax", error.lineno or 1, max(error.offset or 1, 1), error.msg),)) from None
    except ValueError as error:  # a NUL byte or half a surrogate pair
        raise Rejected((violation("syntax", 1, 1, f"Python cannot parse this: {error}"),)) from None
    except (MemoryError, RecursionError):
        raise Rejected((violation("too-deep", 1, 1, "nested too deeply for Python's own parser"),)) from None
    _bound(tree, bounds)
    if not source.isascii():
        _count_columns_in_characters(tree, source)
    return tree


def _bound(tree: ast.Module, bounds: Bounds) -> None:
    """Level by level, not by recursion, for the tree may be deeper than the interpreter's stack."""
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


def _count_columns_in_characters(tree: ast.Module, source: str) -> None:
    """Python's trees count columns in bytes of UTF-8; whoever reads a violation counts characters."""
    lines = [line.encode("utf-8") for line in re.split("\r\n|\r|\n", source)]
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt | ast.arg):
            node.col_offset = len(lines[node.lineno - 1][: node.col_offset].decode("utf-8", errors="replace"))
