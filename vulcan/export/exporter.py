"""The contract of an exporter, and the exporters there are: Vulcan's own, and those that a task pack adds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from vulcan.anvil import Policy
from vulcan.errors import UserError, nearest
from vulcan.export.bpf import BpfExporter
from vulcan.export.c.double_header import double_header
from vulcan.export.c.fixed_header import fixed_header
from vulcan.export.module import python_module
from vulcan.export.pack_formats import pack_formats
from vulcan.export.program_module import program_module
from vulcan.export.provenance import Provenance
from vulcan.export.template import load_template
from vulcan.program.interface import AnyPolicy
from vulcan.program.policy import ProgramPolicy
from vulcan.task import Task


class Exporter(Protocol):
    """Turns a policy into files that run without Vulcan."""

    @property
    def format(self) -> str:
        """The name that the exporter is chosen by."""

    @property
    def summary(self) -> str:
        """What it writes, in a few words."""

    @property
    def takes_programs(self) -> bool:
        """Whether policies that are free Python can be exported too."""

    def export(self, policy: Policy, provenance: Provenance) -> dict[str, str]:
        """The text of each file, by file name; the main one first. Raises UserError."""

    def how_to_use(self, file: str) -> str:
        """One line on how the main file, of that name, is used."""


class PythonExporter:
    """One Python module that imports nothing but `math`; of a program, nothing but modules of Python's own."""

    format = "python"
    summary = "a Python module"
    takes_programs = True

    def export(self, policy: AnyPolicy, provenance: Provenance) -> dict[str, str]:
        """See `Exporter`: one file, named after the task."""
        if isinstance(policy, ProgramPolicy):
            return {f"{policy.task.name}.py": program_module(policy, provenance)}
        return {f"{policy.task.name}.py": python_module(policy, provenance, load_template(policy.task))}

    def how_to_use(self, file: str) -> str:
        """See `Exporter`."""
        return f"import {Path(file).stem}; it needs Python alone"


class CExporter:
    """One C header that computes in doubles."""

    format = "c"
    summary = "a C header in doubles"
    takes_programs = False

    def export(self, policy: Policy, provenance: Provenance) -> dict[str, str]:
        """See `Exporter`: one file, `policy.h`."""
        return {"policy.h": double_header(policy, provenance)}

    def how_to_use(self, file: str) -> str:
        """See `Exporter`."""
        return f'#include "{file}", and link with -lm; its first comment says when to call what'


class FixedCExporter:
    """One C header that computes in 64-bit integers."""

    format = "c-fixed"
    summary = "a C header in 64-bit integers"
    takes_programs = False

    def export(self, policy: Policy, provenance: Provenance) -> dict[str, str]:
        """See `Exporter`: one file, `policy.h`."""
        return {"policy.h": fixed_header(policy, provenance)}

    def how_to_use(self, file: str) -> str:
        """See `Exporter`."""
        return f'#include "{file}"; its first comment says when to call what'


EXPORTERS: dict[str, Exporter] = {
    exporter.format: exporter for exporter in (PythonExporter(), CExporter(), FixedCExporter(), BpfExporter())
}


def exporters_of(task: Task) -> dict[str, Exporter]:
    """Every exporter for policies of a task, by format. Raises UserError where those of its pack cannot be read."""
    added = pack_formats(task)
    for format in added:
        if format in EXPORTERS or format == "json":
            raise UserError(
                f"task {task.name!r}: its export/formats.toml has a format {format!r}, which is Vulcan's own"
            )
    return {**EXPORTERS, **added}


def find_exporter(format: str, task: Task | None = None, others: Mapping[str, Exporter] | None = None) -> Exporter:
    """The exporter of a format: Vulcan's own, or one of the task's pack, or one of `others`.

    Raises UserError where there is none.
    """
    known = {**(EXPORTERS if task is None else exporters_of(task)), **(others or {})}
    if format not in known:
        raise UserError(f"no export format is called {format!r}{nearest(format, known)} (known: {', '.join(known)})")
    return known[format]


def export_policy(
    policy: AnyPolicy, format: str, provenance: Provenance, others: Mapping[str, Exporter] | None = None
) -> dict[str, str]:
    """The text of each file, by file name; the main one first.

    `others` are exporters besides those of the task. Raises UserError, also for a policy that is free Python where the
    format takes none.
    """
    exporter = find_exporter(format, policy.task, others)
    if isinstance(policy, ProgramPolicy) and not exporter.takes_programs:
        raise UserError(
            f"task {policy.task.name!r}: its policies are free Python, which cannot be exported as {format}; "
            "use --format python"
        )
    return exporter.export(policy, provenance)  # type: ignore[arg-type]  # programs, where it takes them
