"""Names of the output files that a user asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def output_paths(files: Mapping[str, str], output: Path | None, format: str) -> list[Path]:
    """Return the path of each file; several go into one directory.

    It is named after the main file and the format by default.
    """
    if len(files) == 1:
        return [output or Path(next(iter(files)))]
    directory = output or Path(f"{next(iter(files)).partition('.')[0]}_{format}")
    return [directory / name for name in files]
