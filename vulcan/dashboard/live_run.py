"""A run read incrementally while it is written: its record so far, its new log lines and its summary."""

from __future__ import annotations

import threading
from bisect import bisect_right
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from time import time_ns
from typing import Any

from vulcan.dashboard.status import RunStatus, lock_owner, run_status
from vulcan.errors import UserError
from vulcan.results.candidate import candidate_row
from vulcan.results.report.data import failures
from vulcan.results.report.html_page import aligned
from vulcan.results.run import comparison_of, distinct_standings, headline, proposals, scorer_of, standings
from vulcan.searches.config import SearchConfig
from vulcan.searches.costs import Costs
from vulcan.searches.evidence import SPLITS
from vulcan.searches.strategies import make_strategy
from vulcan.searches.verdict import Comparison, verdict_of
from vulcan.store import RunRecord
from vulcan.store.base import Turn, turn_of
from vulcan.store.events import (
    ENTRIES,
    VERDICTS,
    AdviceReceived,
    BaselineMeasured,
    CallRecord,
    CandidateJudged,
    CandidateRefined,
    Entry,
    Event,
    FinalistScored,
    InstancesPrepared,
    InstructionTaken,
    QuestionAsked,
    RunStarted,
    RunStopped,
    SearchSteered,
    WinnerChosen,
)
from vulcan.store.runs import FILE, open_store

_CLOCK_TICK = 20_000_000
"""At least the nanoseconds between two values of the clock that files are stamped by: 10 ms where it has 100 Hz."""


def log_line(event: Event) -> str:
    """Describe an event in one line; empty for intermediate events."""
    match event:
        case RunStarted(config):
            return f"search of {config.get('task')} opened"
        case InstancesPrepared(instances):
            return f"{len(instances)} instances to be measured on"
        case BaselineMeasured(policy, kind, split, score):
            return f"{kind} {policy} scores {aligned(score)} on {split}"
        case CandidateJudged(candidate):
            return _judged(event, candidate)
        case AdviceReceived(proposal, text):
            return f"noted by proposal {proposal}: {' '.join(text.split())}"
        case SearchSteered(proposal, _, act, text):
            what = f"hint: {text}" if act == "hint" else "a policy was added"
            return f"{what}, from proposal {proposal} on"
        case CandidateRefined(candidate, by, evaluations, result):
            became = "nothing better was found" if result is None else f"it became candidate {result}"
            return f"candidate {candidate} {by} in {evaluations} evaluations: {became}"
        case FinalistScored(candidate, split, score):
            return f"candidate {candidate} {_scored(score)} on {split}"
        case WinnerChosen(candidate, split):
            return f"candidate {candidate} is the winner, chosen on {split}"
        case RunStopped(reason, message):
            return f"stopped: {reason}{': ' if message else ''}{message}"
        case _:
            return ""


def _judged(judged: CandidateJudged, candidate: int) -> str:
    if judged.verdict == "scored":
        return f"candidate {candidate} {_scored(judged.score)} on train"
    why = f" by {', '.join(dict.fromkeys(judged.rules))}" if judged.rules else ""
    return f"candidate {candidate} {judged.verdict}{why}"


def _scored(score: float | None) -> str:
    return "failed" if score is None else f"scores {aligned(score)}"


BUDGETS = ("budget_candidates", "budget_dollars", "budget_tokens", "budget_minutes")
"""Budgets of a search."""

_RECENT = 60
"""Number of latest candidates that the pace is measured over."""

_MAX_AT_ONCE = 200
"""Maximum number of log lines in one message."""

Stamp = tuple[int, ...]
"""State of a run's files; equal stamps mean that nothing was written."""


@dataclass(frozen=True, slots=True)
class LogLine:
    """One row of the table `events`, in readable form."""

    row: int
    time: str
    text: str
    candidate: int | None


