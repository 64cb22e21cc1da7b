"""Assembly of an exported Python module from a policy in free Python."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from vulcan.anvil.parse import syntax_tree
from vulcan.errors import UserError
from vulcan.export.provenance import Provenance
from vulcan.export.quoting import docstring, quoted
from vulcan.export.source import MARKER, POLICY
from vulcan.export.template import CUT
from vulcan.python_policy.allowed import MODULES, NO_MEANING_AT_RUN_TIME, SEED, WITHOUT_IMPORT
from vulcan.python_policy.policy import ProgramPolicy
from vulcan.task import Task

FORMAT_VERSION = 1


def program_module(policy: ProgramPolicy, provenance: Provenance) -> str:
    """Generate a module that imports only the standard library: the class, followed by the task pack's code.

    Raises UserError if the pack's `export/python.py` lacks the dividing line.
    """
    tree = syntax_tree(policy.source)
    body = _without_imports(policy.source.replace("\r\n", "\n"), tree)
    driver = _driver(policy.task)
    about = ast.get_docstring(tree) or f"A policy of the task {provenance.task}."
    parts = [
        docstring("\n".join((about, "", *provenance.lines()))),
        "\n".join(("from __future__ import annotations", "", *_imports(f"{body}\n{driver}"))),
        f"{MARKER} = {FORMAT_VERSION}",
        body.strip("\n"),
        *([driver.strip("\n")] if driver else []),
        "# The policy as it was searched; `vulcan eval` and `vulcan check` read it from here\n"
        f"{POLICY} = {quoted(policy.source)}\n",
    ]
    return "\n\n\n".join(parts)


def _driver(task: Task) -> str:
    path = task.directory / "export" / "python.py"
    if not path.is_file():
        return ""
    _, cut, text = path.read_text(encoding="utf-8").partition(CUT)
    if not cut:
        raise UserError(f"{path}: the line `{CUT}` is missing")
    return text


def _imports(code: str) -> Iterator[str]:
    """Yield imports of the modules and names that the code uses out of those offered to programs."""
    used = {node.id for node in ast.walk(syntax_tree(code)) if isinstance(node, ast.Name)}
    modules = sorted(name for name in MODULES if name in used and name != "random")
    yield from (f"import {module}" for module in modules)
    collected = sorted(name for name in (*WITHOUT_IMPORT, "namedtuple") if name in used)
    if collected:
        yield f"from collections import {', '.join(collected)}"
    if "random" in used:
        yield "from random import Random"
        yield ""
        yield f"random = Random({SEED})"


def _without_imports(source: str, tree: ast.Module) -> str:
    """Return the source without its docstring and with imports replaced by assignments."""
    lines = source.split("\n")
    changed: list[ast.stmt] = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    if tree.body and ast.get_docstring(tree) is not None:
        changed.append(tree.body[0])
    for node in sorted(changed, key=lambda n: (n.lineno, n.col_offset), reverse=True):
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        before = lines[first].encode()[: node.col_offset].decode()
        after = lines[last].encode()[node.end_col_offset or 0 :].decode()
        kept = "; ".join(_assignments(node)) or ("pass" if node.col_offset or after.strip().startswith(";") else "")
        lines[first : last + 1] = [before + kept + after]
    return "\n".join(lines)


def _assignments(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.ImportFrom(module=module) if module == "typing":
            yield ast.unparse(node)
        case ast.Import(names=aliases):
            for alias in aliases:
                if alias.name in NO_MEANING_AT_RUN_TIME:
                    yield f"import {alias.name}"
                elif alias.asname is not None and alias.asname != alias.name:
                    yield f"{alias.asname} = {alias.name}"
        case ast.ImportFrom(module=str(module), names=aliases) if module in MODULES:
            for alias in aliases:
                offered_by_itself = module == "collections"
                value = alias.name if offered_by_itself else f"{module}.{alias.name}"
                if (alias.asname or alias.name) != value:
                    yield f"{alias.asname or alias.name} = {value}"
