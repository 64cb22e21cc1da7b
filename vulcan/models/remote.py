"""What every model behind a network has in common: the deadline, the retries, the clock."""

from __future__ import annotations

import random
import threading
import time
from abc import ABC, abstractmethod
from concurrent.futures import CancelledError

import openai

from vulcan.models.base import Message, ModelRefused, ModelUnavailable, Reply, Request
from vulcan.models.calls import Calls
from vulcan.models.completion import Completion
from vulcan.models.faults import Caller, sort_fault
from vulcan.models.retry import PassingFault, Wait, with_retries
from vulcan.models.settings import CallSettings


class RemoteModel(ABC):
    """A `Proposer` that calls a server; safe to use from many threads."""

    def __init__(self, caller: Caller, settings: CallSettings, wait: Wait | None = None) -> None:
        self._caller = caller
        self._settings = settings
        self._closing = threading.Event()
        self._wait = wait or self._closing.wait
        self._calls = Calls()

    @property
    def name(self) -> str:
        return self._caller.model

    def propose(self, request: Request) -> Reply:
        """One reply. Raises ModelRefused (permanent) or ModelUnavailable (retries are used up)."""
        began = time.monotonic()
        completion = with_retries(
            lambda: self._attempt(request.messages),
            self._settings.retry,
            what=self._caller.what,
            jitter=random.Random(f"{request.seed} {request.proposal} {request.turn}"),
            wait=self._wait,
        )
        return Reply(
            text=completion.text,
            model=completion.model,
            finish=completion.finish,
            tokens_in=completion.tokens_in,
            tokens_out=completion.tokens_out,
            dollars=completion.dollars,
            seconds=time.monotonic() - began,
        )

    def close(self) -> None:
        self._closing.set()
        self._calls.close(self._free)

    def _attempt(self, messages: tuple[Message, ...]) -> Completion:
        fault: ModelRefused | ModelUnavailable | PassingFault
        try:
            return self._calls.run(lambda: self._complete(messages), self._settings.timeout)
        except TimeoutError:
            fault = PassingFault(f"no complete reply within {self._settings.timeout:g} s")
        except CancelledError:
            fault = ModelUnavailable(f"{self._caller.what}: closed")
        except PassingFault as error:
            fault = PassingFault(self._caller.one_line(str(error)), error.retry_after)
        except openai.OpenAIError as error:
            fault = sort_fault(error, self._caller)
        # raised out here so that the library's error, which may quote the key, is not chained to it
        raise fault

    @abstractmethod
    async def _complete(self, messages: tuple[Message, ...]) -> Completion:
        """One call, with no retry. Raises openai.OpenAIError, PassingFault or ModelRefused."""

    @abstractmethod
    async def _free(self) -> None:
        """Close connections."""


def as_chat(messages: tuple[Message, ...]) -> list[dict[str, str]]:
    """The messages as the chat-completions API takes them."""
    return [{"role": message.role, "content": message.content} for message in messages]
