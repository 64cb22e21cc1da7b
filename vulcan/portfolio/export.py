"""Export of several policies as one module that runs without Vulcan: a library, or a policy with a guard.

The template of a library is the task's file `export/selector.py`: a Python module whose text below the line
`# --- exported modules have the library above this line ---` is copied into the module. Above it are stand-ins for what
the exporter writes:

    CLASS = "Cache"          the class of `export/python.py` that a policy is used by (see `vulcan.export.template`)
    FIRST, BASELINE          the number of events per fingerprint; the name of the fallback, one of POLICIES
    POLICIES                 a function for each policy, by name, that returns its class
    TABLE                    a `vulcan.portfolio.decide.Table`, whose choices are names of POLICIES
    everything that the evaluator's `fingerprint_source` defines

The module imports what these texts import, which must be in the standard library.

A guarded policy is exported with the safe one and the evaluator's guard (`Evaluator.guard_source`), which is
used like the policy's own class. In Python each policy is as `--format python` writes it, in a function of its own; a
format of the task's pack adds its code as to any other policy. In C both are as `--format c` writes them, the names of
the safe one beginning with `safe_` instead of `policy_`, followed by the guard in C.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vulcan.anvil import Policy, Rejected, check
from vulcan.anvil.parse import syntax_tree
from vulcan.errors import UserError, did_you_mean
from vulcan.evaluator import Evaluator, check_guard, load_evaluator
from vulcan.export import Exporter, Provenance, PythonExporter, find_exporter
from vulcan.export.c.double_header import double_header
from vulcan.export.formats import CExporter, PackFormat
from vulcan.export.python.module import FORMAT_VERSION
from vulcan.export.quoting import docstring, quoted
from vulcan.export.source import MARKER, POLICY, source_text
from vulcan.export.template import load_template
from vulcan.portfolio import decide
from vulcan.portfolio.candidates import identifier
from vulcan.portfolio.model import Library, LibraryMember
from vulcan.python_policy.check import AnyPolicy
from vulcan.python_policy.policy import ProgramPolicy
from vulcan.registry import recorded_task
from vulcan.robustness import FACTORIES
from vulcan.task import Json, Task

CUT = "# --- exported modules have the library above this line ---"

MAX_WINDOW = 100_000
"""Events per fingerprint of a selector in use, where the library's have more: its first choice is not to come later."""


@dataclass(frozen=True, slots=True)
class SelectorModule:
    """An exported selector: its text, its members, those left out, and the name of the fallback.

    Members are left out where their task has no policy class of the required name.
    """

    text: str
    members: tuple[str, ...]
    left_out: tuple[str, ...]
    baseline: str


def selector_module(library: Library, objective: str) -> SelectorModule:
    """Export the module for one objective. Raises UserError where the task or its evaluator cannot."""
    task = recorded_task(library.task)
    used_by, template = _template(task)
    evaluator = load_evaluator(task)
    fingerprints = evaluator.fingerprint_source()
    if fingerprints is None:
        raise UserError(f"task {task.name!r}: its evaluator makes no fingerprints where a policy is in use")
    baseline = library.fallbacks[objective].policy
    members = [m for m in library.members if used_by in load_template(recorded_task(m.task)).names]
    left_out = tuple(m.name for m in library.members if m not in members)
    policies = {baseline: _policy(library, None, baseline), **{m.name: _policy(library, m, m.name) for m in members}}
    table = library.table(objective, deployable=True)
    table.scores = {name: values for name, values in table.scores.items() if name in policies}
    texts = [
        fingerprints,
        Path(decide.__file__).read_text(encoding="utf-8"),
        _constants(library, baseline, table),
        *(class_factory(_function(name), text, used_by) for name, text in policies.items()),
        "POLICIES = {\n" + "".join(f"    {name!r}: {_function(name)},\n" for name in policies) + "}\n",
        template,
    ]
    parts = [imports_and_body(text) for text in texts]
    imports = sorted({line for part in parts for line in part[0]})
    about = _documentation(library, objective, baseline, members)
    head = "\n\n".join([docstring(about), "from __future__ import annotations", "\n".join(imports)])
    text = "\n\n\n".join([head, *(part[1] for part in parts)]) + "\n"
    return SelectorModule(text, tuple(m.name for m in members), left_out, baseline)


