"""Ctrl-C and SIGTERM may come between any two steps of a write: it is there whole or not at all, and others follow."""

from __future__ import annotations

import contextlib
import dis
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from vulcan.store import SQLiteStore, sqlite
from vulcan.store.events import CallRecord, Event, QuestionAsked, RunStarted, RunStopped, WinnerChosen
from vulcan.store.runs import FILE

PLACES = {sqlite.__file__, contextlib.__file__}
BEFORE: Event = WinnerChosen(1, "train")
AFTER: Event = RunStopped("interrupted")
CALL = CallRecord(1, 0, (("user", "question"),), "answer", "model", "stop", 1, 1, None, 1.0)

Write = Callable[[SQLiteStore], None]


def append(store: SQLiteStore) -> None:
    store.append(WinnerChosen(2, "train"), RunStarted({"task": "x"}, "0"))


def keep_call(store: SQLiteStore) -> None:
    store.record(CALL)


def keep_asked(store: SQLiteStore) -> None:
    store.record(QuestionAsked(1, 0))


def held(store: SQLiteStore) -> list[Any]:
    return [*store.events(), *store.calls(), *store.questions()]


def interrupted_at(step: int, write: Callable[[], None]) -> bool:
    """Do it, with an interruption at this one of its steps; whether there is such a step.

    A step is an instruction behind one at which Python lets signals in: a call, the beginning of a function, and a jump
    back.
    """
    passed = 0
    last: dict[FrameType, str] = {}

    def trace(frame: FrameType, kind: str, _: object) -> Any:
        nonlocal passed
        if frame.f_code.co_filename not in PLACES:
            return None
        frame.f_trace_opcodes = True
        if kind == "opcode":
            lets_signals_in = last.get(frame, "").startswith(("CALL", "RESUME", "JUMP_BACKWARD"))
            last[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            passed += lets_signals_in
            if passed == step:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        write()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("write", [append, keep_call, keep_asked], ids=lambda write: write.__name__)
def test_a_write_that_is_interrupted_is_whole_or_nothing_and_the_next_one_is_written(
    tmp_path: Path, write: Write
) -> None:
    with closing(SQLiteStore(tmp_path / "whole", create=True)) as store:
        store.append(BEFORE)
        before = held(store)
        write(store)
        whole = held(store)
    seen, step = [], 1
    path = tmp_path / FILE
    while True:
        with closing(SQLiteStore(path, create=True)) as store:
            store._db.execute("PRAGMA synchronous = OFF")  # thousands of stores
            store.append(BEFORE)
            there = interrupted_at(step, lambda: write(store))
            assert not store._lock.locked()
            assert held(store) in (before, whole), step
            seen.append(held(store) == whole)
            store.append(AFTER)
            assert list(store.events())[-1] == AFTER
        if not there:
            break
        for file in tmp_path.glob(f"{FILE}*"):
            file.unlink()
        step += 1
    assert step > 15
    assert (seen[0], seen[-1]) == (False, True)
    assert sorted(seen) == seen
