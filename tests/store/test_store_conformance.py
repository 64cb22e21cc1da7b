"""What every store does. To try one of your own, add it to the fixture `store`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from awkward_events import CALLS, EVENTS, TEXT

from vulcan.store import MemoryStore, SQLiteStore, Store
from vulcan.store.events import ENTRIES, CallRecord, CandidateProposed, Event, InstructionTaken, QuestionAsked

STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda _: MemoryStore(),
    "sqlite": lambda place: SQLiteStore(place / "run.db", create=True),
}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = STORES[request.param](tmp_path)
    yield store
    store.close()


def numbered(first: int, count: int) -> list[Event]:
    return [CandidateProposed(number, 1, "initial", (), number, "m") for number in range(first, first + count)]


def test_a_new_store_is_empty(store: Store) -> None:
    assert list(store.events()) == []
    assert list(store.calls()) == []
    assert store.call(1, 0) is None
    assert list(store.questions()) == []
    assert list(store.numbered()) == []
    assert store.started_at() == ""
    assert list(store.instructions()) == []
    store.check()


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_reads_back_as_it_was(store: Store, event: Event) -> None:
    store.append(event)
    assert list(store.events()) == [event]
    assert repr(list(store.events())) == repr([event])  # tells 1 from True and 1.0, and -0.0 from 0.0


def test_events_keep_the_order_in_which_they_were_appended(store: Store) -> None:
    store.append(*EVENTS[:3])
    store.append()
    for event in reversed(EVENTS):
        store.append(event)
    assert list(store.events()) == [*EVENTS[:3], *reversed(EVENTS)]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.proposal}.{call.turn}")
def test_a_call_reads_back_as_it_was(store: Store, call) -> None:
    store.record(call)
    assert store.call(call.proposal, call.turn) == call
    assert repr(store.call(call.proposal, call.turn)) == repr(call)
    assert store.call(call.proposal, call.turn + 1) is None
    assert store.call(call.proposal + 1, call.turn) is None


def test_calls_come_by_proposal_and_turn_whatever_order_they_were_kept_in(store: Store) -> None:
    for call in CALLS:
        store.record(call)
    assert [(c.proposal, c.turn) for c in store.calls()] == [(1, 0), (2, 0), (2, 1), (10, 0)]
    assert sorted(store.calls(), key=CALLS.index) == list(CALLS)


def test_the_first_answer_to_a_call_stays(store: Store) -> None:
    first = CALLS[0]
    store.record(first)
    store.record(replace(first, reply="another", model="another", dollars=9.0, messages=()))
    assert list(store.calls()) == [first]


def test_threads_may_write_at_the_same_time(store: Store) -> None:
    start = threading.Barrier(3)

    def write(first: int) -> None:
        start.wait()
        for number in range(first, first + 50):
            store.append(*numbered(2 * number, 2))

    def keep() -> None:
        start.wait()
        for number in range(50):
            store.record(replace(CALLS[0], proposal=number, reply=f"{TEXT} {number}"))

    threads = [threading.Thread(target=write, args=(first,)) for first in (0, 1000)] + [threading.Thread(target=keep)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = [event.proposal for event in store.events() if isinstance(event, CandidateProposed)]
    assert [n for n in written if n < 1000] == list(range(100))
    assert [n for n in written if n >= 1000] == list(range(2000, 2100))
    assert all(written[n] + 1 == written[n + 1] for n in range(0, 200, 2))  # what was appended together stays so
    assert [c.proposal for c in store.calls()] == list(range(50))


def test_events_are_numbered_from_one_and_have_their_times(store: Store) -> None:
    store.append(*numbered(1, 2))
    store.append(*numbered(3, 2))
    rows = list(store.numbered())
    assert [(row, event) for row, _, event in rows] == list(enumerate(numbered(1, 4), 1))
    assert [time for _, time, _ in rows] == sorted(time for _, time, _ in rows)
    assert datetime.fromisoformat(store.started_at()).tzinfo is not None
    assert store.started_at() == rows[0][1]
    assert list(store.numbered(2)) == rows[2:]
    assert list(store.numbered(4)) == []


def test_entries_of_some_kinds_are_read_with_their_rows(store: Store) -> None:
    taken = InstructionTaken(3, "a1", "hint", TEXT)
    store.append(*numbered(1, 1))
    store.record(taken)
    store.record(CALLS[0])
    store.record(taken)
    store.append(*numbered(2, 1))
    assert [(row, entry) for row, _, entry in store.entries(InstructionTaken, CallRecord)] == [
        (2, taken),
        (3, CALLS[0]),
    ]
    assert [row for row, _, _ in store.entries(*ENTRIES.values(), after=1)] == [2, 3, 4]
    assert [row for row, _, _ in store.numbered()] == [1, 4]
    assert list(store.instructions()) == [taken]


def test_what_was_given_out_is_remembered_once_and_in_order(store: Store) -> None:
    for key in ((3, 0), (1, 0), (1, 1), (3, 0)):
        store.record(QuestionAsked(*key))
    assert list(store.questions()) == [(1, 0), (1, 1), (3, 0)]


def test_what_another_store_held_is_taken_in_with_its_times(store: Store) -> None:
    timed = [(f"2026-01-0{n}T00:00:00+00:00", event) for n, event in enumerate(numbered(1, 3), 1)]
    store.restore([*timed, ("2026-01-04", CALLS[0]), ("2026-01-05", QuestionAsked(1, 0))])
    assert [(time, event) for _, time, event in store.numbered()] == timed
    assert list(store.calls()) == [CALLS[0]]
    assert list(store.questions()) == [(1, 0)]
    store.check()
