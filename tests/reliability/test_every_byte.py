"""Every byte of a run: one bit flipped, or the rest cut off, anywhere in its file or its journal.

Each reader then gets what was written, or is told that the run is damaged, and `repair` loses no reply.
`VULCAN_FAULTS=all` tries 2,000 places; what commands say of a damaged run is in test_repair.py.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from whole_runs import Runs

from vulcan.store import SQLiteStore
from vulcan.store.events import CallRecord, Entry
from vulcan.store.journal import journal_of
from vulcan.store.recovery import repair
from vulcan.store.runs import FILE
from vulcan.store.sqlite import DamagedRun

ALL = os.environ.get("VULCAN_FAULTS") == "all"
PLACES = 2_000 if ALL else 150
REPAIRED = 1 if ALL else 5  # every so many
SQLITE_HEADER = 100


def read(run: Path) -> tuple[list[tuple[int, str, Entry]], list[CallRecord], list[tuple[int, int]]]:
    """All that any command reads of a run."""
    with closing(SQLiteStore(run / FILE)) as store:
        return list(store.numbered()), list(store.calls()), list(store.questions())


def damage(run: Path, rng: random.Random) -> str:
    """Flip a bit of the file or the journal, or cut one of them off, and return which."""
    file = rng.choices((run / FILE, journal_of(run / FILE)), (2, 1))[0]
    content = bytearray(file.read_bytes())
    head = file.name == FILE and rng.random() < 0.1
    place = rng.randrange(SQLITE_HEADER if head else len(content))
    if rng.random() < 0.2:
        file.write_bytes(content[:place])
        return f"{file.name} cut off"
    content[place] ^= 1 << rng.randrange(8)
    file.write_bytes(content)
    return f"{file.name} flipped"


def outcome(run: Path, whole: object) -> str:
    try:
        return "right" if read(run) == whole else "wrong"
    except DamagedRun as error:
        assert "\n" not in str(error)
        return "damaged"


@pytest.mark.faults
def test_a_run_with_a_damaged_byte_is_read_right_or_told_to_be_damaged(runs: Runs, tmp_path: Path) -> None:
    rng, counts = random.Random(26), Counter[tuple[str, str]]()
    whole = read(runs.whole)
    for number in range(PLACES):
        run = runs.copied(tmp_path / str(number))
        kind = damage(run, rng)
        before = outcome(run, whole)
        assert before != "wrong", kind
        counts[kind, before] += 1
        if number % REPAIRED == 0:
            repaired = repair(run / FILE)
            events, calls, _ = read(run)
            assert repaired is not None or before == "right", kind
            assert calls == whole[1], kind
            assert events == whole[0] or (repaired is not None and Path(repaired.file).name == FILE), kind
        shutil.rmtree(run)
    for (kind, what), count in sorted(counts.items()):
        print(f"{kind:28} {what:8} {count:5}")
    assert counts.total() == PLACES
    assert len(counts) > 4
