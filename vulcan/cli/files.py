"""Reading and writing the user's files."""

from __future__ import annotations

from pathlib import Path

from vulcan.api.files import write_text
from vulcan.errors import UserError

__all__ = ["read_policy", "write_text"]

_LARGEST_POLICY = 16 << 20


def read_policy(path: Path) -> str:
    """The source of the policy in a file; of the one inside, where the file is an exported module. Raises UserError."""
    from vulcan.export.read_back import policy_source

    try:
        size = path.stat().st_size
        if size > _LARGEST_POLICY:
            raise UserError(f"{path} has {size:,} bytes: that is no policy; give the file of one")
        text = path.read_bytes().decode("utf-8", errors="surrogateescape")
    except OSError as error:
        raise UserError(f"cannot read the policy {path}: {error.strerror}; give the path of its file") from error
    return policy_source(text)
