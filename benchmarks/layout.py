"""The weight and layout of every tree of the repository in figures: `python -m benchmarks.layout [DIRECTORY ...]`.

A module counts unless it is an `__init__.py` of imports and assignments alone. Code lines are those without blanks,
comments and docstrings. An importer is a module that names another one in any import statement, also inside a function;
packages that only re-export are no importers. Run it in a checkout of an older revision to compare.
"""

from __future__ import annotations

import ast
import io
import re
import statistics
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

LONG_FUNCTION = 60
TEMPLATES = "scaffold/files"
ROOT = Path(__file__).resolve().parents[1]
TREES = ("vulcan", "evaluators", "traces", "tasks", "tests", "benchmarks")
SKIPPED = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


@dataclass(frozen=True)
class Layout:
    """Figures of one tree. Lines are physical lines."""

    modules: int
    lines: int
    code_lines: int
    median_lines: float
    longest: int
    long_functions: int
    one_importer_share: float
    names_used_twice: int
    circles: int
    casts: int
    untyped_dicts: int


def measure(root: Path) -> Layout:
    """Measure the package in the directory `root`, whose name is the package's."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))}
    texts = {path: text for path, text in texts.items() if TEMPLATES not in path.as_posix()}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    names = {_dotted(root, path): path for path in trees}
    modules = [path for path, tree in trees.items() if not _only_exports(path, tree)]
    imports = {
        path: {names[name] for name in _imported(tree) if name in names} - {path} for path, tree in trees.items()
    }
    importers = Counter(target for path in modules for target in imports[path])
    sizes = [len(texts[path].splitlines()) for path in modules]
    classes = Counter(
        node.name
        for tree in trees.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    functions = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    whole = "\n".join(texts.values())
    return Layout(
        modules=len(modules),
        lines=sum(len(text.splitlines()) for text in texts.values()),
        code_lines=sum(_code_lines(text, trees[path]) for path, text in texts.items()),
        median_lines=statistics.median(sizes),
        longest=max(sizes),
        long_functions=sum(length > LONG_FUNCTION for length in functions),
        one_importer_share=sum(importers[path] == 1 for path in modules) / len(modules),
        names_used_twice=sum(count > 1 for count in classes.values()),
        circles=sum(
            other in imports[path] and path in imports[other] for path in modules for other in modules if path < other
        ),
        casts=len(re.findall(r"\bcast\(", whole)),
        untyped_dicts=whole.count("dict[str, Any]"),
    )


def _code_lines(text: str, tree: ast.Module) -> int:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {
        line for t in tokens if t.type not in SKIPPED and t.string for line in range(t.start[0], t.end[0] + 1)
    }  # fmt: skip
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            for statement in body:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    lines -= set(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    return len(lines)


def _dotted(root: Path, path: Path) -> str:
    package = (root.name,) if (root / "__init__.py").is_file() else ()
    parts = (*package, *path.relative_to(root).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def _only_exports(path: Path, tree: ast.Module) -> bool:
    plain = (ast.Expr, ast.Import, ast.ImportFrom, ast.Assign)
    return path.name == "__init__.py" and all(isinstance(node, plain) for node in tree.body)


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def documentation() -> tuple[int, int, float]:
    """Return the words of `docs/`, those outside of generated pages, and the MB of recorded runs that git tracks."""
    listed = subprocess.run(
        ["git", "ls-files", "docs", "tests/data"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [ROOT / name for name in listed.stdout.splitlines()]
    pages = [
        path.read_text(encoding="utf-8") for path in files if path.suffix == ".md" and ROOT / "docs" in path.parents
    ]
    words = [len(page.split()) for page in pages]
    written = [count for count, page in zip(words, pages, strict=True) if "<!-- Written by `make docs`" not in page]
    recorded = sum(path.stat().st_size for path in files if ROOT / "tests" in path.parents)
    return sum(words), sum(written), recorded / 2**20


def main(roots: Sequence[Path]) -> None:
    """Print a Markdown table with a column for each tree, and the weight of the documentation."""
    layouts = [measure(root) for root in roots]
    print(f"| | {' | '.join(root.name for root in roots)} |\n|---|{'---:|' * len(roots)}")
    for field in Layout.__dataclass_fields__:
        values = [getattr(layout, field) for layout in layouts]
        cells = [f"{value:.1%}" if field.endswith("share") else f"{value:,g}" for value in values]
        print(f"| {field.replace('_', ' ')} | {' | '.join(cells)} |")
    words, written, recorded = documentation()
    print(f"\ndocs: {words:,} words, {written:,} of them written by hand; recorded runs and tables: {recorded:.1f} MB")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]] or [ROOT / tree for tree in TREES])
