"""The part of an exported module that a task pack writes: how a policy is used at run time.

A pack may have a file `export/python.py`: an ordinary Python module that has, above the line
`# --- exported modules have the policy above this line ---`, stand-ins for what the exporter writes:

    def FUNCTION(ARGUMENTS) -> float     the policy, with the task's arguments; annotate them with (quoted) classes of
                                         the template, and the policy written in its place is annotated likewise;
                                         where the task declares several functions, each of them. One whose
                                         arguments lack the one that statistics of the whole system are read of (see
                                         _Statistics) may take it behind them, and then always is written with it
    class _Entity                        base class of the entity argument, with what its statistics keep; to be
                                         initialised without arguments
    class _Statistics                    base class of the argument that statistics of the whole system are read of
                                         (the population's, else the first group of features); to be initialised
                                         without arguments. It has enter(...) and update(...), to be called when an
                                         entity, a new object each time, has entered (with its features set) and when
                                         it was touched, and leave(entity). The former two take the policy's arguments
                                         but for histories and the one that they belong to: enter(now, obj); of several
                                         functions all arguments, those of the main one first. Where the task has no
                                         entity there is observe(...) in their place, for every event.
                                         For each occasion at which features are observed there is one more method:
                                         observe_ROUND_TRIP(...) takes the groups of features observed then, but for the
                                         one that these statistics belong to
    _USES                                a frozenset of the features that the policy reads as numbers and of the
                                         queries that it asks of a history: {"now", "obj.size", "ghost.contains"}; an
                                         entity's key is in it unless all that counts is whether two are equal
    NAME = ...                           for settings of the task, in capitals: written with their values in the
                                         search that the policy comes from, or as they stand

So the file works, can be linted and can be tested as it is. What is below the line goes into the exported module
unchanged. What several templates share they import: apart from `math` an imported module is written, whole, before the
rest. It may import further ones, and again nothing else. All numbers that the policy reads must be floats, within the
ranges that the task declares.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vulcan.errors import UserError
from vulcan.task import Json, Task

CUT = "# --- exported modules have the policy above this line ---"


@dataclass(frozen=True, slots=True)
class Template:
    """`text` is what goes into the module; the rest is what the stand-ins above it say.

    `with_state` are the functions that take the state behind the task's arguments.
    """

    text: str = ""
    settings: Mapping[str, Json] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    with_state: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """The names that the text defines at its top level."""
        names: set[str] = set(self.settings)
        for node in ast.parse(self.text).body:
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    names.add(name)
                case ast.Assign(targets=targets):
                    names |= {target.id for target in targets if isinstance(target, ast.Name)}
                case ast.AnnAssign(target=ast.Name(id=name)):
                    names.add(name)
                case _:
                    pass
        return frozenset(names)


def load_template(task: Task) -> Template:
    """The task's template; an empty one where it has none. Raises UserError where it cannot be used."""
    path = task.directory / "export" / "python.py"
    if not path.is_file():
        return Template()
    try:
        source = path.read_text(encoding="utf-8")
        stand_ins, cut, text = source.partition(f"\n{CUT}\n")
        tree = ast.parse(stand_ins)
        ast.parse(text)
    except (OSError, SyntaxError, ValueError) as error:
        raise UserError(f"task {task.name!r}: its template {path} cannot be read: {error}") from error
    if not cut:
        raise UserError(f"task {task.name!r}: its template {path} lacks the line {CUT!r}")
    settings, annotations = _settings(tree, task), _annotations(tree, task)
    shared: dict[str, str] = {}
    for module in _imported(tree):
        _add_shared(module, shared, task, path)
    whole = "\n\n\n".join(part.strip("\n") for part in (*shared.values(), text)) + "\n"
    return Template(whole, settings, annotations, _with_state(tree, task))


def _imported(tree: ast.Module) -> Iterator[str]:
    """The modules that the text imports, but for `math` and `__future__`."""
    for node in tree.body:
        match node:
            case ast.Import(names=aliases):
                yield from (alias.name for alias in aliases if alias.name != "math")
            case ast.ImportFrom(module=str(module)) if module != "__future__":
                yield module
            case _:
                pass


def _add_shared(module: str, shared: dict[str, str], task: Task, importer: Path) -> None:
    """Add the text of a module without its imports, behind those that it imports. Raises UserError."""
    if module in shared:
        return
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None or found.origin is None or not found.origin.endswith(".py"):
        raise UserError(
            f"task {task.name!r}: {importer} imports {module!r}, which is no Python file that could be written into an "
            "exported module; import nothing but math and modules of your own"
        )
    path = Path(found.origin)
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    for other in _imported(tree):
        _add_shared(other, shared, task, path)
    body = [node for node in tree.body if not _is_preamble(node)]
    shared[module] = "\n".join(source.splitlines()[body[0].lineno - 1 :]) if body else ""


def _is_preamble(node: ast.stmt) -> bool:
    """Whether it is the module's docstring or an import: those come first, and are not written."""
    return isinstance(node, ast.Import | ast.ImportFrom) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


def _settings(tree: ast.Module, task: Task) -> dict[str, Json]:
    known = {setting.name.upper() for setting in task.settings}
    found: dict[str, Json] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)) if name in known:
                if isinstance(value, bool | int | float | str):
                    found[name] = value
            case _:
                pass
    return found


def _annotations(tree: ast.Module, task: Task) -> dict[str, str]:
    named = [declared.function for declared in task.functions]
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in named:
            annotated = ((a.arg, a.annotation) for a in node.args.args)
            found |= {name: ast.unparse(kind).replace("'", '"') for name, kind in annotated if kind is not None}
    return found


def _with_state(tree: ast.Module, task: Task) -> frozenset[str]:
    declared = {signature.function: len(signature.arguments) for signature in task.functions}
    stand_ins = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in declared]
    return frozenset(node.name for node in stand_ins if len(node.args.args) == declared[node.name] + 1)
