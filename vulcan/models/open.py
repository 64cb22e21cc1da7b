"""Find the proposer that a model's name stands for."""

from __future__ import annotations

from vulcan.errors import UserError
from vulcan.models.accommodation import Changes
from vulcan.models.base import Proposer
from vulcan.models.budget import Budget
from vulcan.models.call_settings import CallSettings
from vulcan.models.prices import UNKNOWN, Price


def open_proposer(
    name: str,
    *,
    api_base: str | None = None,
    settings: CallSettings | None = None,
    budget: Budget | None = None,
    price: Price = UNKNOWN,
    changes: Changes | None = None,
) -> Proposer:
    """Open the model `name` of the OpenAI-compatible server at `api_base`, or else of the provider in its name.

    `price` is for a model that litellm's price table does not have; `changes` remembers what models refuse.
    Makes no call; the caller closes the proposer.
    Raises UserError for an invalid name, address or key, and for a budget that cannot be enforced.
    """
    if not name.strip():
        raise UserError("the model has no name: give one, such as openai/gpt-4o, with --model")
    from vulcan.models.providers import (  # with the openai package, which takes half a second
        EndpointModel,
        LitellmModel,
    )

    settings = settings or CallSettings()
    if api_base is not None:
        return EndpointModel(name, api_base, settings, budget=budget, price=price, changes=changes)
    return LitellmModel(name, settings, budget=budget, price=price, changes=changes)
