"""Templates: the part of an exported module that a task pack writes, which uses the policy at run time.

A pack may have a file `export/python.py`: an ordinary Python module that has, above the line
`# --- exported modules have the policy above this line ---`, stand-ins for the code that the exporter writes:

    def FUNCTION(ARGUMENTS) -> float     the policy, with the task's arguments; if they are annotated with (quoted)
                                         classes of the template, the exported policy has the same annotations; one for
                                         each function that the task declares. A function without the argument that
                                         statistics of the whole system are read from (see _Statistics) may take it as
                                         an additional last one, and is then always exported with it
    class _Entity                        base class of the entity argument, with the state of its statistics;
                                         initialised without arguments
    class _Statistics                    base class of the argument that statistics of the whole system are read from
                                         (the population's, else the first group of features); initialised without
                                         arguments. Call enter(...) when an entity, a new object each time, has entered
                                         (with its features set), update(...) when it was touched, and leave(entity).
                                         The first two take the policy's arguments except histories and the argument of
                                         this class: enter(now, obj); with several functions the arguments of all, those
                                         of the main one first. A task without an entity has observe(...) instead, to be
                                         called on every event.
                                         Each occasion on which features are observed has another method:
                                         observe_ROUND_TRIP(...) takes the groups of features observed then, except the
                                         argument of this class.
                                         A policy with state has it there and in the attributes of _Entity. It has a
                                         method for each event of the task, to be called when that happens, with the
                                         event's arguments except the argument of this class: on_hit(now, obj, ghost);
                                         and seed(number), which starts its random numbers. enter(...) and the others
                                         take the arguments of events too, behind those of functions. _Entity has
                                         fields(), to be kept as long as the entity is remembered, and resume(fields),
                                         to be called with them when it comes back
    _USES                                a frozenset of the features that the policy reads as numbers and of its
                                         history queries: {"now", "obj.size", "ghost.contains"}; it includes an entity's
                                         key unless keys are only compared for equality
    NAME = ...                           settings of the task, in capitals: written with their values in the policy's
                                         search, or left as they are

`vulcan.export.stand_ins` has `_Entity` and `_Statistics` to import as stand-ins.

So the file works, can be linted and can be tested as it is. Everything below the line goes into the exported module
unchanged. Shared code is imported: every imported module that is not of the standard library is inlined whole before
the rest, and may import further ones under the same rule. Of the standard library it may use `heapq` and `math`. All
numbers that the policy reads must be floats within the ranges that the task declares.

A statement whose first line ends with the comment `# with state` is left out of the exports of policies that have no
state and handle no event, one with `# without state` out of those of the others. So are statements with `statistics`,
`fields`, or the name of an event, of an optional function, or of a mechanism where the task has several, in place of
`state`. The file works as it is with all.

Policies of one mechanism may have a template of their own, `export/python_MECHANISM.py`.
"""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from vulcan.anvil.parse import syntax_tree
from vulcan.errors import UserError
from vulcan.task import Json, Task

CUT = "# --- exported modules have the policy above this line ---"
LIBRARY = ("heapq", "math")
"""Modules of the standard library that exported modules may import."""
STAND_INS = "vulcan.export.stand_ins"
_MARK = re.compile(r"  # (with|without) (\w+)$")
STATE, STATISTICS, FIELDS = "state", "statistics", "fields"


