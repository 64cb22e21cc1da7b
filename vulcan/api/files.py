"""The writing of exports, whose files the command line and the Python API name alike."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vulcan.files import write_output


def write_files(files: Mapping[str, str], output: Path | None, format: str) -> list[Path]:
    """Write the files, and return where; several go into a directory, which is made. Raises UserError.

    It is named after the main file and the format by default.
    """
    main = next(iter(files))
    top = output or Path(main if len(files) == 1 else f"{main.partition('.')[0]}_{format}")
    written = [top] if len(files) == 1 else [top / name for name in files]
    for path, text in zip(written, files.values(), strict=True):
        write_output(path, text, top)
    return written
