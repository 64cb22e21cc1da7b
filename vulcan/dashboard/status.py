"""The state of a run, from what it recorded and from the process that holds its lock."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vulcan.searches.options import ASK
from vulcan.store.runs import REPEATS

if TYPE_CHECKING:
    from vulcan.dashboard.lock_holder import LockOwner
    from vulcan.documents.dashboard import StatusDocument
    from vulcan.store import RunRecord


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The state of a run.

    `state` is `running`, `finished`, `interrupted`, `error`, `asked` (waiting for replies to its prompts), or `crashed`
    (its process is gone, and no exit was recorded). `message` is that of an error.
    """

    state: str
    message: str = ""
    pid: int | None = None

    def document(self) -> StatusDocument:
        return {"state": self.state, "message": " ".join(self.message.split()), "pid": self.pid}


def run_status(run: Path, record: RunRecord, holder: LockOwner | None) -> RunStatus:
    """Return the status of a run, from its events and its lock owner."""
    if holder is not None:
        return RunStatus("running", pid=holder.pid)
    stopped = record.stopped
    if stopped is not None and stopped.reason == "finished":
        return RunStatus("finished")
    if tuple(record.config.get("model") or ()) == (ASK,) and not (run / REPEATS).is_file():
        return RunStatus("asked")
    if stopped is not None:
        return RunStatus(stopped.reason, stopped.message)
    return RunStatus("crashed")
