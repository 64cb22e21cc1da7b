"""The run that another one repeats."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from vulcan.errors import UserError
from vulcan.searches.config import SearchConfig
from vulcan.searches.session import Recording
from vulcan.store import RunRecord
from vulcan.store.runs import CONTROL, FILE, open_store

_MARK = "repeats"
"""A file in the run that repeats, with the path of the other one: so that it is gone on with in the same way."""


@dataclass(frozen=True)
class Repeated:
    """A recorded run: its search, and its replies; those of its control too, if it came to one."""

    run: Path
    search: SearchConfig
    recording: Recording
    control: Recording | None

    @classmethod
    def of(cls, run: Path) -> Repeated:
        """Raises UserError where there is nothing to repeat."""
        with closing(open_store(run)) as store:
            record, recording = RunRecord.of(store.events()), Recording.of(store)
        if not record.config:
            raise UserError(f"{run} stopped before its search was written down; there is nothing to repeat")
        control = None
        if record.control is not None:
            with closing(open_store(run, CONTROL)) as store:
                control = Recording.of(store)
        return cls(run, SearchConfig.from_json(record.config), recording, control)

    def mark(self, run: Path) -> None:
        """Write down which run the one in this directory repeats."""
        (run / _MARK).write_text(str(self.run.resolve()), encoding="utf-8")

    @classmethod
    def marked(cls, run: Path) -> Repeated | None:
        """The run that the one in this directory repeats; None for one that does not. Raises UserError."""
        if not (run / _MARK).is_file():
            return None
        other = Path((run / _MARK).read_text(encoding="utf-8"))
        if not (other / FILE).is_file():
            raise UserError(f"{run} repeats the run {other}, which is gone; bring it back to go on")
        return cls.of(other)
