"""Export of a policy with the guard of a safe one, as one Python module or one C header.

The module has both policies as `vulcan export --format python` writes them, each in a function of its own, and the
evaluator's guard (`vulcan.robustness.OffersGuards`), which is used like the policy's own class. A format of the task's
pack adds its code as to any other policy.

The header has both policies as `vulcan export --format c` writes them, the names of the safe one beginning with `safe_`
instead of `policy_`, and the evaluator's guard in C.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.evaluator import load_evaluator
from vulcan.export import Exporter, Provenance, PythonExporter, find_exporter
from vulcan.export.c.double_header import double_header
from vulcan.export.formats import CExporter, PackFormat
from vulcan.export.python.module import FORMAT_VERSION
from vulcan.export.quoting import docstring, quoted
from vulcan.export.source import MARKER, POLICY, source_text
from vulcan.portfolio.export import class_factory, imports_and_body
from vulcan.python_policy.check import AnyPolicy
from vulcan.python_policy.policy import ProgramPolicy
from vulcan.robustness import FACTORIES, check_guard


def export_guarded(
    policy: AnyPolicy, format: str, provenance: Provenance, safe: str, others: Mapping[str, Exporter] | None = None
) -> dict[str, str]:
    """Export a guarded policy: the text of its one file, by name. Raises UserError where that is not possible."""
    task = policy.task
    offered = check_guard(load_evaluator(task), safe)
    exporter = find_exporter(format, task, others)
    declared, source = offered.safe_policies()[safe], offered.guard_source()
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
