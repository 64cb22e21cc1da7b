"""Files that appear only when they are whole."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from vulcan.errors import UserError


@contextlib.contextmanager
def new_file(path: Path, *, replace: bool) -> Iterator[Path]:
    """A temporary file beside `path`, which takes its place at the end if nothing went wrong, and is removed else.

    Raises UserError where `path` exists and is not to be replaced, and where writing fails.
    """
    if path.is_dir():
        raise UserError(f"{path} is a directory; name a file")
    if path.exists() and not replace:
        raise UserError(f"{path} exists; give --force to replace it")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".writing", dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            temporary.chmod(0o666 & ~_umask())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror or error}; nothing is kept of it") from error


def _umask() -> int:
    """The process's; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
