"""Export formats that a task pack declares.

A format added by a pack is an exported Python module with more code after the policy. The pack declares it in a file
`export/formats.toml`, with a table per format:

    [mine]
    summary = "a plug-in of Mine"        a short description
    needs = "mine"                       the package required to run it, in addition to Python
    modules = ["mine_cache.plug_in"]     Python modules written after the policy, in this order
    mechanisms = ["sample"]              the mechanisms whose policies it carries; all where it is left out
    hides = ["obj.cost"]                 what it cannot show or has not: features, events, functions
    statistics = ["request"]             the arguments of which it keeps statistics, or false; all where it is left out
    asks = {"use(cost=...)" = ["obj.size"]}   what a user has to give it for policies that read these features

The part of each of these modules below the line that divides templates (see `vulcan.export.template`) goes into the
export; it may use whatever the pack's `export/python.py` defines. The part above the line makes the file work on its
own; `import NAME` there, at the start of a line, is written at the head of the exported module.

A table with `header` in place of `modules` is of a format in C: that file of the folder `export` is written behind the
policy as `--format c` writes it, and may ask with `#ifdef` for

    POLICY_MECHANISM_NAME    the policy's mechanism, where the table has `mechanisms` one of them
    POLICY_DEFINES_NAME      a function that it defines, POLICY_HANDLES_NAME an event, POLICY_READS_NAME a history
    POLICY_KEEPS_FIELDS      it keeps fields of entities; POLICY_DRAWS: it draws random numbers
    POLICY_NAME              a setting of the task that is a whole number: its value in the policy's search

With `language` (java, go or rust) that file is in that language, and written behind the policy as `--format java` has
it (in Go beside it, in the same package), with `Fields` and all functions and events of the task: those that the policy
lacks return 0. It may use numbers called as those above, without POLICY_: those of the format's mechanisms and of
functions are 0 or 1.

With `program` too, that file of the folder, which includes the header, is written beside it.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from vulcan.anvil import Policy
from vulcan.anvil.parse import syntax_tree
from vulcan.errors import UserError, did_you_mean
from vulcan.export.c.double_header import double_header
from vulcan.export.languages.printer import PolicyFile
from vulcan.export.languages.table import LANGUAGES
from vulcan.export.provenance import Provenance
from vulcan.export.python.module import python_module
from vulcan.export.template import CUT, load_template, python_file
from vulcan.task import Task

_TEXTS = ("summary", "needs")
_KEYS = (*_TEXTS, "modules", "header", "program", "language", "mechanisms", "hides", "statistics", "asks")


@dataclass(frozen=True, slots=True)
class _Declared:
    """What a pack declares of a format of either kind."""

    format: str
    summary: str
    needs: str
    mechanisms: tuple[str, ...]
    hides: tuple[str, ...]
    statistics: tuple[str, ...] | None
    asks: Mapping[str, tuple[str, ...]]
    takes_programs = False

    def asked_for(self, policy: Policy) -> Iterator[str]:
        """Yield what its user has to give it for this policy, and why."""
        for given, features in self.asks.items():
            if read := ", ".join(sorted(set(features) & set(policy.plan.read))):
                yield f"{given}, as the policy reads {read}"

    def require_carried(self, policy: Policy) -> None:
        if self.mechanisms and policy.mechanism not in self.mechanisms:
            raise UserError(
                f"policies of the mechanism {policy.mechanism} cannot be exported as {self.format}, which has "
                f"{' and '.join(self.mechanisms)}; use --format c or python"
            )
        used = {*policy.plan.read, *(f.name for f in (*policy.program.handlers, *policy.program.entries))}
        if hidden := ", ".join(sorted(used.intersection(self.hides))):
            raise UserError(f"the policy uses {hidden}, which {self.needs} does not show; try --format python")
        kept, names = self.statistics, {f"{each.feature}.{each.kind}" for each in policy.plan.statistics}
        if lost := ", ".join(sorted(n for n in names if kept is not None and n.partition(".")[0] not in kept)):
            raise UserError(f"the policy uses {lost}: {self.format} keeps no such statistics; try --format c or python")


@dataclass(frozen=True, slots=True)
class PackFormat(_Declared):
    """An exporter to a format that a task pack declares."""

    modules: tuple[str, ...]

    def export(self, policy: Policy, provenance: Provenance) -> dict[str, str]:
        """See `Exporter`: one Python module, named after the task and the format."""
        self.require_carried(policy)
        imports, behind = self.behind(policy.task)
        text = python_module(
            policy, provenance, load_template(policy.task), imports=imports, behind=behind, needs=self.requirements
        )
        return {f"{policy.task.name}_{self.format.replace('-', '_')}.py": text}

    @property
    def requirements(self) -> str:
        return f"It needs Python and the package {self.needs}."

    def behind(self, task: Task) -> tuple[tuple[str, ...], str]:
        """Return the modules that the code after the policy imports, and that code. Raises UserError."""
        imports: dict[str, None] = {}
        texts = []
        for module in self.modules:
            above, text = _divided(module, task, self.format)
            imports |= dict.fromkeys(above)
            texts.append(text)
        return tuple(imports), "\n\n\n".join(texts) + "\n"


@dataclass(frozen=True, slots=True)
class HeaderFormat(_Declared):
    """An exporter to a format in C that a task pack declares: the policy, and the pack's header behind it."""

    header: str
    program: str | None = None
    language: str | None = None

    def export(self, policy: Policy, provenance: Provenance) -> dict[str, str]:
        """See `Exporter`: files named as the pack's header is, and its program."""
        self.require_carried(policy)
        folder = policy.task.directory / "export"
        text = pack_text(policy.task, folder / self.header)
        if self.language is not None:
            language = next(each for each in LANGUAGES if each.name == self.language)
            file = PolicyFile(policy, language, whole=True)
            constants = {f"MECHANISM_{name}".upper(): 0.0 for name in self.mechanisms}
            constants |= {f"DEFINES_{function.function}".upper(): 0.0 for function in file.every_function}
            defined = (line.partition(" ") for line in _defined(policy, provenance))
            constants |= {name: float(value or 1) for name, _, value in defined}
            if language.has_packages:
                return {language.file: file.text(provenance, constants), self.header: text}
            return {language.file: file.text(provenance, constants, text)}
        defines = "".join(f"#define POLICY_{name}\n" for name in _defined(policy, provenance))
        beside = {self.program: pack_text(policy.task, folder / self.program)} if self.program else {}
        return {**beside, self.header: f"{double_header(policy, provenance)}\n{defines}\n{text}"}


