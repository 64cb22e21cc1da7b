"""Export formats: the `Exporter` interface, Vulcan's own formats, and those that a task pack adds.

The BPF format is a program for the Linux kernel. A pack that supports it has a folder `export/bpf` of text files: the
program, named `*.bpf.c`, which includes `policy.h` (documented in `vulcan.export.c.fixed_header`), a Makefile, notes.
They are written next to `policy.h`, with these names replaced:

    @NAME@      a name of at most 15 characters, derived from the policy's fingerprint
    @POLICY@    the policy's origin, in a few words
    @VERSION@   the version of Vulcan
    @SETTINGS@  `#define SETTING_NAME_VALUE` for each setting of the task that has choices, with the value chosen

Lines from `#ifdef POLICY_EVENTS` to `#endif /* POLICY_EVENTS */` are only written, without these two, for a policy that
handles events.

Formats that a pack declares in `export/formats.toml` are those of `vulcan.export.pack_formats`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from vulcan.anvil import Policy
from vulcan.anvil.state_layout import BYTES_PER_SLOT
from vulcan.errors import UserError, did_you_mean
from vulcan.export.c.double_header import double_header
from vulcan.export.c.fixed_header import fixed_header
from vulcan.export.c.naming import flat
from vulcan.export.languages.printer import PolicyFile
from vulcan.export.languages.table import LANGUAGES, Language
from vulcan.export.pack_formats import pack_formats, pack_text
from vulcan.export.provenance import Provenance
from vulcan.export.python.module import python_module
from vulcan.export.python.program_module import program_module
from vulcan.export.template import load_template
from vulcan.python_policy.check import AnyPolicy
from vulcan.python_policy.policy import ProgramPolicy
from vulcan.task import Json, Task

MAX_BYTES = 4_096
"""Maximum size of statistics, whose updates the verifier follows step by step."""
MAX_STATE_BYTES = 40_960
"""Maximum size of registers and arrays; Linux limits the storage per program and socket to just under 64 KiB."""
_OF_EVENTS = re.compile(r"^#ifdef POLICY_EVENTS\n(.*?)^#endif /\* POLICY_EVENTS \*/\n", re.MULTILINE | re.DOTALL)
_PLACE = re.compile(r"@([A-Z]+)@")


def _bpf_program(policy: Policy, provenance: Provenance) -> dict[str, str]:
    """Return the program for the kernel, `policy.h`, and the other files of the pack."""
    templates = _templates(policy.task)
    _check_features(policy, templates)
    header = fixed_header(policy, provenance, MAX_BYTES)
    if (size := BYTES_PER_SLOT * policy.plan.state.slots) > MAX_STATE_BYTES:
        raise UserError(
            f"the policy's state takes {size:,} bytes, over the {MAX_STATE_BYTES:,} that are kept of each "
            "connection: declare shorter arrays"
        )
    told = {
        "NAME": f"anvil_{policy.fingerprint[:8]}",
        "POLICY": provenance.origin,
        "VERSION": provenance.version,
        "SETTINGS": "\n".join(_settings(policy.task, policy.settings(provenance.settings))),
    }
    of_events = r"\1" if policy.program.handlers else ""
    files = {
        name: _PLACE.sub(lambda found: told.get(found[1], found[0]), _OF_EVENTS.sub(of_events, text))
        for name, text in templates.items()
    }
    program = next(name for name in files if name.endswith(".bpf.c"))
    return {program: files.pop(program), "policy.h": header, **files}


def _templates(task: Task) -> dict[str, str]:
    directory = task.directory / "export" / "bpf"
    if not directory.is_dir():
        raise UserError(
            f"policies of the task {task.name!r} have no use in the kernel: its pack has no folder export/bpf"
        )
    files = {path.name: pack_text(task, path) for path in sorted(directory.iterdir()) if path.is_file()}
    programs = [name for name in files if name.endswith(".bpf.c")]
    if len(programs) != 1:
        raise UserError(f"task {task.name!r}: one program *.bpf.c is needed in {directory}, not {len(programs)}")
    return files


def _check_features(policy: Policy, templates: Mapping[str, str]) -> None:
    """Raise UserError where the policy reads a feature that the program of the pack does not set."""
    (program,) = (text for name, text in templates.items() if name.endswith(".bpf.c"))
    unset = sorted(name for name in policy.plan.read if f"policy_set_{flat(name)}(" not in program)
    if unset:
        raise UserError(f"the policy reads {unset[0]}, which the kernel's program does not offer; try --format c")


def _settings(task: Task, settings: Mapping[str, Json]) -> list[str]:
    found = []
    for setting in task.settings:
        value = settings.get(setting.name)
        value = setting.default if value is None else value
        if setting.choices and isinstance(value, str):
            name = f"SETTING_{setting.name}_{re.sub('[^A-Za-z0-9]', '_', value)}"
            found.append(f"#define {name.upper()}")
    return found


class Exporter(Protocol):
    """An exporter of policies to files that run without Vulcan."""

    @property
    def format(self) -> str:
        """The name of the format."""

    @property
    def summary(self) -> str:
        """A short description of the format."""

    @property
    def takes_programs(self) -> bool:
        """True if policies in free Python can be exported too."""

    def export(self, policy: Policy, provenance: Provenance) -> dict[str, str]:
        """Return the text of each file by name, the main one first. Raises UserError."""


@dataclass(frozen=True, slots=True)
class OwnExporter:
    """An exporter to one of Vulcan's own formats."""

    format: str
    summary: str
    write: Callable[[Any, Provenance], dict[str, str]]
    takes_programs: bool = False

    def export(self, policy: Policy, provenance: Provenance) -> dict[str, str]:
        """See `Exporter`."""
        return self.write(policy, provenance)


