"""Language models by provider: OpenAI-compatible servers, and whatever litellm knows."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urlsplit

import openai

from vulcan.errors import UserError, did_you_mean
from vulcan.models.api_errors import Caller
from vulcan.models.base import Message, ModelRefused
from vulcan.models.budget import Budget
from vulcan.models.call_settings import CallSettings
from vulcan.models.client import RemoteModel, as_chat
from vulcan.models.completion import Completion, read_completion
from vulcan.models.prices import find_price, load_litellm
from vulcan.models.redact import shown_url
from vulcan.models.retry import PassingFault, Wait

KEY_VARIABLE = "OPENAI_API_KEY"


class EndpointModel(RemoteModel):
    """The model `name`, passed on as it is written, of the server at `api_base`.

    The key is read from OPENAI_API_KEY; a server that needs none is sent "none". The price is not known.
    Raises UserError where the address or the key cannot be right.
    """

    def __init__(
        self,
        name: str,
        api_base: str,
        settings: CallSettings,
        wait: Wait | None = None,
        budget: Budget | None = None,
    ) -> None:
        key = os.environ.get(KEY_VARIABLE, "").strip()
        _check(api_base, key)
        credentials = f"set {KEY_VARIABLE} to a key that this server accepts" + ("" if key else " (it is not set)")
        caller = Caller(name, shown_url(api_base), credentials, key)
        super().__init__(caller, settings, wait, budget, find_price(name, api_base))
        self._client = openai.AsyncOpenAI(
            api_key=key or "none", base_url=api_base, timeout=settings.timeout, max_retries=0
        )

    async def _complete(self, messages: tuple[Message, ...], sampling: Mapping[str, float | int]) -> Completion:
        # The raw response: the package hands on what does not have the API's shape as if it had.
        raw = await self._client.chat.completions.with_raw_response.create(
            model=self.name, messages=cast(Any, as_chat(messages)), **cast(Any, sampling)
        )
        response = raw.http_response
        if "html" in response.headers.get("content-type", ""):
            raise ModelRefused(
                f"{self._caller.what} answers with a web page, status {response.status_code}; check the "
                "server's address, which mostly ends in /v1"
            )
        try:
            body = json.loads(response.content)
        except (ValueError, RecursionError):
            raise PassingFault("the server's answer is not JSON") from None
        return read_completion(body, self.name)

    async def _free(self) -> None:
        await self._client.close()


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
    """The model `name`, as `provider/model`; keys are read from the variables that litellm reads.

    `Reply.dollars` comes from litellm's price table. Raises ModelRefused where no provider is known by that
    name, or where the provider's key is not set.
    """

    def __init__(
        self, name: str, settings: CallSettings, wait: Wait | None = None, budget: Budget | None = None
    ) -> None:
        self._litellm = load_litellm()
        provider, address = _provider(self._litellm, name)
        _check_key(self._litellm, name, provider)
        endpoint = f"{provider} ({shown_url(address)})" if address else provider
        if budget is not None and budget.limits_calls:
            _check_reply_limit(self._litellm, name)
        super().__init__(Caller(name, endpoint, _credentials(provider)), settings, wait, budget, find_price(name))

    async def _complete(self, messages: tuple[Message, ...], sampling: Mapping[str, float | int]) -> Completion:
        response = await self._litellm.acompletion(
            model=self.name,
            messages=as_chat(messages),
            timeout=self._settings.timeout,
            num_retries=0,  # litellm's own
            max_retries=0,  # those of the provider's client inside it
            drop_params=True,
            **sampling,
        )
        completion = read_completion(response.model_dump(warnings=False), self.name)
        return replace(completion, dollars=_price(response))

    async def _free(self) -> None:
        """Nothing: litellm shares connections between all that name the same server, and keeps them."""


def _price(response: Any) -> float | None:
    """The price by litellm's table, where it and the number of tokens are known."""
    dollars = response._hidden_params.get("response_cost")  # documented as the place of the cost
    return dollars or None  # 0 stands for no price in the table, and for tokens that were not counted


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