class LiveRun:
    """A run that is read incrementally on `refresh`. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name
        self.lock = threading.RLock()
        """Hold it to read several values that must be consistent."""
        self._forget()

    def _forget(self) -> None:
        self.record = RunRecord()
        self.lines: list[dict[str, Any]] = []
        """Candidate rows in order; `text` is what the filter searches."""
        self.log: list[LogLine] = []
        self.started_at = self.last = ""
        self.row = 0
        self.costs = Costs()
        self._judged_at: list[str] = []
        self._models: dict[Turn, str] = {}
        self._stamp: Stamp = ()
        self._summary: tuple[object, dict[str, Any]] | None = None

    def refresh(self) -> None:
        """Read what was written since the last call. Raises UserError where the run cannot be read."""
        with self.lock:
            stamp = stamp_of(self.path)
            if stamp == self._stamp:
                return
            if self._stamp and stamp[:1] != self._stamp[:1]:  # the file was replaced, as by a repair
                self._forget()
            with closing(open_store(self.path)) as store:
                for row, time, entry in store.entries(*ENTRIES.values(), after=self.row):
                    self._add(row, time, entry)
            self._stamp = stamp

    def _add(self, row: int, time: str, entry: Entry) -> None:
        self.row, self.last = row, time
        self.started_at = self.started_at or time
        match entry:
            case CallRecord():
                self.costs.add(entry)
                self._models[turn_of(entry)] = entry.model
            case InstructionTaken() | QuestionAsked():
                pass
            case event:
                self.record.add(event)
                if isinstance(event, CandidateJudged):
                    self._judged(event, time)
                if text := log_line(event):
                    self.log.append(LogLine(row, time, text, getattr(event, "candidate", None)))

    def _judged(self, judged: CandidateJudged, time: str) -> None:
        line = {**candidate_row(self.record, judged), "operations": judged.operations, "rules": list(judged.rules)}
        self.lines.append(line)
        self._judged_at.append(time)
        model = self._models.get((judged.proposal, judged.turn))  # its reply is stored before it
        line["model"] = model if judged.origin == "model" else None
        words = (judged.candidate, judged.verdict, line["operator"], judged.origin, line["model"] or "")
        line["text"] = " ".join((*map(str, words), *judged.rules)).lower()

    def status(self) -> RunStatus:
        """Return the current status of the run."""
        return run_status(self.record, lock_owner(self.path))

    def after(self, row: int) -> list[LogLine]:
        """Return the next log lines after a row, oldest first, at most one message's worth."""
        with self.lock:
            first = bisect_right(self.log, row, key=lambda line: line.row)
            return self.log[first : first + _MAX_AT_ONCE]

    def summary(self) -> dict[str, Any]:
        """Return the run as its page shows it."""
        status = self.status()
        with self.lock:
            key = (self.row, self.costs.calls, status)
            if self._summary is None or self._summary[0] != key:
                self._summary = (key, self._made_summary(status))
            return self._summary[1]

    def _made_summary(self, status: RunStatus) -> dict[str, Any]:
        record, config = self.record, self.record.config
        best, baseline = record.best(), record.best_baseline("train")
        verdicts, compared = record.verdicts(), self._compared()
        verdict = None if compared is None else verdict_of(compared)
        splits = [split for split in SPLITS if any(i.split == split for i in record.instances)]
        lines, equal = distinct_standings(standings(record, compared, best.candidate if best else None), splits)
        return {
            "run": self.name,
            "path": str(self.path),
            "task": config.get("task"),
            "objective": config.get("objective"),
            "model": list(config.get("model") or ()),
            "strategy": config.get("strategy"),
            "seed": config.get("seed"),
            "begun": self.started_at,
            "last": self.last,
            "row": self.row,
            "status": asdict(status),
            "verdict": None if verdict is None else verdict.sentence,
            "conclusion": None if verdict is None else verdict.conclusion,
            "doubt": "" if verdict is None else verdict.doubt,
            "gains": {} if verdict is None else {gain["split"]: gain["gain"] for gain in verdict.gains},
            "headline": None if verdict is None else headline(record),
            "instances": list(dict.fromkeys(i.name for i in record.instances if i.split == "train")),
            "source": "" if best is None else best.source,
            "best": None
            if best is None
            else {"candidate": best.candidate, "score": best.score, "chosen": record.chosen is not None},
            "baseline": None if baseline is None else {"policy": baseline.policy, "score": baseline.score},
            "policies": [asdict(line) for line in lines],
            "equal": equal,
            "splits": splits,
            "candidates": len(record.candidates),
            "verdicts": {verdict: verdicts[verdict] for verdict in VERDICTS if verdict in verdicts},
            "rules": failures(record)["rules"],
            "candidates_per_minute": self._pace() if status.state == "running" else None,
            "cost": {
                "calls": self.costs.calls,
                "tokens": self.costs.tokens_in + self.costs.tokens_out,
                "dollars": self.costs.dollars,
                "unpriced_calls": self.costs.unpriced,
            },
            **self._limits(),
        }

    def _compared(self) -> Comparison | None:
        """Return the comparison that a finished run ended in."""
        if self.record.stopped is None or self.record.stopped.reason != "finished":
            return None
        try:
            return comparison_of(self.record, scorer_of(self.record))
        except UserError:  # its task is gone
            return None

    def _limits(self) -> dict[str, Any]:
        """Return the budgets, and the number of completed and planned proposals."""
        done = proposals(self.record)
        try:
            config = SearchConfig.from_json(self.record.config)
            total = make_strategy(config, config.offline).total
        except UserError:  # no configuration yet, or one written by a newer Vulcan
            return {"budgets": {}, "proposals": done, "planned": None}
        if config.budget_candidates is not None:
            total = min(total, config.budget_candidates)
        limits = {**{name: getattr(config, name) for name in BUDGETS}, "budget_candidates": total}
        over = self.record.chosen is not None or bool(self.record.confirmed)
        return {"budgets": limits, "proposals": done, "planned": done if over else total}

    def _pace(self) -> float | None:
        """Return candidates per minute, over the latest ones; None for too few."""
        recent = self._judged_at[-_RECENT:]
        if len(recent) < 2:
            return None
        seconds = (datetime.fromisoformat(recent[-1]) - datetime.fromisoformat(recent[0])).total_seconds()
        return 60 * (len(recent) - 1) / seconds if seconds > 0 else None

    def judged(self, candidate: int) -> CandidateJudged:
        """Return a candidate. Raises UserError if there is none of this number."""
        with self.lock:
            return self.record.candidate(candidate, self.name)

    def reply_to(self, judged: CandidateJudged) -> CallRecord | None:
        """Return the reply that a candidate was parsed from; None for one that no model wrote."""
        if judged.origin != "model":
            return None
        with closing(open_store(self.path)) as store:
            return store.call(judged.proposal, judged.turn)


def stamp_of(path: Path) -> Stamp:
    """Return inode, size and mtime of the run's file and of its write-ahead log; the file's inode is first.

    A file that was written just now may be written again with the same size and mtime, which counts in ticks of the
    kernel's clock: its stamp equals no later one.
    """
    found: list[int] = []
    for name in (FILE, f"{FILE}-wal"):
        try:
            status = (path / name).stat()
        except OSError:
            found += [0, 0, 0]
            continue
        found += [status.st_ino, status.st_size, status.st_mtime_ns]
    now = time_ns()
    return (*found, now) if now - max(found[2::3]) < _CLOCK_TICK else tuple(found)
