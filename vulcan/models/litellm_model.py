"""A model of any provider, by litellm's name for it, such as `anthropic/claude-sonnet-4-5`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import openai

from vulcan.errors import UserError, nearest
from vulcan.models.base import Message, ModelRefused
from vulcan.models.budget import Budget
from vulcan.models.completion import Completion, read_completion
from vulcan.models.faults import Caller
from vulcan.models.litellm_package import load_litellm
from vulcan.models.prices import find_price
from vulcan.models.redact import shown_url
from vulcan.models.remote import RemoteModel, as_chat
from vulcan.models.retry import Wait
from vulcan.models.settings import CallSettings


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
            f"model {name!r}: no provider of models is known by {first!r}{nearest(first, known)}; write the "
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
