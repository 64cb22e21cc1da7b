"""A search of the command line that halts where a test wants to do something to it."""

from __future__ import annotations

import json
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

from chaos import SEARCH as WHOLE
from chaos import reply_to
from chat_server import Behaviour, Exchange, Received, answer
from console import Console
from waiting import wait_until

from vulcan.store.events import RunStopped
from vulcan.store.runs import open_store

SEARCH = (*WHOLE, "--executor", "local", "--workers", "1")
RESUME = ("--executor", "local", "--workers", "1", "--quiet")


class Model:
    """Answers by the prompt alone; after so many answers it holds its tongue until it is let go on."""

    def __init__(self, answers: int = 10**9) -> None:
        self._left = answers
        self.halted = threading.Event()
        self.goes_on = threading.Event()

    def __call__(self, request: Received) -> Behaviour:
        if self._left <= 0 and not self.goes_on.is_set():
            return self._halt
        self._left -= 1
        return answer(reply_to(json.dumps(request.body["messages"])))

    def _halt(self, exchange: Exchange) -> None:
        self.halted.set()
        wait_until(lambda: self.goes_on.is_set() or exchange.closing.is_set(), 120.0)
        exchange.hang_up()  # and is asked again


def only_run(console: Console, runs: str = "runs") -> Path:
    (run,) = (path for path in (console.directory / runs).iterdir() if path.is_dir())
    return run


def own_events(run: Path) -> list[Any]:
    """The events of a run itself, but where it stopped."""
    with closing(open_store(run)) as store:
        return [event for event in store.events() if not isinstance(event, RunStopped)]
