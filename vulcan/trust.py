"""What the user has named on this machine: task packs, addresses of model servers, and commands that act as models.

A run, a library or a configuration file may name the same again, and may come from a stranger. What it names is
executed, or sent a key, only where the user has named it on a command line or in a program of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal

import platformdirs

Kind = Literal["tasks", "addresses", "commands"]

AGENT = "agent:"
"""Beginning of the name of a model that is a command."""

_named: set[tuple[Kind, str]] = set()


def trust(kind: Kind, value: str) -> None:
    """Take a value as named by the user, in this process and in later ones."""
    if is_trusted(kind, value):
        _named.add((kind, value))
        return
    _named.add((kind, value))
    if len(value.splitlines()) != 1:
        return
    with suppress(OSError):  # a later command then asks for it again, and says so
        file = trust_file(kind)
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as lines:
            lines.write(f"{value}\n")


def trust_commands(models: Iterable[str]) -> None:
    """Take the commands among these models as named by the user."""
    for name in models:
        if name.startswith(AGENT):
            trust("commands", name)


def is_trusted(kind: Kind, value: str) -> bool:
    """Check whether the user has named a value, in this process or earlier."""
    if (kind, value) in _named:
        return True
    try:
        return value in trust_file(kind).read_bytes().decode("utf-8", "replace").splitlines()
    except OSError:
        return False


def trust_file(kind: Kind) -> Path:
    """Return the file that lists what was named, a line each, which its user may edit."""
    return Path(platformdirs.user_config_dir("vulcan-policies")) / f"trusted-{kind}"
