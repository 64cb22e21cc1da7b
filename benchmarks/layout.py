"""The weight of each tree of a checkout, and of its pages: `python -m benchmarks.layout [CHECKOUT]`.

Code lines are those without blanks, comments and docstrings; an importer names a module in a `from ... import`.
"""

import ast
import io
import re
import statistics
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

TREES = ("vulcan", "evaluators", "traces", "tasks", "tests", "benchmarks")


def figures(root: Path, names: list[str]) -> dict[str, str]:
    """Return the figures of a tree's modules, by what they are of."""
    texts = {name: (root / name).read_text(encoding="utf-8") for name in names}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    functions = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    modules = {_dotted(name): name for name in names if not name.endswith("__init__.py")}
    importers = Counter(
        one for name, tree in trees.items() for one in _imported(tree) & modules.keys() - {_dotted(name)}
    )
    whole = "\n".join(texts.values())
    return {
        "files": f"{len(names)}",
        "lines": f"{sum(len(text.splitlines()) for text in texts.values()):,}",
        "of code": f"{sum(_code_lines(texts[name], trees[name]) for name in names):,}",
        "median": f"{statistics.median(len(text.splitlines()) for text in texts.values()):g}",
        "functions over 60 lines": f"{sum((each.end_lineno or 0) - each.lineno >= 60 for each in functions)}",
        "one importer": f"{sum(importers[name] == 1 for name in modules) / len(modules):.0%}",
        "casts": str(len(re.findall(r"\bcast\(", whole))),
        "`dict[str, Any]`": str(whole.count("dict[str, Any]")),
    }


def _code_lines(text: str, tree: ast.Module) -> int:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    used = (token for token in tokens if token.string.strip() and token.type != tokenize.COMMENT)
    lines = {line for token in used for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def _dotted(name: str) -> str:
    parts = Path(name).with_suffix("").parts
    return ".".join(parts[1:] if parts[0] in ("evaluators", "traces") else parts)


def _imported(tree: ast.Module) -> set[str]:
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    return {f"{node.module}{name}" for node in froms for name in ("", *(f".{alias.name}" for alias in node.names))}


if __name__ == "__main__":
    checkout = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=checkout, capture_output=True, text=True, check=True
    ).stdout.split()
    code = [name for name in listed if name.endswith(".py")]
    rows = {tree: figures(checkout, [name for name in code if name.startswith(f"{tree}/")]) for tree in TREES}
    print(f"| | {' | '.join(rows['vulcan'])} |\n|---|{'---:|' * len(rows['vulcan'])}")
    print("\n".join(f"| {tree} | {' | '.join(row.values())} |" for tree, row in rows.items()))
    words = sum(len((checkout / n).read_text().split()) for n in listed if n.startswith("docs/") and n.endswith(".md"))
    recorded = sum((checkout / name).stat().st_size for name in listed if name.startswith("tests/data/"))
    print(f"\n{words:,} words of pages, {recorded / 2**20:.1f} MB of recordings")