def following_module(library: Library, objective: str, names: Sequence[str]) -> SelectorModule:
    """Export what follows the best of these members, and first the first. Raises UserError where there is no such."""
    task = recorded_task(library.task)
    evaluator = load_evaluator(task)
    if not evaluator.offers(Evaluator.follow):
        raise UserError(f"task {task.name!r}: its evaluator offers nothing that follows several policies")
    known = [member.name for member in library.members]
    for name in names:
        if name not in known:
            raise UserError(f"--follow: no member {name!r}{did_you_mean(name, known)} (known: {', '.join(known)})")
    members = [library.member(name) for name in dict.fromkeys(names)]
    source = evaluator.following_source()
    texts = [
        *(class_factory(_function(m.name), _policy(library, m, m.name), source.used_by) for m in members),
        f"FOLLOWED = ({', '.join(_function(m.name) for m in members)},)\n"
        f"METRIC = {task.objective(objective).metric!r}\n",
        source.text,
    ]
    parts = [imports_and_body(text) for text in texts]
    imports = sorted({line for part in parts for line in part[0]})
    about = _documentation(library, objective, members[0].name, members)
    head = "\n\n".join([docstring(about), *(["\n".join(imports)] if imports else [])])
    text = "\n\n\n".join([head, *(part[1] for part in parts)]) + "\n"
    return SelectorModule(text, tuple(m.name for m in members), (), members[0].name)


def _template(task: Task) -> tuple[str, str]:
    """Return the class that policies are used by, and the text of the template. Raises UserError."""
    path = task.directory / "export" / "selector.py"
    if not path.is_file():
        raise UserError(f"task {task.name!r} cannot export libraries: it has no file {path}")
    try:
        stand_ins, cut, text = path.read_text(encoding="utf-8").partition(f"\n{CUT}\n")
        tree = syntax_tree(stand_ins)
        syntax_tree(text)
    except (OSError, SyntaxError, ValueError) as error:
        raise UserError(f"task {task.name!r}: its template {path} cannot be read: {error}") from error
    named = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    if not cut or not isinstance(named.get("CLASS"), str):
        raise UserError(f"task {task.name!r}: its template {path} lacks CLASS = ..., or the line {CUT!r}")
    imports = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return str(named["CLASS"]), "\n".join([*imports, text])


def _policy(library: Library, member: LibraryMember | None, name: str) -> str:
    """Return the Python export of a member, or of one of the task's own policies. Raises UserError."""
    task = recorded_task(library.task if member is None else member.task)
    source = task.seed_policies()[name] if member is None else member.source
    settings: dict[str, Json] = {**library.settings, **({} if member is None else member.settings)}
    known = {setting.name: setting for setting in task.settings}
    fitting = {
        key: value
        for key, value in settings.items()
        if key in known and not isinstance(value, list) and not (known[key].choices and value not in known[key].choices)
    }
    try:
        policy = check(source, task)
    except Rejected as rejected:
        raise UserError(f"the policy {name} is rejected: {rejected.violations[0]}") from None
    proposer = "the task's author" if member is None else member.provenance.proposer
    origin = Provenance(task.name, f"{name}.py", "", proposer, "", settings=fitting, version=library.version)
    return next(iter(find_exporter("python").export(policy, origin).values()))


def _function(name: str) -> str:
    return f"_policy_{identifier(name)}"


def class_factory(function: str, module: str, used_by: str) -> str:
    """Wrap a policy's module in a function that returns its class, so that its names stay local."""
    return f"def {function}():\n{indented(module)}\n    return {used_by}\n"


def indented(text: str) -> str:
    """Indent a module by four columns, except for continuation lines of string literals."""
    inside: set[int] = set()
    start = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "STRING":
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
        elif kind == "FSTRING_START":
            start = token.start[0]
        elif kind == "FSTRING_END":
            inside.update(range(start + 1, token.end[0] + 1))
    lines = text.rstrip("\n").split("\n")
    return "\n".join(line if n in inside or not line else f"    {line}" for n, line in enumerate(lines, 1))


def imports_and_body(text: str) -> tuple[list[str], str]:
    """Split a text into its top-level imports and the rest, without its docstring."""
    tree = syntax_tree(text)
    imports: list[str] = []
    gone: set[int] = set()
    for number, node in enumerate(tree.body):
        is_docstring = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.Import | ast.ImportFrom):
            if getattr(node, "module", "") != "__future__":
                imports.append(ast.unparse(node))
        elif not is_docstring:
            continue
        gone.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = [line for number, line in enumerate(text.split("\n"), 1) if number not in gone]
    return imports, "\n".join(lines).strip("\n")


def _constants(library: Library, baseline: str, table: decide.Table) -> str:
    arguments = {
        "names": table.names,
        "centre": table.centre,
        "scale": table.scale,
        "points": table.points,
        "clusters": table.clusters,
        "scores": table.scores,
        "fallback": table.fallback,
        "method": table.method,
        "nearest": table.nearest,
        "reach": table.reach,
        "least": table.least,
    }
    written = "".join(f"    {name}={_literal(value)},\n" for name, value in arguments.items())
    return f"FIRST = {min(library.first, MAX_WINDOW)!r}\nBASELINE = {baseline!r}\nTABLE = Table(\n{written})\n"


