"""The scaffold of a new task: its files, from the templates in `files`.

A template is a file with the suffix `.txt` added; `@name@`, `@Name@` and `@NAME@` are replaced by the task's name in
snake case, camel case and with hyphens. Files common to all are in `files/common`; those in `files/csv` are of a task
that begins from a table of recorded decisions.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from pathlib import Path

from vulcan.errors import UserError, did_you_mean
from vulcan.files import write_file
from vulcan.registry import known_tasks
from vulcan.scaffold.decisions import described

KINDS = ("rank", "value")
_FILES = Path(__file__).parent / "files"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,49}\Z")


def write_task(name: str, kind: str, directory: Path, table: Path | None = None) -> tuple[Path, ...]:
    """Write a new task to `directory`, which must not exist. Return its files, in alphabetical order.

    `kind` is `rank` (choose one of several things) or `value` (set a number); `table` is a CSV file of decisions to
    begin from in their place, of which the task has a copy. Raises UserError for an invalid or taken name, an unknown
    kind, an unusable table, and a directory that exists or cannot be written.
    """
    _check_name(name)
    if kind not in KINDS:
        raise UserError(f"--kind {kind!r}{did_you_mean(kind, KINDS)} (one of: {', '.join(KINDS)})")
    if directory.exists() or directory.is_symlink():
        raise UserError(f"{directory} already exists; choose another --directory")
    words = {
        "name": name,
        "Name": "".join(part.capitalize() for part in name.split("_")),
        "NAME": name.replace("_", "-"),
    }
    words |= {} if table is None else described(table)
    written = []
    for folder in (_FILES / "common", _FILES / (kind if table is None else "csv")):
        for template in sorted(folder.rglob("*.txt")):
            target = directory / _spelled(str(template.relative_to(folder)), words).removesuffix(".txt")
            write_file(target, _spelled(template.read_text(encoding="utf-8"), words))
            written.append(target)
    if table is not None:
        written.append(directory / f"{name}_task" / "decisions.csv")
        write_file(written[-1], table.read_text(encoding="utf-8"))
    return tuple(sorted(written))


def _check_name(name: str) -> None:
    if not _NAME.match(name) or keyword.iskeyword(name):
        raise UserError(
            f"{name!r} cannot be a task's name: it is a lower-case letter, and then at most 49 lower-case letters, "
            "digits and underscores, and no word of Python's own"
        )
    if (path := known_tasks().get(name)) is not None:
        raise UserError(f"a task is called {name!r} already ({path}); give yours another name")


def _spelled(text: str, words: Mapping[str, str]) -> str:
    for word, spelled in words.items():
        text = text.replace(f"@{word}@", spelled)
    return text