@dataclass(frozen=True, slots=True)
class Template:
    """A task pack's template: `text` goes into the module, the other fields come from the stand-ins above it.

    `with_state` are the functions that take the state after the task's arguments, `marks` the names in marks.
    """

    text: str = ""
    settings: Mapping[str, Json] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    with_state: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset({STATE})

    @property
    def names(self) -> frozenset[str]:
        """The names that the text defines at top level, and those of settings."""
        names: set[str] = set(self.settings)
        for node in syntax_tree(self.text).body:
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

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes and methods that the text uses of anything, and gives names to."""
        tree = list(ast.walk(syntax_tree(self.text)))
        slots = (node.value for node in tree if isinstance(node, ast.Constant) and isinstance(node.value, str))
        methods = (node.name for node in tree if isinstance(node, ast.FunctionDef))
        return frozenset((*(node.attr for node in tree if isinstance(node, ast.Attribute)), *methods, *slots))

    def written(self, has: Collection[str]) -> Template:
        """Return the template of the exports of policies that have these of the `marks`."""
        lines = self.text.split("\n")
        left_out: set[int] = set()
        for node in ast.walk(syntax_tree(self.text)):
            mark = _MARK.search(lines[node.lineno - 1]) if isinstance(node, ast.stmt) else None
            if (
                isinstance(node, ast.stmt)
                and mark
                and mark[2] in self.marks
                and (mark[2] in has) != (mark[1] == "with")
            ):
                first = node.lineno - 1
                while isinstance(node, ast.FunctionDef | ast.ClassDef) and not lines[first - 1]:
                    first -= 1
                left_out |= {*range(first, node.end_lineno or node.lineno)}
        written = (self._unmarked(line) for n, line in enumerate(lines) if n not in left_out)
        return replace(self, text="\n".join(written))

    def _unmarked(self, line: str) -> str:
        mark = _MARK.search(line)
        return line[: mark.start()] if mark and mark[2] in self.marks else line


def load_template(task: Task) -> Template:
    """Load the task's template; an empty one if it has none. Raises UserError if it is unusable."""
    folder = task.directory / "export"
    own = folder / f"python_{task.mechanism}.py"
    path = own if own.is_file() else folder / "python.py"
    if not path.is_file():
        return Template()
    try:
        source = path.read_text(encoding="utf-8")
        stand_ins, cut, text = source.partition(f"\n{CUT}\n")
        tree = syntax_tree(stand_ins)
        syntax_tree(text)
    except (OSError, SyntaxError, ValueError) as error:
        raise UserError(f"task {task.name!r}: its template {path} cannot be read: {error}") from error
    if not cut:
        raise UserError(f"task {task.name!r}: its template {path} lacks the line {CUT!r}")
    settings, annotations = _settings(tree, task), _annotations(tree, task)
    shared: dict[str, str] = {}
    for module in _imported(tree):
        _add_shared(module, shared, task, path)
    whole = "\n\n\n".join(part.strip("\n") for part in (*shared.values(), text)) + "\n"
    every = [f for kind in (task.whole or task).kinds for f in kind.functions]
    events = (event.function for event in (task.whole or task).events)
    marks = frozenset(
        (STATE, STATISTICS, FIELDS, *events, *task.mechanisms, *(f.function for f in every if f.optional))
    )
    return Template(whole, settings, annotations, _with_state(tree, task), marks)


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the modules that the text imports, except those that an exported module may import."""
    for node in tree.body:
        match node:
            case ast.Import(names=aliases):
                yield from (alias.name for alias in aliases if alias.name not in LIBRARY)
            case ast.ImportFrom(module=str(module)) if module != "__future__":
                yield module
            case _:
                pass


def _add_shared(module: str, shared: dict[str, str], task: Task, importer: Path) -> None:
    """Add the text of a module without its imports, after the modules it imports. Raises UserError."""
    if module == STAND_INS or module in shared:
        return
    path = python_file(module)
    if path is None:
        raise UserError(
            f"task {task.name!r}: {importer} imports {module!r}, which is no Python file that could be written into an "
            "exported module; import heapq, math and modules of your own"
        )
    source = path.read_text(encoding="utf-8")
    tree = syntax_tree(source)
    for other in _imported(tree):
        _add_shared(other, shared, task, path)
    body = [node for node in tree.body if not _is_preamble(node)]
    shared[module] = "\n".join(source.splitlines()[body[0].lineno - 1 :]) if body else ""


def python_file(module: str) -> Path | None:
    """Return the file of a module; None where there is none that is Python."""
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(found.origin) if found and found.origin and found.origin.endswith(".py") else None


def _is_preamble(node: ast.stmt) -> bool:
    """Check whether a statement is an import or a docstring, which come first and are not written."""
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