def hidden_by(task: Task, format: str | None) -> tuple[str, ...]:
    """Return what a format of the task's pack hides from policies. Raises UserError."""
    declared = pack_formats(task).get(format or "")
    hides = declared.hides if declared is not None else ()
    known = [feature for feature, _ in task.whole_interface.features()]
    known += (each.function for each in (*task.events, *task.others))
    for name in hides:
        if name not in known:
            raise UserError(
                f"task {task.name!r}: {format} hides {name!r}, no feature, event or function{did_you_mean(name, known)}"
            )
    return hides


def _defined(policy: Policy, provenance: Provenance) -> Iterator[str]:
    yield f"MECHANISM_{policy.mechanism}".upper()
    yield from (f"DEFINES_{entry.name}".upper() for entry in policy.program.entries)
    yield from (f"HANDLES_{handler.name}".upper() for handler in policy.program.handlers)
    yield from sorted({f"READS_{query.history}".upper() for query in policy.plan.queries})
    yield from ["KEEPS_FIELDS"] * any(variable.is_field for variable in policy.program.variables)
    yield from ["DRAWS"] * policy.plan.draws
    for setting in policy.task.settings:
        value = provenance.settings.get(setting.name)
        value = setting.default if value is None else value
        if isinstance(value, int) and not isinstance(value, bool):
            yield f"{setting.name.upper()} {value}"


def pack_formats(task: Task) -> dict[str, PackFormat | HeaderFormat]:
    """Return the formats that the task's pack adds, by name. Raises UserError if they cannot be read."""
    path = task.directory / "export" / "formats.toml"
    if not path.is_file():
        return {}
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # ValueError: no UTF-8, no TOML, or a number that int() refuses
        raise UserError(f"task {task.name!r}: its formats in {path} cannot be read: {error}") from error
    return {name: _format(name, table, path) for name, table in tables.items()}


def _format(name: str, table: object, path: Path) -> PackFormat | HeaderFormat:
    if not isinstance(table, Mapping):
        raise UserError(f"{path}: {name!r} stands outside of a table; write [{name}]")
    for key in table:
        if key not in _KEYS:
            raise UserError(
                f"{path}: {name} has an unknown key {key!r}{did_you_mean(key, _KEYS)} (one of {', '.join(_KEYS)})"
            )
    for key in _TEXTS:
        if not isinstance(table.get(key), str) or not table[key]:
            raise UserError(f"{path}: {name} needs {key}, a text")
    header = table.get("header")
    hides = _names(name, table, "hides", path) if "hides" in table else ()
    mechanisms = _names(name, table, "mechanisms", path) if "mechanisms" in table else ()
    kept = table.get("statistics")
    statistics = None if kept is None else () if kept is False else _names(name, table, "statistics", path)
    asked = table.get("asks", {})
    if not isinstance(asked, Mapping):
        raise UserError(f"{path}: {name} needs asks, a table")
    asks = {given: _names(f"{name}.asks", asked, given, path) for given in asked}
    told = (name, table["summary"], table["needs"], mechanisms, hides, statistics, asks)
    if isinstance(header, str):
        if (language := table.get("language")) not in (None, *(each.name for each in LANGUAGES)):
            raise UserError(f"{path}: {name} has a language {language!r}; Vulcan writes java, go and rust")
        return HeaderFormat(*told, header, table.get("program"), language)
    return PackFormat(*told, _names(name, table, "modules", path))


def _names(name: str, table: Mapping[str, object], key: str, path: Path) -> tuple[str, ...]:
    found = table.get(key)
    if not isinstance(found, list) or not found or not all(isinstance(each, str) for each in found):
        raise UserError(f"{path}: {name} needs {key}, a list of names")
    return tuple(found)


def _divided(module: str, task: Task, format: str) -> tuple[list[str], str]:
    """Split a module into its imports and the part that goes into exports. Raises UserError."""
    where = f"task {task.name!r}: the module {module} of its format {format}"
    if (path := python_file(module)) is None:
        raise UserError(f"{where} is not found: install the package that has it")
    above, cut, text = path.read_text(encoding="utf-8").partition(f"\n{CUT}\n")
    if not cut:
        raise UserError(f"{where} lacks the line {CUT!r}")
    imports = (node for node in syntax_tree(above).body if isinstance(node, ast.Import))
    return [alias.name for node in imports for alias in node.names], text.strip("\n")


def pack_text(task: Task, path: Path) -> str:
    """Read a text file of the task's pack. Raises UserError."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"task {task.name!r}: its {path} cannot be read: {error}") from error
