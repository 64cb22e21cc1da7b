"""The contract of an exporter, and the exporters there are."""

from __future__ import annotations

from typing import Protocol

from vulcan.anvil import Policy
from vulcan.errors import UserError, nearest
from vulcan.export.bpf import BpfExporter
from vulcan.export.c.double_header import double_header
from vulcan.export.c.fixed_header import fixed_header
from vulcan.export.module import python_module
from vulcan.export.program_module import program_module
from vulcan.export.provenance import Provenance
from vulcan.export.template import load_template
from vulcan.program.interface import AnyPolicy
from vulcan.program.policy import ProgramPolicy


class Exporter(Protocol):
    """Turns a policy into files that run without Vulcan."""

    @property
    def format(self) -> str:
        """The name that the exporter is chosen by."""

    def export(self, policy: Policy, provenance: Provenance) -> dict[str, str]:
        """The text of each file, by file name; the main one first. Raises UserError."""


class PythonExporter:
    """One Python module that imports nothing but `math`; of a program, nothing but modules of Python's own."""

    format = "python"

    def export(self, policy: AnyPolicy, provenance: Provenance) -> dict[str, str]:
        """See `Exporter`: one file, named after the task."""
        if isinstance(policy, ProgramPolicy):
            return {f"{policy.task.name}.py": program_module(policy, provenance)}
        return {f"{policy.task.name}.py": python_module(policy, provenance, load_template(policy.task))}


class CExporter:
    """One C header that computes in doubles."""

    format = "c"

    def export(self, policy: Policy, provenance: Provenance) -> dict[str, str]:
        """See `Exporter`: one file, `policy.h`."""
        return {"policy.h": double_header(policy, provenance)}


class FixedCExporter:
    """One C header that computes in 64-bit integers."""

    format = "c-fixed"

    def export(self, policy: Policy, provenance: Provenance) -> dict[str, str]:
        """See `Exporter`: one file, `policy.h`."""
        return {"policy.h": fixed_header(policy, provenance)}


EXPORTERS: dict[str, Exporter] = {
    exporter.format: exporter for exporter in (PythonExporter(), CExporter(), FixedCExporter(), BpfExporter())
}


def find_exporter(format: str) -> Exporter:
    """The exporter of a format. Raises UserError where there is none."""
    if format not in EXPORTERS:
        raise UserError(f"no export format is called {format!r}{nearest(format, EXPORTERS)} "
                        f"(known: {', '.join(EXPORTERS)})")  # fmt: skip
    return EXPORTERS[format]


def export_policy(policy: AnyPolicy, format: str, provenance: Provenance) -> dict[str, str]:
    """The text of each file, by file name; the main one first.

    Raises UserError, also for a policy that is free Python where the format takes none.
    """
    exporter = find_exporter(format)
    if isinstance(policy, ProgramPolicy):
        if not isinstance(exporter, PythonExporter):
            raise UserError(
                f"task {policy.task.name!r}: its policies are free Python, which cannot be exported as {format}; "
                "use --format python"
            )
        return exporter.export(policy, provenance)
    return exporter.export(policy, provenance)
