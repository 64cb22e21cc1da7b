"""The state of a run, from what it recorded and from the process that holds its lock."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vulcan.searches.options import ASK
from vulcan.store.runs import LOCK

if TYPE_CHECKING:
    from vulcan.store import RunRecord

_PROCESSES = Path("/proc")


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The state of a run.

    `state` is `running`, `finished`, `interrupted`, `error`, `asked` (waiting for replies to its prompts), or `crashed`
    (its process is gone, and no exit was recorded). `message` is that of an error.
    """

    state: str
    message: str = ""
    pid: int | None = None


def run_status(record: RunRecord, holder: int | None) -> RunStatus:
    """Return the status of a run, from its events and the process that holds its lock."""
    if holder is not None:
        return RunStatus("running", pid=holder)
    stopped = record.stopped
    if stopped is not None and stopped.reason == "finished":
        return RunStatus("finished")
    if tuple(record.config.get("model") or ()) == (ASK,) and not record.repeats:
        return RunStatus("asked")
    if stopped is not None:
        return RunStatus(stopped.reason, " ".join(stopped.message.split()))
    return RunStatus("crashed")


def lock_owner(run: Path) -> int | None:
    """Return the process on this host that holds a run's lock; None if there is none, or it cannot be verified.

    The pid in the lock file is not trusted alone, as its process may be gone and the pid reused: it counts only if the
    kernel reports that this process has the file open and locked.
    """
    lock = run / LOCK
    try:
        recorded = lock.read_text(encoding="ascii", errors="replace").strip()
        found = lock.stat()
    except OSError:
        return None
    return int(recorded) if recorded.isdigit() and _holds(int(recorded), (found.st_dev, found.st_ino)) else None


def _holds(pid: int, file: tuple[int, int]) -> bool:
    """Check whether a process has the file open, and the kernel lists a lock held through it (fdinfo)."""
    with suppress(OSError):  # no such process, not ours, or a system without /proc
        for number in (_PROCESSES / str(pid) / "fd").iterdir():
            with suppress(OSError):  # closed in the meantime
                opened = number.stat()
                if (opened.st_dev, opened.st_ino) == file:
                    described = (_PROCESSES / str(pid) / "fdinfo" / number.name).read_text()
                    return any(line.startswith("lock:") and "FLOCK" in line for line in described.splitlines())
    return False
