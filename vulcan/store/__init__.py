"""The run store: every proposal, reply, verdict and score of a run, appended as it happens."""

from vulcan.store.base import MemoryStore, Store
from vulcan.store.record import RunRecord
from vulcan.store.sqlite import SQLiteStore

__all__ = ["MemoryStore", "RunRecord", "SQLiteStore", "Store"]
