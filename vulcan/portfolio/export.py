"""Export of several policies as one module that runs without Vulcan: a library, or a policy with a guard.

A library is exported as a module that follows the best of several members (`Evaluator.following_source`): each policy
as `--format python` writes it, in a function of its own.

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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vulcan.anvil import Policy, Rejected, check
from vulcan.anvil.parse import syntax_tree
from vulcan.errors import UserError, did_you_mean
from vulcan.evaluator import Evaluator, check_guard, load_evaluator
from vulcan.export import EXPORTERS, Provenance, find_exporter
from vulcan.export.c.double_header import double_header
from vulcan.export.pack_formats import PackFormat
from vulcan.export.python.module import FORMAT_VERSION
from vulcan.export.quoting import docstring, quoted
from vulcan.export.source import MARKER, POLICY
from vulcan.export.template import load_template
from vulcan.portfolio.candidates import identifier
from vulcan.portfolio.model import Library, LibraryMember
from vulcan.portfolio.workloads import shared_settings
from vulcan.python_policy.check import AnyPolicy
from vulcan.python_policy.policy import ProgramPolicy
from vulcan.registry import recorded_task
from vulcan.robustness import FACTORIES


@dataclass(frozen=True, slots=True)
class FollowingModule:
    """An exported library: the text of the module, the members that it follows, and those left out.

    Members are left out where their task has no policy class of the required name.
    """

    text: str
    members: tuple[str, ...]
    left_out: tuple[str, ...]


def following_module(library: Library, objective: str, names: Sequence[str] = ()) -> FollowingModule:
    """Export what follows the best of these members, the first to begin with. Raises UserError.

    Without names it follows the members that together are best on the training instances.
    """
    task = recorded_task(library.task)
    evaluator = load_evaluator(task)
    if not evaluator.offers(Evaluator.follow):
        raise UserError(f"task {task.name!r}: its evaluator offers nothing that follows several policies")
    source = evaluator.following_source()
    usable = [m.name for m in library.members if source.used_by in load_template(recorded_task(m.task)).names]
    for name in names:
        if name not in usable:
            known = f"{did_you_mean(name, usable)} (known: {', '.join(usable)})"
            raise UserError(f"--follow: no member {name!r} that can be exported{known}")
    if not usable:
        raise UserError("the library has no member that can be exported")
    members = [library.member(name) for name in dict.fromkeys(names or library.to_follow(objective, usable))]
    texts = [
        *(class_factory(_function(m.name), _policy(library, m), source.used_by) for m in members),
        f"FOLLOWED = ({', '.join(_function(m.name) for m in members)},)\n"
        f"METRIC = {task.objective(objective).metric!r}\n",
        source.text,
    ]
    parts = [imports_and_body(text) for text in texts]
    imports = sorted({line for part in parts for line in part[0]})
    head = "\n\n".join(
        [docstring(_documentation(library, objective, members)), *(["\n".join(imports)] if imports else [])]
    )
    text = "\n\n\n".join([head, *(part[1] for part in parts)]) + "\n"
    left_out = tuple(m.name for m in library.members if m.name not in usable)
    return FollowingModule(text, tuple(m.name for m in members), left_out)


def _policy(library: Library, member: LibraryMember) -> str:
    """Return the Python export of a member. Raises UserError."""
    task = recorded_task(member.task)
    settings = shared_settings(member.task, {**library.settings, **member.settings})
    fitting = {key: value for key, value in settings.items() if not isinstance(value, list)}
    try:
        policy = check(member.source, task)
    except Rejected as rejected:
        raise UserError(f"the policy {member.name} is rejected: {rejected.violations[0]}") from None
    origin = Provenance(
        task.name,
        f"{member.name}.py",
        "",
        member.provenance.proposer,
        "",
        settings=policy.settings(fitting),
        version=library.version,
    )
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


def _documentation(library: Library, objective: str, members: Iterable[LibraryMember]) -> str:
    lines = [
        f"A library of policies of the task {library.task}, and what follows the best of them.",
        "",
        f"Written by Vulcan {library.version}. It needs Python alone.",
        f"Objective: {objective}",
        *(
            f"Member {m.name}: {m.provenance.proposer}, {m.provenance.origin}, "
            f"searched on {', '.join(m.provenance.workloads) or 'nothing that is known'}"
            for m in members
        ),
        *(f"Trained on: {i.name}" for i in library.instances),
    ]
    return "\n".join(lines)


def export_guarded(policy: AnyPolicy, format: str, provenance: Provenance, safe: str) -> dict[str, str]:
    """Export a guarded policy: the text of its one file, by name. Raises UserError where that is not possible."""
    task = policy.task
    evaluator = load_evaluator(task)
    check_guard(evaluator, safe)
    exporter = find_exporter(format, task)
    declared, source = evaluator.safe_policies()[safe], evaluator.guard_source()
    # a safe policy is the task's own: of the run that the policy is from it has neither proposer nor scores
    safe_policy = declared.compiled()
    origin = Provenance(declared.task, f"{declared.policy}.py", "", "", "", settings=safe_policy.settings({}))
    if isinstance(policy, Policy) and format == "c" and source.header:
        return {"guarded.h": _header(policy, provenance, safe, safe_policy, origin, source.header)}
    if isinstance(policy, ProgramPolicy) or not (format == "python" or isinstance(exporter, PackFormat)):
        usable = "python or c" if source.header else "python"
        raise UserError(f"--guard: a guarded policy cannot be exported as {format}; use --format {usable}")
    imports, behind = exporter.behind(task) if isinstance(exporter, PackFormat) else ((), "")
    written = [(policy, provenance), (safe_policy, origin)]
    modules = [next(iter(EXPORTERS["python"].export(*each).values())) for each in written]
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
        f"{POLICY} = {quoted(policy.source)}\n"
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
