"""A policy as a BPF program for the kernel of Linux: its header in integers, and what the task pack makes of it.

A pack that has such a use for its policies has a folder `export/bpf` of text files: the program, named `*.bpf.c`, which
includes `policy.h` (see `vulcan.export.c.fixed_header` for what is in it), a Makefile, notes. They are written beside
`policy.h`, with these replaced:

    @NAME@      a name of at most 15 characters, made of the policy's fingerprint
    @POLICY@    where the policy comes from, in a few words
    @VERSION@   that of Vulcan
    @SETTINGS@  `#define SETTING_NAME_VALUE` for each setting of the task that has choices, by what was chosen
"""

from __future__ import annotations

import re

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.export.c.fixed_header import fixed_header
from vulcan.export.provenance import Provenance
from vulcan.task import Task

MAX_BYTES = 4_096
"""Of statistics: what Linux keeps for a program and a socket ends below 8 KiB."""
_PLACE = re.compile(r"@([A-Z]+)@")


class BpfExporter:
    """A program for the kernel, to be compiled by clang."""

    format = "bpf"
    summary = "a program for the kernel of Linux"
    takes_programs = False

    def export(self, policy: Policy, provenance: Provenance) -> dict[str, str]:
        """See `Exporter`: the program, `policy.h`, and what else the pack adds."""
        templates = _templates(policy.task)
        header = fixed_header(policy, provenance, MAX_BYTES)
        told = {
            "NAME": f"anvil_{policy.fingerprint[:8]}",
            "POLICY": f"{provenance.run}, candidate {provenance.candidate}" if provenance.candidate else provenance.run,
            "VERSION": provenance.version,
            "SETTINGS": "\n".join(_settings(policy.task, provenance)),
        }
        files = {name: _PLACE.sub(lambda found: told.get(found[1], found[0]), text) for name, text in templates.items()}
        program = next(name for name in files if name.endswith(".bpf.c"))
        return {program: files.pop(program), "policy.h": header, **files}

    def how_to_use(self, file: str) -> str:
        """See `Exporter`."""
        return f"make beside {file}, which needs clang and bpftool; README.md there says how to load it"


def _templates(task: Task) -> dict[str, str]:
    place = task.directory / "export" / "bpf"
    if not place.is_dir():
        raise UserError(
            f"policies of the task {task.name!r} have no use in the kernel: its pack has no folder export/bpf"
        )
    try:
        files = {path.name: path.read_text(encoding="utf-8") for path in sorted(place.iterdir()) if path.is_file()}
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"task {task.name!r}: its templates in {place} cannot be read: {error}") from error
    programs = [name for name in files if name.endswith(".bpf.c")]
    if len(programs) != 1:
        raise UserError(f"task {task.name!r}: one program *.bpf.c is needed in {place}, not {len(programs)}")
    return files


def _settings(task: Task, provenance: Provenance) -> list[str]:
    found = []
    for setting in task.settings:
        value = provenance.settings.get(setting.name)
        value = setting.default if value is None else value
        if setting.choices and isinstance(value, str):
            found.append(f"#define SETTING_{setting.name}_{re.sub('[^A-Za-z0-9]', '_', value)}".upper()
                         .replace("#DEFINE", "#define"))  # fmt: skip
    return found
