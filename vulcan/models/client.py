"""What every model behind a network has in common: the deadline, the retries, the budget, the clock.

Calls that end at their deadline, whatever the server does.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

import openai

from vulcan.models.api_errors import Caller, may_be_paid, sort_fault
from vulcan.models.base import BudgetExhausted, Message, ModelRefused, ModelUnavailable, Reply, Request
from vulcan.models.budget import Budget, metered
from vulcan.models.call_settings import CallSettings
from vulcan.models.completion import Completion
from vulcan.models.prices import Price
from vulcan.models.retry import PassingFault, Wait, with_retries

_log = logging.getLogger(__name__)

T = TypeVar("T")

_CLOSING_SECONDS = 5.0


class Calls:
    """Calls of any number of threads, run side by side on an event loop in a thread of its own.

    An HTTP client's own time-out restarts with every byte it reads, so that against a server which drips it
    bounds nothing. Here the whole call has one deadline, and what misses it is cancelled, socket and all.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._running: set[Future[Any]] = set()

    def run(self, call: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> T:
        """What the call returns or raises.

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
        """Cancel the calls in flight, then run `last`, which frees what the calls used."""
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
    """The loop of all calls of this process."""
    with _starting:
        return _started_event_loop()


@functools.cache
def _started_event_loop() -> asyncio.AbstractEventLoop:
    # One for good: litellm keeps its connections by the loop's id, which another loop could come to have
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="vulcan-models", daemon=True).start()
    return loop


class RemoteModel(ABC):
    """A `Proposer` that calls a server; safe to use from many threads.

    Every attempt is within the `budget`, where one is given, at this `price`. Raises UserError for a budget that
    cannot be kept.
    """

    def __init__(
        self, caller: Caller, settings: CallSettings, wait: Wait | None, budget: Budget | None, price: Price
    ) -> None:
        self._caller = caller
        self._settings, self._meter = metered(caller.model, settings, budget, price)
        self._closing = threading.Event()
        self._wait = wait or self._closing.wait
        self._calls = Calls()

    @property
    def name(self) -> str:
        return self._caller.model

    def propose(self, request: Request) -> Reply:
        """One reply. Raises ModelRefused (permanent), ModelUnavailable (retries are used up) or BudgetExhausted."""
        began = time.monotonic()
        try:
            completion = with_retries(
                lambda: self._attempt(request),
                self._settings.retry,
                what=self._caller.what,
                jitter=random.Random(f"{request.seed} {request.proposal} {request.turn}"),
                wait=self._wait,
            )
        except ModelUnavailable:
            if self._closing.is_set() and (reason := self._meter.late()):
                raise BudgetExhausted(reason) from None  # the deadline closed this
            raise
        return Reply(
            text=self._caller.without_keys(completion.text),
            model=self._caller.without_keys(completion.model),
            finish=self._caller.without_keys(completion.finish),
            tokens_in=completion.tokens_in,
            tokens_out=completion.tokens_out,
            dollars=completion.dollars,
            seconds=time.monotonic() - began,
        )

    def close(self) -> None:
        self._closing.set()
        self._meter.close()
        self._calls.close(self._free)

    def _attempt(self, request: Request) -> Completion:
        fault: ModelRefused | ModelUnavailable | PassingFault
        closed = ModelUnavailable(f"{self._caller.what}: closed")
        try:
            bill = self._meter.begin(request)
        except CancelledError:
            raise closed from None
        sampling = self._settings.sampling(request.progress)
        paid = True
        try:
            return bill.answered(
                self._calls.run(lambda: self._complete(request.messages, sampling), self._settings.timeout)
            )
        except TimeoutError:
            fault = PassingFault(f"no complete reply within {self._settings.timeout:g} s")
        except CancelledError:
            fault = closed
        except PassingFault as error:
            fault = PassingFault(self._caller.one_line(str(error)), error.retry_after)
        except ModelRefused as error:
            fault, paid = error, False
        except openai.OpenAIError as error:
            fault, paid = sort_fault(error, self._caller), may_be_paid(error)
        bill.failed(may_be_paid=paid)
        # raised out here so that the library's error, which may quote the key, is not chained to it
        raise fault

    @abstractmethod
    async def _complete(self, messages: tuple[Message, ...], sampling: Mapping[str, float | int]) -> Completion:
        """One call, with no retry. Raises openai.OpenAIError, PassingFault or ModelRefused."""

    @abstractmethod
    async def _free(self) -> None:
        """Close connections."""


def as_chat(messages: tuple[Message, ...]) -> list[dict[str, str]]:
    """The messages as the chat-completions API takes them."""
    return [{"role": message.role, "content": message.content} for message in messages]
