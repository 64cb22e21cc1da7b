"""Puts a run of which a file is damaged in order again, as far as that goes.

What a damaged run's file still holds, made into a run that can be gone on with.

Events and answers are only ever added to a run, so whatever row is found anywhere in the file is one of the run's. Of
the events those up to about the first that is lost are kept; of the answers of models, all that can be read, for they
may have been paid for. A search that is gone on with makes the rest anew out of these, as the uninterrupted one did.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from vulcan.errors import UserError
from vulcan.store.decode import MalformedRow, decode_call, decode_event
from vulcan.store.events import (
    EVENTS,
    AdviceReceived,
    CallRecord,
    CandidateJudged,
    CandidateProposed,
    Event,
    InstancesPrepared,
    RunStarted,
)
from vulcan.store.sqlite import DamagedRun, SQLiteStore, beginning_of
from vulcan.store.sqlite_pages import Row, rows_left

_COLUMNS_OF_CALL = 12


@dataclass(frozen=True, slots=True)
class SalvageReport:
    """How much of a run's file was saved: of the events it was seen to have held, and of the answers of models.

    `calls_lost` counts the answers that events or rows speak of and of which the text is gone.
    """

    events: int
    events_seen: int
    calls: int
    calls_lost: int


@dataclass
class _Found:
    """The rows of a damaged file that can be read, by their keys; the first that is found of each counts."""

    texts: dict[str, str] = field(default_factory=dict)
    events: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    calls: dict[tuple[int, int], tuple[object, ...]] = field(default_factory=dict)
    asked: dict[tuple[int, int], str] = field(default_factory=dict)

    @classmethod
    def in_file(cls, path: Path) -> _Found:
        found = cls()
        for row in rows_left(path):
            found._take(row)
        found._take_beginning(beginning_of(path))
        return found

    def _take_beginning(self, path: Path) -> None:
        """The first event, where it is lost and there is a second copy of it."""
        if 1 in self.events or not path.is_file():
            return
        with suppress(ValueError, KeyError, TypeError):
            copy = json.loads(path.read_text(encoding="utf-8"))
            self.events[1] = (str(copy["time"]), "Started", json.dumps(copy["data"]))

    def _take(self, row: Row) -> None:
        """Tells the tables apart by what is in a row: where the tree of each begins may be lost."""
        match row.key, row.values:
            case int(key), (None, str(time), str(kind), str(data)) if kind in EVENTS and key > 0:
                self.events.setdefault(key, (time, kind, data))
            case None, (str(key), str(text)) if key == _hash(text):
                self.texts.setdefault(key, text)
            case None, (int(proposal), int(turn), str(time)):
                self.asked.setdefault((proposal, turn), time)
            case None, (int(proposal), int(turn), *_) as values if len(values) == _COLUMNS_OF_CALL:
                self.calls.setdefault((proposal, turn), values)

    def text(self, key: str) -> str:
        if key not in self.texts:
            raise MalformedRow("a text is gone")
        return self.texts[key]


def salvage(path: Path, new: Path) -> SalvageReport:
    """Write what can be read of a run's file, and of its write-ahead log, to a new file.

    Raises UserError where it cannot be read, cannot be written, or holds no beginning of a run.
    """
    try:
        found = _Found.in_file(path)
    except OSError as error:
        raise UserError(f"cannot read the run's file {path}: {error.strerror}") from error
    calls = _calls(found)
    events = _in_order(found)
    kept = _cut(events, calls)
    if not kept:
        raise UserError(f"nothing can be saved of {path}: what says which search it was is lost; start it again")
    rounds = _rounds(events)
    spoken_of = {key for event in events for key in _calls_behind(event, rounds)} | set(found.calls)
    lost = len(spoken_of - set(calls))
    asked: Mapping[tuple[int, int], str] = {}
    if found.asked:
        asked = _asked(found, calls, _settled(kept))
        calls = {key: call for key, call in calls.items() if key in asked}
    with closing(SQLiteStore(new, create=True)) as store:
        store.restore(
            ((found.events[number][0], event) for number, event in enumerate(kept, 1)),
            ((str(found.calls[key][2]), call) for key, call in sorted(calls.items())),
            ((time, *key) for key, time in sorted(asked.items())),
        )
    return SalvageReport(len(kept), max(found.events, default=0), len(calls), lost)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _calls(found: _Found) -> dict[tuple[int, int], CallRecord]:
    """The answers of which everything is left."""
    read = {}
    for key, (proposal, turn, _, messages, reply, *rest) in found.calls.items():
        numbers = [float(v) if n in (4, 5) and isinstance(v, int) else v for n, v in enumerate(rest)]
        try:
            read[key] = decode_call((proposal, turn, messages, reply, *numbers), found.text)
        except MalformedRow:
            continue
    return read


def _in_order(found: _Found) -> list[Event]:
    """The events before the first that is lost."""
    events: list[Event] = []
    while (row := found.events.get(len(events) + 1)) is not None:
        try:
            events.append(decode_event(row[1], row[2], found.text))
        except MalformedRow:
            break
    return events


def _rounds(events: list[Event]) -> Mapping[int, int]:
    return {e.proposal: e.round for e in events if isinstance(e, CandidateProposed)}


def _calls_behind(event: Event, rounds: Mapping[int, int]) -> list[tuple[int, int]]:
    """The answers of models that an event came of."""
    match event:
        case CandidateJudged(proposal=proposal, turn=turn, verdict=verdict, origin="model") if (
            rounds.get(proposal, 0) > 0
        ):
            return [(proposal, turn)] if verdict != "no-reply" else []
        case AdviceReceived(proposal):
            return [(proposal, 0)]
    return []


def _settled(events: list[Event]) -> set[int]:
    return {e.proposal for e in events if isinstance(e, CandidateProposed)}


def _cut(events: list[Event], calls: Mapping[tuple[int, int], CallRecord]) -> list[Event]:
    """The events that a search can go on from: those before a proposal, or before the baselines.

    What is written at once is kept or lost as one, and nothing tells whether the last events are all that was written
    with them. A proposal of which an answer is lost has to be asked for again.
    """
    rounds = _rounds(events)
    incomplete = (n for n, e in enumerate(events) if any(key not in calls for key in _calls_behind(e, rounds)))
    end = next(incomplete, len(events))
    for number in range(end - 1, -1, -1):
        if isinstance(events[number], CandidateProposed):
            return events[:number]
    return [e for e in events[:2] if isinstance(e, RunStarted | InstancesPrepared)]


def _asked(found: _Found, calls: Mapping[tuple[int, int], CallRecord], settled: set[int]) -> dict[tuple[int, int], str]:
    """What was given to somebody to answer, without anything behind a gap, as it is drafted again in this order."""
    known = {**{key: str(found.calls[key][2]) for key in calls}, **found.asked}
    asked: dict[tuple[int, int], str] = {}
    following = max(settled, default=0) + 1
    for (proposal, turn), time in sorted(known.items()):
        first = turn == 0 and proposal == following
        again = (proposal, turn - 1) in asked and (proposal, turn - 1) in calls
        if proposal in settled or first or again:
            asked[proposal, turn] = time
            following += first
    return asked


_LOG, _SHARED = "-wal", "-shm"
"""What SQLite adds to the name of a file for its write-ahead log, and for what its users share of it."""


@dataclass(frozen=True, slots=True)
class RepairReport:
    """A file of a run that was written anew: what was wrong with it, where it is kept, and how much was saved."""

    file: Path
    damage: str
    kept_as: Path
    saved: SalvageReport


def damage_of(file: Path) -> str | None:
    """What is wrong with a run's file; None where all of it can be read. Raises UserError where it cannot be looked at.

    It is a copy that is looked at: SQLite would write what it makes of the log into the file.
    """
    if file.is_file() and file.stat().st_size == 0:
        return "it is empty"
    with TemporaryDirectory(prefix="vulcan-repair-") as place:
        copy = Path(place) / file.name
        try:
            _copy(file, copy)
        except OSError as error:
            raise UserError(f"cannot copy the run's file {file} to {place}: {error.strerror}") from error
        try:
            with closing(SQLiteStore(copy)) as store:
                store.check()
        except DamagedRun as error:
            return error.what
        except UserError as error:
            raise UserError(str(error).replace(str(copy), str(file))) from error
    return None


def repair(file: Path) -> RepairReport | None:
    """Write a run's file anew with all that can be saved, where it is damaged; the damaged one stays beside it.

    None where nothing is wrong with it. Raises UserError where nothing can be saved; then nothing is changed.
    """
    new, damage = file.with_name(file.name + ".new"), damage_of(file)
    if damage is None:
        return None
    _remove(new)
    try:
        saved = salvage(file, new)
        kept_as = _kept(file)
        _remove_log(file)  # it is of the damaged file: SQLite would write its pages into the new one
        new.replace(file)
    except OSError as error:
        raise UserError(f"cannot write beside the run's file {file}: {error.strerror}") from error
    finally:
        _remove(new)
    return RepairReport(file, damage, kept_as, saved)


def _kept(file: Path) -> Path:
    """A copy of the file and of its log, under a name that no other copy has."""
    number = 1
    while (copy := file.with_name(f"{file.name}.damaged-{number}")).exists():
        number += 1
    _copy(file, copy)
    os.sync()
    return copy


def _copy(file: Path, copy: Path) -> None:
    log = file.with_name(file.name + _LOG)
    if log.is_file():
        shutil.copy2(log, copy.with_name(copy.name + _LOG))
    shutil.copy2(file, copy)


def _remove_log(file: Path) -> None:
    for ending in (_LOG, _SHARED):
        with suppress(FileNotFoundError):
            file.with_name(file.name + ending).unlink()


def _remove(file: Path) -> None:
    _remove_log(file)
    with suppress(FileNotFoundError):
        file.unlink()
