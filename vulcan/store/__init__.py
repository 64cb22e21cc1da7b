"""The run store: every proposal, reply, verdict and score of a run, appended as it happens."""

from vulcan.store.memory import MemoryStore
from vulcan.store.record import RunRecord
from vulcan.store.sqlite import SQLiteStore
from vulcan.store.store import Store

__all__ = ["MemoryStore", "RunRecord", "SQLiteStore", "Store"]