def _python(policy: AnyPolicy, provenance: Provenance) -> dict[str, str]:
    if isinstance(policy, ProgramPolicy):
        return {f"{policy.task.name}.py": program_module(policy, provenance)}
    return {f"{policy.task.name}.py": python_module(policy, provenance, load_template(policy.task))}


def _in_language(language: Language) -> OwnExporter:
    return OwnExporter(
        language.name,
        f"a file in {language.name.capitalize()}, in doubles",
        lambda policy, provenance: {language.file: PolicyFile(policy, language).text(provenance)},
    )


EXPORTERS: dict[str, Exporter] = {
    exporter.format: exporter
    for exporter in (
        OwnExporter("python", "a Python module", _python, takes_programs=True),
        OwnExporter(
            "c",
            "a C header in doubles",
            lambda policy, provenance: {"policy.h": double_header(policy, provenance)},
        ),
        OwnExporter(
            "c-fixed",
            "a C header in 64-bit integers",
            lambda policy, provenance: {"policy.h": fixed_header(policy, provenance)},
        ),
        OwnExporter("bpf", "a program for the kernel of Linux", _bpf_program),
        *map(_in_language, LANGUAGES),
    )
}


def exporters_of(task: Task) -> dict[str, Exporter]:
    """Return all exporters for a task, by format. Raises UserError if its pack's formats are invalid."""
    added = pack_formats(task)
    for format in added:
        if format in EXPORTERS:
            raise UserError(
                f"task {task.name!r}: its export/formats.toml has a format {format!r}, which is Vulcan's own"
            )
    return {**EXPORTERS, **added}


def find_exporter(format: str, task: Task | None = None) -> Exporter:
    """Return the exporter to a format: Vulcan's own, or one of the task's pack. Raises UserError if there is none."""
    known = EXPORTERS if task is None else exporters_of(task)
    if format not in known:
        raise UserError(
            f"no export format is called {format!r}{did_you_mean(format, known)} (known: {', '.join(known)})"
        )
    return known[format]


def export_policy(policy: AnyPolicy, format: str, provenance: Provenance) -> dict[str, str]:
    """Export a policy: the text of each file by name, the main one first.

    Raises UserError, also for a policy in free Python if the format does not support it.
    """
    return _exported(find_exporter(format, policy.task), policy, provenance)


def _exported(exporter: Exporter, policy: AnyPolicy, provenance: Provenance) -> dict[str, str]:
    if isinstance(policy, ProgramPolicy) and not exporter.takes_programs:
        raise UserError(
            f"task {policy.task.name!r}: its policies are free Python, which cannot be exported as {exporter.format}; "
            "use --format python"
        )
    if isinstance(policy, Policy):
        provenance = replace(provenance, settings=policy.settings(provenance.settings))
    return exporter.export(policy, provenance)  # type: ignore[arg-type]  # free Python, where it takes that


def export_refusal(policy: AnyPolicy, format: str) -> str:
    """Return why a format cannot carry the policy; empty if it can. Raises UserError for an unknown format."""
    origin = Provenance(policy.task.name, run="", candidate="", proposer="", date="")
    return _attempt(policy, find_exporter(format, policy.task), origin).refusal


@dataclass(frozen=True, slots=True)
class FormatResult:
    """The result of exporting to one format: the files by name, the main one first, or the reason for refusal."""

    exporter: Exporter
    files: Mapping[str, str] = field(default_factory=dict)
    refusal: str = ""

    @property
    def format(self) -> str:
        return self.exporter.format


def every_format(policy: AnyPolicy, provenance: Provenance, others: Sequence[AnyPolicy] = ()) -> list[FormatResult]:
    """Export the policy to every format of its task, or else the first of `others` that a format takes.

    Raises UserError if the pack is broken.
    """
    found = [_attempt(policy, exporter, provenance) for exporter in exporters_of(policy.task).values()]
    for other in others:
        found = [_attempt(other, made.exporter, provenance) if made.refusal else made for made in found]
    return found


def _attempt(policy: AnyPolicy, exporter: Exporter, provenance: Provenance) -> FormatResult:
    try:
        return FormatResult(exporter, _exported(exporter, policy, provenance))
    except UserError as error:
        return FormatResult(exporter, refusal=str(error))
