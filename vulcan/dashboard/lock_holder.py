"""The lock owner of a run: find its process, and interrupt it as Ctrl-C would."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from vulcan.errors import UserError
from vulcan.store.runs import LOCK

_PROCESSES = Path("/proc")


@dataclass(frozen=True, slots=True)
class LockOwner:
    """The process on this host that holds the lock of a run."""

    pid: int


def lock_owner(run: Path) -> LockOwner | None:
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
    if not recorded.isdigit():
        return None
    pid = int(recorded)
    return LockOwner(pid) if _holds(pid, (found.st_dev, found.st_ino)) else None


def interrupt(run: Path) -> int:
    """Interrupt the process that searches in a run, as Ctrl-C would, and return its pid. Raises UserError for none.

    The signal is sent through a pidfd that is opened before the lock owner is verified again, so that it cannot reach
    another process with a reused pid.
    """
    first = lock_owner(run)
    if first is None:
        raise UserError(f"no process of this machine is seen to search in {run.name}; stop it where it was started")
    try:
        handle = os.pidfd_open(first.pid)
    except (OSError, AttributeError) as error:
        raise UserError(f"process {first.pid} cannot be stopped from here ({error}): press Ctrl-C there") from error
    try:
        if lock_owner(run) != first:
            raise UserError(f"{run.name} has just ended")
        signal.pidfd_send_signal(handle, _signal_for(first.pid))
    except ProcessLookupError as error:
        raise UserError(f"{run.name} has just ended") from error
    except PermissionError as error:
        raise UserError(f"process {first.pid} belongs to another user, who alone can stop it") from error
    finally:
        os.close(handle)
    return first.pid


def _holds(pid: int, file: tuple[int, int]) -> bool:
    """Check whether a process has the file open and locked."""
    directory = _PROCESSES / str(pid) / "fd"
    try:
        numbers = list(directory.iterdir())
    except OSError:  # no such process, not ours, or a system without /proc
        return False
    for number in numbers:
        try:
            opened = number.stat()
        except OSError:  # closed in the meantime
            continue
        if (opened.st_dev, opened.st_ino) == file:
            return _locked(_PROCESSES / str(pid) / "fdinfo" / number.name)
    return False


def _locked(described: Path) -> bool:
    """Check whether the kernel's description of an open file (fdinfo) lists a lock held through it."""
    try:
        return any(line.startswith("lock:") and "FLOCK" in line for line in described.read_text().splitlines())
    except OSError:
        return False


def _signal_for(pid: int) -> signal.Signals:
    """Return SIGINT, or SIGTERM for a process that ignores SIGINT, as a shell's background jobs do."""
    try:
        status = (_PROCESSES / str(pid) / "status").read_text()
    except OSError:
        return signal.SIGINT
    for line in status.splitlines():
        name, _, value = line.partition(":")
        if name == "SigIgn":
            ignored = int(value, 16) >> (signal.SIGINT - 1) & 1
            return signal.SIGTERM if ignored else signal.SIGINT
    return signal.SIGINT
