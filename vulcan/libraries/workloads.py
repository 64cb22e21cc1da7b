"""The workloads of a library: files of a directory, single files, and texts that describe one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from vulcan.errors import UserError
from vulcan.libraries.contents import Workload


def find_workloads(given: Sequence[str]) -> tuple[str, ...]:
    """Every file below the directories that are given, in the order of their paths, and all else as it stands.

    Hidden files are left out. Raises UserError for a directory without files, and for what is given twice.
    """
    found: list[str] = []
    for text in given:
        place = Path(text)
        if not place.is_dir():
            found.append(text)
            continue
        files = sorted(p for p in place.rglob("*") if p.is_file() and not _is_hidden(p.relative_to(place)))
        if not files:
            raise UserError(f"{place}: there is no file in this directory")
        found += map(str, files)
    if not found:
        raise UserError("name what to learn from: --traces DIR, or a file")
    for text in found:
        if found.count(text) > 1:
            raise UserError(f"{text} is given twice")
    return tuple(found)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def identify(text: str) -> Workload:
    """The workload by its name and the checksum of its file. Raises UserError for a file that cannot be read."""
    path = Path(text)
    if not path.is_file():
        return Workload(text, None)
    try:
        with path.open("rb") as file:
            return Workload(path.name, hashlib.file_digest(file, "sha256").hexdigest())
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
