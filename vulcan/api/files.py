"""Output files that a user asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vulcan.errors import UserError


def write_text(path: Path, text: str) -> None:
    """Write a text file and its missing parent directories. Raises UserError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}; name another place") from error


def output_paths(files: Mapping[str, str], output: Path | None, format: str) -> list[Path]:
    """Return the path of each file; several go into one directory.

    It is named after the main file and the format by default.
    """
    if len(files) == 1:
        return [output or Path(next(iter(files)))]
    directory = output or Path(f"{next(iter(files)).partition('.')[0]}_{format}")
    return [directory / name for name in files]
