"""Checksums of files, written `kind:hexadecimal`."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

_DIGITS = {"sha256": 64, "md5": 32, "git-blob-sha1": 40}
_CHUNK = 1 << 20


def is_checksum(text: str) -> bool:
    """Whether the text is a checksum of a known kind."""
    kind, _, digits = text.partition(":")
    return kind in _DIGITS and re.fullmatch(rf"[0-9a-f]{{{_DIGITS[kind]}}}", digits) is not None


def checksum_like(wanted: str, path: Path) -> str:
    """The checksum of a file, of the same kind as `wanted`. Raises OSError."""
    kind = wanted.partition(":")[0]
    digest = hashlib.new("sha1" if kind == "git-blob-sha1" else kind, usedforsecurity=False)
    if kind == "git-blob-sha1":  # git's name of a file's content: of its length and then the content
        digest.update(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return f"{kind}:{digest.hexdigest()}"
