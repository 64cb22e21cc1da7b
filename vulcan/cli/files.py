"""Reading and writing the user's files."""

from __future__ import annotations

from pathlib import Path

from vulcan.errors import UserError

_LARGEST_POLICY = 16 << 20


def read_policy(path: Path) -> str:
    """The source of the policy in a file; of the one inside, where the file is an exported module. Raises UserError."""
    from vulcan.export.read_back import policy_source

    try:
        size = path.stat().st_size
        if size > _LARGEST_POLICY:
            raise UserError(f"{path} has {size:,} bytes: that is no policy")
        text = path.read_bytes().decode("utf-8", errors="surrogateescape")
    except OSError as error:
        raise UserError(f"cannot read the policy {path}: {error.strerror}") from error
    return policy_source(text)


def write_text(path: Path, text: str) -> None:
    """Raises UserError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
