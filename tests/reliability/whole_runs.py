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
from vulcan.store.runs import CONTROL, FILE

ROUNDS = 2


def held(run: Path) -> tuple[object, ...]:
    """All that a run and its control hold, but times."""
    with closing(SQLiteStore(run / FILE)) as store, closing(SQLiteStore(run / CONTROL)) as control:
        return contents(store), contents(control)


def opened(run: Path, name: str) -> SQLiteStore:
    return SQLiteStore(run / name, create=not (run / name).is_file())


@dataclass
class Runs:
    """A recorded search in a directory; `held` is what it holds."""

    whole: Path
    config: SearchConfig
    executor: Executor
    held: tuple[object, ...]
    recording: RecordedReplies
    control_recording: RecordedReplies

    @classmethod
    def recorded(cls, place: Path, executor: Executor) -> Runs:
        config = rich(rounds=ROUNDS)
        with closing(opened(place, FILE)) as store, closing(opened(place, CONTROL)) as control:
            search(config, store, executor, control=control)
        with closing(opened(place, FILE)) as store, closing(opened(place, CONTROL)) as control:
            recordings = RecordedReplies.of(store), RecordedReplies.of(control)
        return cls(place, config, executor, held(place), *recordings)

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
        with closing(opened(run, FILE)) as store, closing(opened(run, CONTROL)) as control:
            for one in (store, control):
                one.recover()
            before = len(list(store.calls())) + len(list(control.calls()))
            search(
                self.config,
                store,
                self.executor,
                control=control,
                recording=self.recording,
                control_recording=self.control_recording,
            )
        with closing(opened(run, FILE)) as store, closing(opened(run, CONTROL)) as control:
            return len(list(store.calls())) + len(list(control.calls())) - before
