"""A model behind an OpenAI-compatible endpoint, such as a local vLLM, llama.cpp or Ollama server."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

import openai

from vulcan.errors import UserError
from vulcan.models.base import Message, ModelRefused
from vulcan.models.budget import Budget
from vulcan.models.completion import Completion, read_completion
from vulcan.models.faults import Caller
from vulcan.models.prices import find_price
from vulcan.models.redact import shown_url
from vulcan.models.remote import RemoteModel, as_chat
from vulcan.models.retry import PassingFault, Wait
from vulcan.models.settings import CallSettings

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
