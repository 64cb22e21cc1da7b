"""A run's file, read into memory."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from vulcan.store import MemoryStore, SQLiteStore
from vulcan.store.events import ENTRIES


def kept(path: Path) -> MemoryStore:
    """All that the file holds."""
    found = MemoryStore()
    with closing(SQLiteStore(path)) as store:
        found.restore((time, entry) for _, time, entry in store.entries(*ENTRIES.values()))
    return found
