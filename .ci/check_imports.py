"""Whether all that a wheel imports is declared as its dependency.

python .ci/check_imports.py WHEEL
"""

from __future__ import annotations

import ast
import re
import sys
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from importlib.metadata import packages_distributions

OPTIONAL = {
    "cachetools",
    "diskcache",
    "libcachesim",
    "lmcache",
    "mcp",
    "pyarrow",
    "pydantic",
    "sglang",
    "sky",
    "vllm",
}
"""What exported modules are written for, extras, and what readers of packed files use if it is there."""
TYPES_ALONE = {"_typeshed"}
"""What only type checkers have."""


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def imported(source: str) -> Iterator[str]:
    """Top-level names of the modules that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.partition(".")[0]


def undeclared(wheel: str) -> Iterator[str]:
    with zipfile.ZipFile(wheel) as archive:
        files = archive.namelist()
        (metadata,) = (name for name in files if name.endswith(".dist-info/METADATA"))
        required = Parser().parsestr(archive.read(metadata).decode()).get_all("Requires-Dist", [])
        declared = {normalised(re.split(r"[^\w.-]", line)[0]) for line in required if "extra ==" not in line}
        known = set(sys.stdlib_module_names) | {name.split("/")[0] for name in files}
        known |= {name.rsplit("/", 1)[-1].removesuffix(".py") for name in files}  # modules beside a task's own
        providers = packages_distributions()
        for file in files:
            if not file.endswith(".py"):
                continue
            for module in sorted(set(imported(archive.read(file).decode())) - known - OPTIONAL - TYPES_ALONE):
                found = {normalised(name) for name in providers.get(module, [])}
                if not found & declared:
                    yield f"{file} imports {module}, of {', '.join(sorted(found)) or 'no package installed here'}"


if __name__ == "__main__":
    problems = list(undeclared(sys.argv[1]))
    sys.exit("\n".join(["the wheel does not declare all that it imports:", *problems]) if problems else 0)