def _literal(value: object) -> str:
    """Format a value, with one line per entry of a mapping or of a list of lists."""
    if isinstance(value, dict):
        return "{\n" + "".join(f"        {key!r}: {each!r},\n" for key, each in value.items()) + "    }"
    if isinstance(value, list) and value and isinstance(value[0], list):
        return "[\n" + "".join(f"        {each!r},\n" for each in value) + "    ]"
    return repr(value)


def _documentation(library: Library, objective: str, baseline: str, members: Iterable[LibraryMember]) -> str:
    lines = [
        f"A library of policies of the task {library.task}, and the choice among them.",
        "",
        f"Written by Vulcan {library.version}. It needs Python alone.",
        f"Objective: {objective}",
        f"Baseline: {baseline}",
        *(
            f"Member {m.name}: {m.provenance.proposer}, {m.provenance.origin}, "
            f"searched on {', '.join(m.provenance.workloads) or 'nothing that is known'}"
            for m in members
        ),
        *(f"Trained on: {i.name}, cluster {i.cluster}" for i in library.instances),
    ]
    return "\n".join(lines)


def export_guarded(
    policy: AnyPolicy, format: str, provenance: Provenance, safe: str, others: Mapping[str, Exporter] | None = None
) -> dict[str, str]:
    """Export a guarded policy: the text of its one file, by name. Raises UserError where that is not possible."""
    task = policy.task
    evaluator = load_evaluator(task)
    check_guard(evaluator, safe)
    exporter = find_exporter(format, task, others)
    declared, source = evaluator.safe_policies()[safe], evaluator.guard_source()
    # a safe policy is the task's own: of the run that the policy is from it has neither proposer nor scores
    origin = Provenance(declared.task, f"{declared.policy}.py", "", "", "", settings=declared.settings)
    if isinstance(policy, Policy) and isinstance(exporter, CExporter) and source.header:
        return {"guarded.h": _header(policy, provenance, safe, declared.compiled(), origin, source.header)}
    if isinstance(policy, ProgramPolicy) or not isinstance(exporter, PythonExporter | PackFormat):
        usable = "python or c" if source.header else "python"
        raise UserError(f"--guard: a guarded policy cannot be exported as {format}; use --format {usable}")
    imports, behind = exporter.behind(task) if isinstance(exporter, PackFormat) else ((), "")
    written = [(policy, provenance), (declared.compiled(), origin)]
    modules = [next(iter(PythonExporter().export(*each).values())) for each in written]
    factories = [class_factory(name, text, source.used_by) for name, text in zip(FACTORIES, modules, strict=True)]
    parts = [imports_and_body(text) for text in (*factories, source.text)]
    needed = {line for found, _ in parts for line in found} | {f"import {name}" for name in imports}
    requirements = exporter.requirements if isinstance(exporter, PackFormat) else "It needs Python alone."
    about = [
        policy.program.documentation or f"A policy of the task {provenance.task}.",
        "",
        *provenance.lines(requirements),
        f"Guard: {safe}",
    ]
    head = [
        docstring("\n".join(about)),
        *(["\n".join(sorted(needed))] if needed else []),
        f"{MARKER} = {FORMAT_VERSION}",
    ]
    tail = (
        "# The policy as it was searched, in the language Anvil; `vulcan eval` and `vulcan check` read it from here\n"
        f"{POLICY} = {quoted(source_text(policy))}\n"
    )
    code = [body.rstrip() for _, body in parts] + ([behind.rstrip()] if behind else [])
    ending = "_guarded" if not behind else f"_guarded_{format.replace('-', '_')}"
    return {f"{task.name}{ending}.py": "\n\n\n".join(["\n\n".join(head), *code, tail])}


_OWN = re.compile(r"\b(policy|POLICY)_")
_GUARDED = """\
Guard: {safe}, whose functions and structs are called safe_... instead of policy_..., and whose mechanism is that of
{mechanism}. The comment of the guard, below both, says how the two are used together."""


def _header(
    policy: Policy, provenance: Provenance, safe: str, safe_policy: Policy, safe_origin: Provenance, guard: str
) -> str:
    settings = "".join(f", {name} {value}" for name, value in safe_origin.settings.items())
    remark = _GUARDED.format(safe=safe, mechanism=f"the task {safe_origin.task}{settings}")
    renamed = _OWN.sub(
        lambda found: "safe_" if found[1] == "policy" else "SAFE_", double_header(safe_policy, safe_origin)
    )
    return "\n".join([double_header(policy, provenance, remark), renamed, guard])
