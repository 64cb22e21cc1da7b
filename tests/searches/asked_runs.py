"""A run begun with the model `ask`, and the processes that go on with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from search_parts import as_reply, opened, share

from vulcan.errors import UserError
from vulcan.scoring import Executor
from vulcan.searches.config import SearchConfig
from vulcan.searches.interactive import InteractiveSearch, TellResult, name_of
from vulcan.store import MemoryStore, SQLiteStore

ASK = ("ask",)


def good(number: int) -> str:
    """A reply with a program of its own."""
    return as_reply(share(1 + number / 10))


def error(call: Callable[[], object]) -> str:
    """The one line of the UserError that a call raises."""
    with pytest.raises(UserError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


class Run:
    """A run begun with the model `ask`; `talk` is a process that resumes it."""

    def __init__(self, place: Path, chosen: SearchConfig, executor: Executor) -> None:
        self.place, self.chosen, self.executor = place, chosen, executor
        SQLiteStore(place / "run.db", create=True).close()

    @contextmanager
    def talk(self) -> Iterator[InteractiveSearch]:
        with closing(SQLiteStore(self.place / "run.db")) as store:
            yield InteractiveSearch(opened(store, self.chosen, self.executor), self.place)

    def ask(self) -> str | None:
        with self.talk() as talk:
            proposal = talk.ask()
            return None if proposal is None else name_of(proposal)

    def tell(self, name: str, text: str) -> TellResult:
        with self.talk() as talk:
            return talk.tell(name, text, "somebody")

    def kept(self) -> MemoryStore:
        kept = MemoryStore()
        with closing(SQLiteStore(self.place / "run.db")) as store:
            kept.append(*store.events())
            for call in store.calls():
                kept.record(call)
        return kept
