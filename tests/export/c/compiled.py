"""Exports policies as C, compiles them with gcc and calls what comes out."""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
import tempfile
from pathlib import Path

_FLAGS = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-ffp-contract=off")
SANITISED = ("-std=gnu11", "-O1", "-w", "-shared", "-fPIC",
             "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")  # fmt: skip
"""For integers: what C leaves undefined ends the process."""
_built = tempfile.TemporaryDirectory(prefix="exported-c-")


def library(files: dict[str, str], main: str, flags: tuple[str, ...] = _FLAGS) -> ctypes.CDLL:
    """The files compiled into a shared library, `main` being the one to compile."""
    folder = Path(_built.name) / hashlib.sha256(repr((files, flags)).encode()).hexdigest()[:16]
    made = folder / "made.so"
    if not made.exists():
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text)
        done = subprocess.run(
            ["gcc", *flags, "-o", str(made), main, "-lm"], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[:3000]
    return ctypes.CDLL(str(made))
