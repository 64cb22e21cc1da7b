"""Puts a run of which a file is damaged in order again, as far as that goes."""

from __future__ import annotations

import os
import shutil
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from vulcan.errors import UserError
from vulcan.store.salvage import Saved, salvage
from vulcan.store.sqlite import DamagedRun, SQLiteStore

_LOG, _SHARED = "-wal", "-shm"
"""What SQLite adds to the name of a file for its write-ahead log, and for what its users share of it."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """A file of a run that was written anew: what was wrong with it, where it is kept, and how much was saved."""

    file: Path
    damage: str
    kept_as: Path
    saved: Saved


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


def repair(file: Path) -> Repaired | None:
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
    return Repaired(file, damage, kept_as, saved)


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
