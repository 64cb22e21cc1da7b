"""A run's file with another history: what it would hold if something had been otherwise, and not a damaged file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from vulcan.store import SQLiteStore
from vulcan.store.events import ENTRIES, Arrival, Entry, Event, RunStarted
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


def cut_log(file: Path, at: Callable[[Event], bool], calls_before: int | None = None) -> None:
    """Leave out all events from the first for which `at` holds, and the calls from a proposal on."""
    reached = False

    def edit(entry: Entry) -> Entry | None:
        nonlocal reached
        if isinstance(entry, get_args(Arrival)):
            return None if calls_before is not None and getattr(entry, "proposal", 0) >= calls_before else entry
        reached = reached or at(entry)  # type: ignore[arg-type]
        return None if reached else entry

    rewrite_log(file, edit)


def configured(file: Path, **changes: Any) -> None:
    """Change the configuration that a run was begun with."""

    def edit(entry: Entry) -> Entry:
        return replace(entry, config=entry.config | changes) if isinstance(entry, RunStarted) else entry

    rewrite_log(file, edit)
