"""A search that nobody disturbed, to compare with: what is left of another one goes on to the same end."""

from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from rich_parts import rich, search
from search_parts import contents

from vulcan.scoring import Executor
from vulcan.searches.config import SearchConfig
from vulcan.searches.recorded_replies import RecordedReplies
from vulcan.store import SQLiteStore
from vulcan.store.base import turn_of
from vulcan.store.events import CallRecord
from vulcan.store.journal import journal_of, read_journal
from vulcan.store.runs import FILE

ROUNDS = 2


def held(run: Path) -> tuple[object, ...]:
    """All that a run holds, but times."""
    with closing(SQLiteStore(run / FILE)) as store:
        return contents(store)


def opened(run: Path) -> SQLiteStore:
    return SQLiteStore(run / FILE, create=not (run / FILE).is_file())


@dataclass
class Runs:
    """A recorded search in a directory; `held` is what it holds."""

    whole: Path
    config: SearchConfig
    executor: Executor
    held: tuple[object, ...]
    recording: RecordedReplies

    @classmethod
    def recorded(cls, place: Path, executor: Executor, seed: int = 22) -> Runs:
        config = rich(rounds=ROUNDS, seed=seed)
        with closing(opened(place)) as store:
            search(config, store, executor)
        with closing(opened(place)) as store:
            recording = RecordedReplies.of(store)
        return cls(place, config, executor, held(place), recording)

    def copied(self, place: Path) -> Path:
        """A copy of the whole run, to do something to."""
        shutil.copytree(self.whole, place)
        return place

    @property
    def calls(self) -> dict[tuple[int, int], CallRecord]:
        """The replies in the order in which they came."""
        calls = [entry for _, entry in read_journal(journal_of(self.whole / FILE)).of(CallRecord)]
        return {turn_of(call): call for call in calls if isinstance(call, CallRecord)}

    def go_on(self, run: Path) -> int:
        """Resume the run to its end, with the replies of the recorded one; the number of those that it asked for."""
        with closing(opened(run)) as store:
            store.recover()
            before = len(list(store.calls()))
            search(self.config, store, self.executor, recording=self.recording)
        with closing(opened(run)) as store:
            return len(list(store.calls())) - before
