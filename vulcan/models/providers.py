"""Models behind a network: OpenAI-compatible servers and litellm's providers, with deadlines, retries and budgets."""

from __future__ import annotations

import logging
import os
import random
import threading
import time
from abc import ABC, abstractmethod
from concurrent.futures import CancelledError
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urlsplit

import openai

from vulcan.errors import UserError, did_you_mean
from vulcan.models.accommodation import CHANGES, Change, Changes, ModelCall, changed, find_change
from vulcan.models.api_errors import Caller, may_be_paid, never_connected, proxy_in_the_way, refusal_of, sort_fault
from vulcan.models.base import BudgetExhausted, ModelRefused, ModelUnavailable, Reply, Request
from vulcan.models.budget import Budget, metered
from vulcan.models.call_settings import CallSettings
from vulcan.models.calls import Calls
from vulcan.models.completion import read_body, read_completion
from vulcan.models.prices import BYTES_PER_TOKEN, UNKNOWN, Price, find_price, load_litellm
from vulcan.models.redact import shown_url
from vulcan.models.retry import TransientError, Wait, with_retries
from vulcan.models.tool_calls import as_functions, as_text

_log = logging.getLogger(__name__)

TIMEOUT_ATTEMPTS = 2
"""Attempts of a call that gives no reply within the limit: each may take minutes."""

UNREACHED_ATTEMPTS = 2
"""Attempts to reach a server that has never answered: its address is wrong, or it is not running."""


class RemoteModel(ABC):
    """A `Proposer` that calls a server; safe to use from many threads.

    Every attempt is charged to the `budget`, where one is given, at this `price`. Parameters that the model refuses are
    exchanged or left out, which `changes` remembers. Raises UserError for a budget that cannot be kept.
    """

    def __init__(
        self,
        caller: Caller,
        settings: CallSettings,
        wait: Wait | None,
        budget: Budget | None,
        price: Price,
        changes: Changes | None,
    ) -> None:
        self._caller = caller
        self._changes = changes or Changes()
        self._estimates = False
        self._budget = budget or Budget()
        self._settings, self._meter = metered(caller.model, settings, self._budget, price)
        self._closing = threading.Event()
        self._wait = wait or self._closing.wait
        self._calls = Calls()
        self._reached = False

    @property
    def name(self) -> str:
        return self._caller.model

    def propose(self, request: Request) -> Reply:
        """Return one reply, or raise as `Proposer.propose` says."""
        began = time.monotonic()
        try:
            reply = with_retries(
                lambda: self._attempt(request),
                self._settings.retry,
                what=self._caller.what,
                jitter=random.Random(f"{request.seed} {request.proposal} {request.turn}"),
                wait=self._wait,
            )
        except ModelUnavailable:
            if self._closing.is_set() and (reason := self._budget.overtime()):
                raise BudgetExhausted(reason) from None  # the deadline closed this
            raise
        text, model, finish = map(self._caller.without_keys, (reply.text, reply.model, reply.finish))
        return replace(reply, text=text, model=model, finish=finish, seconds=time.monotonic() - began)

    def close(self) -> None:
        self._closing.set()
        self._budget.close()
        self._calls.close(self._free)

    def _attempt(self, request: Request) -> Reply:
        fault: UserError | ModelUnavailable | TransientError
        closed = ModelUnavailable(f"{self._caller.what}: closed")
        try:
            reservation = self._meter.begin(request)
        except CancelledError:
            raise closed from None
        parameters: dict[str, object] = {**self._settings.sampling()}
        if request.tools:
            parameters["tools"] = list(request.tools)
        call = ModelCall(self._caller.model, request.messages, parameters)
        overdue = TransientError(f"no complete reply within {self._settings.timeout:g} s", attempts=TIMEOUT_ATTEMPTS)
        paid = True
        try:
            reply = self._calls.run(lambda: self._accepted(call), self._settings.timeout)
            self._reached = True
            self._note_estimate(reply)
            return self._meter.charge(reservation, request, reply)
        except TimeoutError:
            fault = overdue
        except CancelledError:
            fault = closed
        except TransientError as error:
            fault = TransientError(self._caller.one_line(str(error)), error.retry_after)
        except ModelRefused as error:
            fault, paid = error, False
        except openai.OpenAIError as error:
            fault, paid = sort_fault(error, self._caller), may_be_paid(error)
            if isinstance(fault, TransientError) and never_connected(error):
                if not self._reached:
                    fault.attempts = UNREACHED_ATTEMPTS
            elif isinstance(error, openai.APITimeoutError):  # the client's clock, which has the same limit, was first
                fault = overdue
        if paid:  # or may be
            reservation.charge_unanswered()
        else:
            reservation.release()
        # raised out here so that the library's error, which may quote the key, is not chained to it
        raise fault

    async def _accepted(self, call: ModelCall) -> Reply:
        """Make the call, changed until the model accepts it. Raises as `_complete`."""
        changes = self._changes.of(self.name)
        while True:
            sent = changed(call, changes)
            try:
                reply = await self._complete(sent)
            except openai.OpenAIError as error:
                refusal = refusal_of(error)
                change = None if refusal is None else find_change(refusal, sent)
                if change is None and refusal is not None:
                    change = await self._name_change(error, sent)
                if change is None or change in changes:
                    raise
                changes |= {change}
            else:
                for change in self._changes.add(self.name, changes):
                    _log.warning("%s: %s, as it refuses other calls", self._caller.what, CHANGES[change])
                return reply

    async def _name_change(self, refusal: openai.OpenAIError, call: ModelCall) -> Change | None:
        """Return the change after a refusal of the model's name; None if it is not known to the server otherwise."""
        return None

    def _note_estimate(self, reply: Reply) -> None:
        """Say, once, that what a budget counts is an estimate."""
        if not reply.counted and not self._estimates and self._budget.limits_calls:
            self._estimates = True
            _log.warning(
                "%s does not report tokens: a budget of them counts an estimate, one per %d bytes; one of dollars, "
                "the most that a call may cost",
                self._caller.what,
                BYTES_PER_TOKEN,
            )

    @abstractmethod
    async def _complete(self, call: ModelCall) -> Reply:
        """Make one call, without retries. Raises openai.OpenAIError, TransientError or ModelRefused."""

    @abstractmethod
    async def _free(self) -> None:
        """Close connections."""


