"""Writing of files: whole and on disk, or not at all; and of caches, which a search does without where they cannot be.

Every file beside a run's store is written here.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from vulcan.errors import UserError

log = logging.getLogger(__name__)

NOT_WRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO})
"""Errors that say of a place that it takes no more: a full or broken disk, a quota, a limit, no permission."""


def replace_file(path: Path, content: str | bytes) -> None:
    """Write a file by a temporary one beside it, which is synced and renamed, so that no reader sees a part.

    A link at the path is replaced, and not written through. Raises OSError; then the file is as it was before.
    """
    data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
    temporary = path.with_name(f".{secrets.token_hex(6)}.part")
    try:
        with open(temporary, "xb") as file:
            file.write(data)
            file.flush()
            if path.is_file() and not path.is_symlink():
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    sync_directory(path.parent)


def write_file(
    path: Path, content: str | bytes, remedy: str = "make room, or name another place", named: Path | None = None
) -> None:
    """Write a file as `replace_file` does, with its missing parent directories. Raises UserError.

    An error calls the file what the user `named`, by default its path.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, content)
    except OSError as error:
        what = f"; {remedy}" if error.errno in NOT_WRITABLE else ""
        raise UserError(f"cannot write {named or path}: {error.strerror}{what}") from error


def write_output(path: Path, content: str, top: Path | None = None) -> None:
    """Write a file that the user named: what a link leads to, or into a device or a pipe. Raises UserError.

    A directory that is missing is probably misspelled: none is made but `top`, if the file is in it.
    """
    place = (top or path).parent
    if not place.is_dir():
        raise UserError(f"cannot write {path}: there is no directory {place}")
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not stat.S_ISREG(target.stat().st_mode) and not target.is_dir():
            target.write_text(content, encoding="utf-8")
            return
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    write_file(target, content, named=path)


def write_files(files: Mapping[str, str], output: Path | None, format: str) -> list[Path]:
    """Write an export's files, and return where; several go into a directory, which is made. Raises UserError.

    It is named after the main file and the format by default.
    """
    main = next(iter(files))
    top = output or Path(main if len(files) == 1 else f"{main.partition('.')[0]}_{format}")
    written = [top] if len(files) == 1 else [top / name for name in files]
    for path, text in zip(written, files.values(), strict=True):
        write_output(path, text, top)
    return written


def sync_directory(directory: Path) -> None:
    """Sync a directory, so that the name of a new file is on disk like its content. Raises OSError."""
    opened = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


_reported: set[str] = set()


def write_cache(path: Path, content: bytes) -> None:
    """Write a file of a cache, which is left out where its place takes no more."""
    try:
        replace_file(path, content)
    except OSError as error:
        report_uncached(path.parent, error)


def report_uncached(place: Path, error: OSError) -> None:
    """Warn, once for a reason, that nothing more is cached. Raises the error where it is of another kind."""
    if error.errno not in NOT_WRITABLE:
        raise error
    why = error.strerror or str(error)
    if why not in _reported:
        _reported.add(why)
        log.warning("%s: %s; what would be cached there is computed anew each time", place, why)
