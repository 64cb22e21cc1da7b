"""The house keeps its walls: imports run one way, and the framework knows no domain."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = {
    "vulcan": ROOT / "vulcan",
    **{place.name: place for folder in ("evaluators", "traces") for place in (ROOT / folder).glob("vulcan_*")},
}

# From the ground up; a module imports from its own layer's package and from lower layers.
LAYERS = (
    {
        "vulcan", "vulcan.closing", "vulcan.errors", "vulcan.imports", "vulcan.interface", "vulcan.properties",
    },
    {"vulcan.documents", "vulcan.files", "vulcan.foreign_code", "vulcan.sizes", "vulcan.zstd"},
    {"vulcan.inputs", "vulcan.paths", "vulcan.svg", "vulcan.terminal_text", "vulcan.task", "vulcan.trust"},
    {"vulcan.kernel_support"},
    {"vulcan.anvil"},
    {"vulcan.python_policy"},
    {"vulcan.registry"},
    {"vulcan.findings", "vulcan.lessons", "vulcan.robustness"},
    {"vulcan.evaluator"},
    {"vulcan.simulator"},
    {"vulcan.models", "vulcan.scoring", "vulcan.store"},
    {"vulcan.export", "vulcan.generator"},
    {"vulcan.searches"},
    {
        "vulcan.doctor", "vulcan.portfolio", "vulcan.progress", "vulcan.results", "vulcan.scaffold", "vulcan.testing",
    },
    {"vulcan.api"},
    {"vulcan.dashboard", "vulcan.mcp"},
    {"vulcan.cli"},
)  # fmt: skip
# `vulcan` itself offers the Python API by name, and loads it when it is first used
OFFERED = {("vulcan", "vulcan.api"), ("vulcan", "vulcan.errors")}
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

FOR_EVALUATORS = {
    "vulcan.anvil", "vulcan.python_policy", "vulcan.task", "vulcan.evaluator", "vulcan.findings",
    "vulcan.errors", "vulcan.lessons", "vulcan.robustness", "vulcan.simulator",
    "vulcan.kernel_support", "vulcan.files", "vulcan.paths", "vulcan.sizes",
}  # fmt: skip
# A command that an evaluator contributes (entry points `vulcan.commands`) is a part of the command line
FOR_COMMANDS = FOR_EVALUATORS | {"vulcan.api", "vulcan.cli", "vulcan.export", "vulcan.registry"}
CONTRIBUTED_COMMANDS = {"vulcan_link.linux.command", "vulcan_traces.command"}
FOR_TRACES = {"vulcan.errors", "vulcan.inputs", "vulcan.kernel_support", "vulcan.paths", "vulcan.sizes", "vulcan.zstd"}

DOMAIN = re.compile(
    r"evict|ghost|miss_?ratio|hit_?ratio|prefetch|belady|fifo|\blru(?!_cache)|cache_?size|footprint|cwnd|congestion|"
    r"packet|\brtt\b|tiering|preempt|spot_?vm|vulcan_(cache|link|tiering|spot|traces)\b",
    re.IGNORECASE,
)


@cache
def sources(package: str) -> dict[str, Path]:
    """The modules of a package by dotted name."""
    place = PACKAGES[package]
    found = {}
    for path in sorted(place.rglob("*.py")):
        parts = path.relative_to(place.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def imported(path: Path) -> list[tuple[int, str]]:
    """Line and dotted name of everything that a module imports, also inside functions and for types only."""
    found = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return found


def unit(name: str) -> str:
    """The part of the house that a dotted name belongs to: `vulcan.searches` for `vulcan.searches.study.Study`."""
    parts = name.split(".")
    top, second = parts[0], ".".join(parts[:2])
    return second if top == "vulcan" and second in LEVEL else top


def within(package: str) -> list[tuple[str, Path, int, str, str]]:
    """Every import of this project's own: the importing module, its place, the unit it is in and the one it imports."""
    return [
        (module, path, line, unit(module), unit(name))
        for module, path in sources(package).items()
        for line, name in imported(path)
        if name.split(".")[0] in PACKAGES
    ]


def test_every_part_of_the_framework_has_its_layer() -> None:
    parts = {".".join(module.split(".")[:2]) for module in sources("vulcan")}
    assert parts - set(LEVEL) == set()
    assert {"vulcan.cli", "vulcan.mcp", "vulcan.searches", "vulcan.scoring", "vulcan.anvil", "vulcan.task"} <= parts


def test_imports_run_one_way() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {theirs} is imported by {mine}"
        for module, path, line, mine, theirs in within("vulcan")
        if theirs != mine and (module, theirs) not in OFFERED and not LEVEL.get(theirs, 99) < LEVEL[mine]
    ]
    assert wrong == []


