"""Opening of files that a user names: regular files only, and no more of them than is expected."""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path

from vulcan.errors import UserError

MAX_DIGITS = 40
"""Digits of a number in an input: more is damage, and `int` refuses some thousands."""


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file for reading. Raises OSError for anything else, without waiting for a FIFO's writer."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:
        raise OSError(errno.EINVAL, f"it cannot be the name of a file: {error}") from error
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, "not a regular file")


def read_input(path: Path, what: str, limit: int, hint: str) -> bytes:
    """Return the content of a regular file of at most `limit` bytes; `what` and `hint` are for the error's text.

    Raises UserError.
    """
    try:
        with open_regular(path) as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise UserError(f"cannot read the {what} {path}: {error.strerror}; {hint}") from error
    if len(data) > limit:
        raise UserError(f"{path} has more than {limit:,} bytes: that is no {what}; {hint}")
    return data


def whole_number(text: str, base: int = 10) -> int:
    """Return the number that a text from a file has. Raises ValueError, also for more than `MAX_DIGITS` digits."""
    if len(text) > MAX_DIGITS:
        raise ValueError(f"a number of more than {MAX_DIGITS} digits")
    return int(text, base)


_MAX_POLICY = 16 << 20
_MIN_SUSPECT = 64 << 10
"""Bytes above which a file without a function is refused, for example a trace."""


def read_policy_file(path: Path) -> str:
    """Return the text of a policy's file, or of an export of one; bytes that are not UTF-8 are escaped.

    Raises UserError.
    """
    data = read_input(path, "policy", _MAX_POLICY, "give the path of its file")
    if len(data) > _MIN_SUSPECT and b"def " not in data:
        raise UserError(f"{path} has {len(data):,} bytes and no function: that is no policy; give the file of one")
    return data.decode("utf-8", errors="surrogateescape")
