"""A run's file with another history: what it would hold if something had been otherwise, and not a damaged file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from vulcan.store import SQLiteStore
from vulcan.store.events import ENTRIES, Entry, RunStarted
from vulcan.store.journal import journal_of


def rewrite_log(file: Path, edit: Callable[[Entry], Entry | None]) -> None:
    """Write a run's file and its journal anew, with what `edit` makes of each entry: None leaves it out."""
    with closing(SQLiteStore(file)) as store:
        before = [(time, entry) for _, time, entry in store.entries(*ENTRIES.values())]
    entries = [(time, after) for time, entry in before if (after := edit(entry)) is not None]
    for path in (file, *(file.with_name(file.name + ending) for ending in ("-wal", "-shm")), journal_of(file)):
        path.unlink(missing_ok=True)
    with closing(SQLiteStore(file, create=True)) as store:
        store.restore(entries)


def configured(file: Path, **changes: Any) -> None:
    """Change the configuration that a run was begun with."""

    def edit(entry: Entry) -> Entry:
        return replace(entry, config=entry.config | changes) if isinstance(entry, RunStarted) else entry

    rewrite_log(file, edit)