def test_the_framework_imports_neither_evaluators_nor_traces() -> None:
    assert [f"{path}:{line}" for _, path, line, _, theirs in within("vulcan") if not theirs.startswith("vulcan.")
            and theirs != "vulcan"] == []  # fmt: skip


READS_ITS_TASK = {("vulcan_link.aqm.simulator", "vulcan.registry")}
"""The evaluator whose best baseline is the one that the task's first objective says is best."""

SHARES = {"vulcan_prefix": {"vulcan_serving"}}
"""The model of a server is one."""


@pytest.mark.parametrize("package", [name for name in PACKAGES if name not in ("vulcan", "vulcan_traces")])
def test_evaluators_import_the_contracts_and_traces_alone(package: str) -> None:
    allowed = FOR_EVALUATORS | {package, "vulcan_traces"} | SHARES.get(package, set())
    commands = FOR_COMMANDS | allowed
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {theirs}"
        for module, path, line, _, theirs in within(package)
        if theirs not in (commands if module in CONTRIBUTED_COMMANDS else allowed)
        and (module, theirs) not in READS_ITS_TASK
    ]
    assert wrong == []


def test_traces_import_the_ground_floor_alone() -> None:
    modules = [(module, theirs) for module, *_, theirs in within("vulcan_traces") if theirs != "vulcan_traces"]
    assert {theirs for module, theirs in modules if module not in CONTRIBUTED_COMMANDS} <= FOR_TRACES


def test_the_packages_are_those_of_the_wheel() -> None:
    assert {"vulcan", "vulcan_cache", "vulcan_traces"} <= set(PACKAGES)
    assert all((place / "__init__.py").is_file() for place in PACKAGES.values())


def names(path: Path) -> Iterator[tuple[int, str]]:
    """Every identifier of a module, and every text in it that may be one; prose and examples are not."""
    module = tree(path)
    for node in ast.walk(module):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.keyword(arg=str(name)):
                yield node.lineno, name
            case ast.Constant(value=str(text)) if re.fullmatch(r"[\w.:-]+", text):
                yield node.lineno, text


def test_the_framework_knows_no_domain() -> None:
    """No identifier is a word of caches or packets; examples in prose may be."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name!r}"
        for path in sources("vulcan").values()
        for line, name in names(path)
        if DOMAIN.search(name)
    ]
    assert found == []


@cache
def kernel_patterns() -> list[str]:
    """Return the modules that mypy leaves to numba, as patterns."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        overrides = tomllib.load(file)["tool"]["mypy"]["overrides"]
    exempt = [pattern for override in overrides if override.get("ignore_errors") for pattern in override["module"]]
    return [pattern for pattern in exempt if ".exported." not in pattern]


def is_kernel(module: str) -> bool:
    """Whether mypy leaves a module out; like mypy, `*` stands for any number of components, also none."""
    return any(
        re.fullmatch(re.escape(pattern).replace(r"\.\*", r"(\..*)?").replace(r"\*", ".*"), module)
        for pattern in kernel_patterns()
    )


def decorates_kernels(path: Path) -> bool:
    """Whether a module is compiled: numba or its decorators are imported at its top level."""
    return any(
        (isinstance(node, ast.ImportFrom) and node.module in ("vulcan.kernel_support", "numba", "llvmlite"))
        or (isinstance(node, ast.Import) and any(alias.name.startswith(("numba", "llvmlite")) for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and "baseline_kernel" in [alias.name for alias in node.names])
        for node in tree(path).body
    )


def test_compiled_kernels_are_where_mypy_looks_away_and_nothing_else_is() -> None:
    """Also exempt is a package's `__init__.py`: it names what is in the package."""
    found = {module: path for package in PACKAGES if package != "vulcan" for module, path in sources(package).items()}
    kernels = {module for module, path in found.items() if decorates_kernels(path)}
    exempt = {module for module, path in found.items() if is_kernel(module) and path.name != "__init__.py"}
    assert "vulcan_cache.kernels.ranking" in kernels
    assert exempt == kernels
    assert len(kernel_patterns()) <= 4


def test_numba_is_imported_by_the_one_module_that_sets_it_up() -> None:
    importing = {
        module
        for package in PACKAGES
        for module, path in sources(package).items()
        for _, name in imported(path)
        if name.split(".")[0] == "numba"
    }
    assert importing == set()  # `vulcan.kernel_support` imports it by name, once it is set up


def test_no_module_is_named_like_one_of_the_standard_library() -> None:
    named = {path.relative_to(ROOT) for package in PACKAGES for path in sources(package).values()}
    assert [
        str(path) for path in sorted(named) if path.stem in sys.stdlib_module_names and path.stem != "__init__"
    ] == []


def test_test_modules_have_names_of_their_own() -> None:
    """Those of two directories without packages cannot be collected together."""
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, times in names.items() if times > 1] == []
