"""Concurrent calls on one event loop, each with a deadline."""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

_log = logging.getLogger(__name__)

T = TypeVar("T")

_CLOSING_SECONDS = 5.0


class Calls:
    """Concurrent calls from any number of threads, on one event loop in a thread of its own.

    An HTTP client's read time-out restarts with every byte, so a server that drips bytes defeats it. Here the
    whole call has one deadline, and a call that misses it is cancelled, socket included.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._running: set[Future[Any]] = set()

    def run(self, call: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> T:
        """Run a call, and return or raise what it does.

        Raises TimeoutError at the deadline, and concurrent.futures.CancelledError once this is closed.
        """
        with self._lock:
            if self._closed:
                raise CancelledError
            future = asyncio.run_coroutine_threadsafe(call(), _event_loop())
            self._running.add(future)
        try:
            return future.result(seconds)
        finally:
            future.cancel()
            with self._lock:
                self._running.discard(future)

    def close(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Cancel the calls in flight, then run `last`, which releases their resources."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            running = tuple(self._running)
        for future in running:
            future.cancel()
        try:
            asyncio.run_coroutine_threadsafe(last(), _event_loop()).result(_CLOSING_SECONDS)
        except TimeoutError:
            _log.warning("connections to a model did not close; they end with this process")


_starting = threading.Lock()


def _event_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of all calls of this process."""
    with _starting:
        return _started_event_loop()


@functools.cache
def _started_event_loop() -> asyncio.AbstractEventLoop:
    # One for good: litellm keeps its connections by the loop's id, which another loop could come to have
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="vulcan-models", daemon=True).start()
    return loop