def as_chat(call: ModelCall) -> list[dict[str, Any]]:
    """Convert the messages of a call to the form of the chat-completions API."""
    return as_functions(call.messages) if "tools" in call.parameters else as_text(call.messages)


KEY_VARIABLE = "OPENAI_API_KEY"


class EndpointModel(RemoteModel):
    """A model of an OpenAI-compatible server.

    `name` is passed on verbatim, and as litellm does, without its `openai/`, where the server knows only that.

    The key is read from OPENAI_API_KEY; a server that needs none is sent "none". The price is known where it is given.
    Raises UserError where the address or the key cannot be right.
    """

    def __init__(
        self,
        name: str,
        api_base: str,
        settings: CallSettings,
        wait: Wait | None = None,
        budget: Budget | None = None,
        price: Price = UNKNOWN,
        changes: Changes | None = None,
    ) -> None:
        key = os.environ.get(KEY_VARIABLE, "").strip()
        _check(api_base, key)
        credentials = f"set {KEY_VARIABLE} to a key that this server accepts" + ("" if key else " (it is not set)")
        caller = Caller(name, shown_url(api_base), credentials, key, proxy_in_the_way(api_base))
        super().__init__(caller, settings, wait, budget, price, changes)
        self._client = openai.AsyncOpenAI(
            api_key=key or "none", base_url=api_base, timeout=settings.timeout, max_retries=0
        )

    async def _complete(self, call: ModelCall) -> Reply:
        # The raw response: the package hands on what does not have the API's shape as if it had. Told of a stream only
        # in the body, it reads that like any other response.
        raw = await self._client.chat.completions.with_raw_response.create(
            model=call.model, messages=cast(Any, as_chat(call)), extra_body=dict(call.parameters)
        )
        response = raw.http_response
        if "html" in response.headers.get("content-type", ""):
            raise ModelRefused(
                f"{self._caller.what} answers with a web page, status {response.status_code}; check the "
                "server's address, which mostly ends in /v1"
            )
        reply = read_completion(read_body(response.content), call.model, calls="tools" in call.parameters)
        if reply.tokens_in is None or reply.tokens_out is None:
            return reply
        return replace(reply, dollars=self._meter.price.dollars(reply.tokens_in, reply.tokens_out))

    async def _name_change(self, refusal: openai.OpenAIError, call: ModelCall) -> Change | None:
        """Ask the server for its models where it may not know this one. Raises ModelRefused, naming them."""
        if getattr(refusal, "status_code", None) != 404 and "model" not in str(refusal).lower():
            return None
        try:
            served = [model.id async for model in self._client.models.list()]
        except openai.OpenAIError:
            served = []
        bare = self.name.removeprefix("openai/")
        if call.model == self.name != bare and (bare in served or not served):
            return "name"
        if served and call.model not in served:
            names = ", ".join(served[:_SHOWN_MODELS]) + (", ..." if len(served) > _SHOWN_MODELS else "")
            raise ModelRefused(f"{self._caller.what} is not served there{did_you_mean(bare, served)} (it has: {names})")
        return None

    async def _free(self) -> None:
        await self._client.close()


