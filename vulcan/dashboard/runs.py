"""The list of runs, with a summary line for each."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vulcan.dashboard.live_run import LiveRun, Stamp, stamp_of
from vulcan.dashboard.status import RunStatus, lock_owner, run_status
from vulcan.errors import UserError, did_you_mean
from vulcan.evaluator import SplitName
from vulcan.results.notes import read_notes
from vulcan.searches.evidence import SPLITS
from vulcan.store import RunRecord
from vulcan.store.runs import run_directories

_MAX_CACHED = 16
"""Number of runs cached in memory: the most recently used."""


@dataclass(frozen=True, slots=True)
class _Read:
    """A cached summary line of a run, with the stamp of the files that it was read from."""

    stamp: Stamp
    record: RunRecord
    line: dict[str, Any]


log = logging.getLogger(__name__)


class Runs:
    """The runs in a directory, and optionally one from elsewhere. Thread-safe."""

    def __init__(self, directory: Path, one: Path | None = None) -> None:
        self.directory = directory
        self._one = one
        self._watched: OrderedDict[str, LiveRun] = OrderedDict()
        self._read: dict[str, _Read] = {}
        self._asked: set[str] = set()
        self._lock = threading.Lock()
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="vulcan-reader")

    def paths(self) -> dict[str, Path]:
        """Return the path of every run by the name of its directory."""
        found = {path.name: path for path in run_directories(self.directory)}
        if self._one is not None:
            found[self._one.name] = self._one
        return found

    def get(self, name: str) -> LiveRun:
        """Return a run, read up to date. Raises UserError for an unknown or unreadable run."""
        places = self.paths()
        if name not in places:
            raise UserError(f"no run {name[:80]!r} in {self.directory}{did_you_mean(name, places)}")
        with self._lock:
            run = self._watched.get(name) or LiveRun(places[name])
            self._watched[name] = run
            self._watched.move_to_end(name)
            while len(self._watched) > _MAX_CACHED:
                self._watched.popitem(last=False)
        run.refresh()
        return run

    def lines(self) -> list[dict[str, Any]]:
        """Return a line for every run, newest first. Unread runs are read in the background, for the next call."""
        found = [self._line(name, path) for name, path in self.paths().items()]
        return sorted(found, key=lambda line: (line["begun"] or "9", line["run"]), reverse=True)

    def _line(self, name: str, path: Path) -> dict[str, Any]:
        stamp = stamp_of(path)
        with self._lock:
            known = self._read.get(name)
            if (known is None or known.stamp != stamp) and name not in self._asked:
                self._asked.add(name)
                self._reader.submit(self._take, name, stamp)
        notes = read_notes(path)
        line = _about(name, None, RunStatus("reading")) if known is None else known.line
        if known is not None and line["status"] is None:
            line = {**line, "status": asdict(run_status(known.record, lock_owner(path)))}
        return {**line, "title": notes.title, "tags": notes.tags}

    def _take(self, name: str, stamp: Stamp) -> None:
        try:
            run = self.get(name)
            with run.lock:
                small = RunRecord(config=run.record.config, stopped=run.record.stopped)
                read = _Read(stamp, small, _about(name, run, None))
        except UserError as error:  # a damaged run must not hide the others
            read = _Read(stamp, RunRecord(), _about(name, None, RunStatus("damaged", str(error))))
        except Exception as error:  # of the reader's thread, which nobody waits for
            log.exception("the run %s cannot be read", name)
            read = _Read(stamp, RunRecord(), _about(name, None, RunStatus("damaged", repr(error))))
        with self._lock:
            self._read[name] = read
            self._asked.discard(name)

    def close(self) -> None:
        """Cancel pending reads, and wait for the one in progress."""
        self._reader.shutdown(wait=True, cancel_futures=True)


def _about(name: str, run: LiveRun | None, status: RunStatus | None) -> dict[str, Any]:
    """Return the line of a run; with a status only where it has not been read, or cannot be."""
    record = run.record if run is not None else RunRecord()
    best = record.best()
    known = {split: record.named_baseline(split) for split in SPLITS}
    summary = run.summary() if run is not None else None
    last: SplitName = "train" if best is None or record.score_of(best.candidate, "test") is None else "test"
    score, rival = None if best is None else record.score_of(best.candidate, last), known[last]
    gain = None if score is None or rival is None else score - rival.score
    return {
        "run": name,
        "begun": run.started_at if run is not None else "",
        "task": record.config.get("task"),
        "model": list(record.config.get("model") or ()),
        "candidates": len(record.candidates),
        "instances": summary["instances"] if summary else [],
        "conclusion": summary["conclusion"] if summary else None,
        "doubt": summary["doubt"] if summary else "",
        "gain": summary["gains"].get(last, gain) if summary else gain,
        "best": None if best is None else best.candidate,
        "train": None if best is None else best.score,
        "test": None if best is None else record.score_of(best.candidate, "test"),
        "baselines": {split: {"policy": b.policy, "score": b.score} for split, b in known.items() if b is not None},
        "status": None if status is None else asdict(status),
    }
