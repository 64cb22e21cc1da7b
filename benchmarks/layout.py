"""The layout of a tree of modules in figures: `python -m benchmarks.layout [PACKAGE_DIRECTORY ...]`.

Without arguments it measures `vulcan/`. A module counts unless it is an `__init__.py` of imports and assignments alone.
An importer is a module that names another one in any import statement, also inside a function; packages that only
re-export are no importers. Run it in a checkout of an older revision to compare.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SHORT_LINES = 60
TEMPLATES = "scaffold/files"


@dataclass(frozen=True)
class Layout:
    """Figures of one package. Lines are physical lines."""

    modules: int
    lines: int
    median_lines: float
    longest: int
    short_share: float
    one_importer_share: float
    names_used_twice: int
    circles: int


def measure(root: Path) -> Layout:
    """Measure the package in the directory `root`, whose name is the package's."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(root.rglob("*.py"))}
    trees = {path: tree for path, tree in trees.items() if TEMPLATES not in path.as_posix()}
    names = {_dotted(root, path): path for path in trees}
    modules = [path for path, tree in trees.items() if not _only_exports(path, tree)]
    imports = {
        path: {names[name] for name in _imported(tree) if name in names} - {path} for path, tree in trees.items()
    }
    importers = Counter(target for path in modules for target in imports[path])
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in trees}
    sizes = [lengths[path] for path in modules]
    classes = Counter(
        node.name
        for tree in trees.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return Layout(
        modules=len(modules),
        lines=sum(lengths.values()),
        median_lines=statistics.median(sizes),
        longest=max(sizes),
        short_share=sum(size < SHORT_LINES for size in sizes) / len(sizes),
        one_importer_share=sum(importers[path] == 1 for path in modules) / len(modules),
        names_used_twice=sum(count > 1 for count in classes.values()),
        circles=sum(
            other in imports[path] and path in imports[other] for path in modules for other in modules if path < other
        ),
    )


def _dotted(root: Path, path: Path) -> str:
    parts = (root.name, *path.relative_to(root).with_suffix("").parts)
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


def main(roots: list[Path]) -> None:
    """Print the figures of each package."""
    for root in roots:
        layout = measure(root)
        print(f"{root}: {layout.modules} modules, {layout.lines:,} lines")
        print(f"  lines of a module: median {layout.median_lines:g}, longest {layout.longest}")
        print(f"  modules under {SHORT_LINES} lines: {layout.short_share:.1%}")
        print(f"  modules with exactly one importer: {layout.one_importer_share:.1%}")
        print(f"  public class names used twice: {layout.names_used_twice}")
        print(f"  pairs of modules that import each other: {layout.circles}")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]] or [Path(__file__).resolve().parents[1] / "vulcan"])