_SHOWN_MODELS = 10


def _check(api_base: str, key: str) -> None:
    if not key.isascii() or not key.isprintable():
        raise UserError(f"{KEY_VARIABLE} holds characters that no key has: set it again")
    try:
        parts = urlsplit(api_base)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise UserError(f"{api_base!r} is not the address of a server: write it as http://localhost:8000/v1")


class LitellmModel(RemoteModel):
    """A model known to litellm as `provider/model`; keys come from the variables that litellm reads.

    `Reply.dollars` comes from litellm's price table. Raises ModelRefused where no provider is known by that
    name, or where the provider's key is not set.
    """

    def __init__(
        self,
        name: str,
        settings: CallSettings,
        wait: Wait | None = None,
        budget: Budget | None = None,
        price: Price = UNKNOWN,
        changes: Changes | None = None,
    ) -> None:
        _check_common_key(name)
        self._litellm = load_litellm()
        provider, address = _provider(self._litellm, name)
        _check_key(self._litellm, name, provider)
        endpoint = f"{provider} ({shown_url(address)})" if address else provider
        if budget is not None and budget.limits_calls:
            _check_reply_limit(self._litellm, name)
        super().__init__(
            Caller(name, endpoint, _credentials(provider)),
            settings,
            wait,
            budget,
            table if (table := find_price(name)).known else price,
            changes,
        )

    async def _complete(self, call: ModelCall) -> Reply:
        response = await self._litellm.acompletion(
            model=call.model,
            messages=as_chat(call),
            timeout=self._settings.timeout,
            num_retries=0,  # litellm's own
            max_retries=0,  # those of the provider's client inside it
            drop_params=True,
            **call.parameters,
        )
        if call.parameters.get("stream"):
            response = self._litellm.stream_chunk_builder([chunk async for chunk in response])
        reply = read_completion(response.model_dump(warnings=False), self.name, calls="tools" in call.parameters)
        dollars = response._hidden_params.get("response_cost")  # documented as the place of the cost
        return replace(reply, dollars=dollars or None)  # 0 stands for no price, and for tokens that were not counted

    async def _free(self) -> None:
        """Do nothing: litellm pools connections per server, and keeps them."""


def _provider(litellm: Any, name: str) -> tuple[str, str | None]:
    try:
        _, provider, _, address = litellm.get_llm_provider(name)
    except openai.BadRequestError:
        known = [str(getattr(entry, "value", entry)) for entry in litellm.provider_list]
        first = name.partition("/")[0]
        raise ModelRefused(
            f"model {name!r}: no provider of models is known by {first!r}{did_you_mean(first, known)}; write the "
            "name as provider/model, such as openai/gpt-4o, or give a server's address with --api-base"
        ) from None
    return str(provider), address


_COMMON = ("openai", "anthropic", "gemini", "mistral", "groq", "deepseek", "openrouter", "xai")
"""Providers that need a key of the variable PROVIDER_API_KEY."""


def _check_common_key(model: str) -> None:
    """Raise ModelRefused where nothing in the environment is a key of a common provider, before litellm is loaded.

    It takes seconds to load, and knows more providers, and more ways to give them a key.
    """
    provider, slash, _ = model.partition("/")
    prefixes = (f"{provider.upper()}_", *(("GOOGLE_",) if provider == "gemini" else ()))
    if slash and provider in _COMMON and not any(name.startswith(prefixes) and os.environ[name] for name in os.environ):
        keys = " or ".join(f"{prefix}API_KEY" for prefix in sorted(prefixes))
        raise ModelRefused(f"model {model!r} needs a key of {provider}: set {keys} in the environment")


def _check_key(litellm: Any, model: str, provider: str) -> None:
    missing = litellm.validate_environment(model)["missing_keys"]
    # What else litellm lists has a default (a local server's address) or another source (such as ~/.aws)
    keys = [name for name in missing if name.endswith("_API_KEY") and not os.environ.get(name)]
    if keys:
        raise ModelRefused(
            f"model {model!r} needs a key of {provider}: set {' or '.join(sorted(keys))} in the environment"
        )


def _check_reply_limit(litellm: Any, model: str) -> None:
    taken = litellm.get_supported_openai_params(model) or ()
    if not {"max_tokens", "max_completion_tokens"} & set(taken):
        raise UserError(
            f"model {model!r} takes no limit of tokens a reply, so that no budget can be kept; use --budget-candidates"
        )


def _credentials(provider: str) -> str:
    variable = f"{provider.upper()}_API_KEY"
    if os.environ.get(variable):
        return f"set {variable} to a key that {provider} accepts"
    return f"check the credentials set in the environment for {provider}"
