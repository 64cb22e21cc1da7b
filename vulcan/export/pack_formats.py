"""Formats that a task pack adds to those of Vulcan: an exported Python module with more behind it.

A pack may have a file `export/formats.toml`, with a table for each such format, by its name:

    [mine]
    summary = "a plug-in of Mine"        what it is, in a few words
    needs = "mine"                       the package that it takes to run it, besides Python
    modules = ["mine_cache.plug_in"]     Python modules that are written behind the policy, in this order
    use = "from {module} import ..."     one line on how to use it; {module} is the name of the exported module

Of each of these modules goes into the export what stands below the line that divides templates (see
`vulcan.export.template`); it may use whatever the pack's `export/python.py` defines. What is above the line makes the
file work as it is. `import NAME` there, at the start of a line, is written at the head of the exported module.
"""

from __future__ import annotations

import ast
import importlib.util
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from vulcan.anvil import Policy
from vulcan.errors import UserError, nearest
from vulcan.export.module import python_module
from vulcan.export.provenance import Provenance
from vulcan.export.template import CUT, load_template
from vulcan.task import Task

_TEXTS = ("summary", "needs", "use")
_KEYS = (*_TEXTS, "modules")


@dataclass(frozen=True, slots=True)
class PackFormat:
    """An exporter of a format that a task pack declares."""

    format: str
    summary: str
    needs: str
    use: str
    modules: tuple[str, ...]
    takes_programs: bool = False

    def export(self, policy: Policy, provenance: Provenance) -> dict[str, str]:
        """See `Exporter`: one Python module, named after the task and the format."""
        imports: dict[str, None] = {}
        texts = []
        for module in self.modules:
            above, text = _divided(module, policy.task, self.format)
            imports |= dict.fromkeys(above)
            texts.append(text)
        behind = "\n\n\n".join(texts) + "\n"
        text = python_module(
            policy,
            provenance,
            load_template(policy.task),
            imports=tuple(imports),
            behind=behind,
            needs=f"It needs Python and the package {self.needs}.",
        )
        return {f"{policy.task.name}_{self.format.replace('-', '_')}.py": text}

    def how_to_use(self, file: str) -> str:
        """See `Exporter`."""
        return self.use.replace("{module}", Path(file).stem)


def pack_formats(task: Task) -> dict[str, PackFormat]:
    """The formats that the task's pack adds, by name. Raises UserError where they cannot be read."""
    path = task.directory / "export" / "formats.toml"
    if not path.is_file():
        return {}
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, no TOML, or a number that int() refuses
        raise UserError(f"task {task.name!r}: its formats in {path} cannot be read: {error}") from error
    return {name: _format(name, table, path) for name, table in tables.items()}


def _format(name: str, table: object, path: Path) -> PackFormat:
    if not isinstance(table, Mapping):
        raise UserError(f"{path}: {name!r} stands outside of a table; write [{name}]")
    for key in table:
        if key not in _KEYS:
            raise UserError(
                f"{path}: {name} has an unknown key {key!r}{nearest(key, _KEYS)} (one of {', '.join(_KEYS)})"
            )
    for key in _TEXTS:
        if not isinstance(table.get(key), str) or not table[key]:
            raise UserError(f"{path}: {name} needs {key}, a text")
    modules = table.get("modules")
    if not isinstance(modules, list) or not modules or not all(isinstance(module, str) for module in modules):
        raise UserError(f"{path}: {name} needs modules, a list of names of Python modules")
    return PackFormat(name, table["summary"], table["needs"], table["use"], tuple(modules))


def _divided(module: str, task: Task, format: str) -> tuple[list[str], str]:
    """What a module imports by itself, and what of it goes into exports."""
    where = f"task {task.name!r}: the module {module} of its format {format}"
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None or found.origin is None or not found.origin.endswith(".py"):
        raise UserError(f"{where} is not found: install the package that has it")
    above, cut, text = Path(found.origin).read_text(encoding="utf-8").partition(f"\n{CUT}\n")
    if not cut:
        raise UserError(f"{where} lacks the line {CUT!r}")
    return list(_imported(above)), text.strip("\n")


def _imported(text: str) -> Iterator[str]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
