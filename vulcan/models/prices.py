"""The cost of a call, and an upper bound on it before it is made.

Loads litellm, which takes seconds, only where a model of it is used.
"""

from __future__ import annotations

import logging
import math
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vulcan.models.base import Message


def load_litellm() -> Any:
    """Import litellm, silenced and kept off the network."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # the shipped price table, not a download
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # else it reads a .env file into the environment
    import litellm

    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        # It writes on standard output, the place of --json; what goes wrong is raised as well
        logging.getLogger(name).setLevel(logging.CRITICAL)

    litellm.telemetry = False
    litellm.suppress_debug_info = True  # else it prints on standard output
    return litellm


BYTES_PER_TOKEN = 4
"""Estimate for prompts of English and Python, about what vocabularies of 100,000 tokens and more reach."""

_TOKENS_PER_CHAT = 256  # what a server's chat template may put before and after the messages
_TOKENS_PER_MESSAGE = 16
_ABOVE = re.compile(r"_above_(\d+)k_tokens\Z")
_INPUT = ("input_cost_per_token",)
_INPUT_AT_MOST = (*_INPUT, "cache_creation_input_token_cost")
_OUTPUT = ("output_cost_per_token", "output_cost_per_reasoning_token")


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one or more calls. `dollars` is None where the price is not known; `tokens` are those in and out."""

    dollars: float | None
    tokens: int


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars per token from litellm's price table; `entry` is empty where the price is not known."""

    entry: Mapping[str, object]

    @property
    def known(self) -> bool:
        """True if the price is known; 0 counts as unknown, for the table has it for models of self-run servers."""
        return _rate(self.entry, _INPUT, 0) > 0 and _rate(self.entry, _OUTPUT, 0) > 0

    @property
    def max_reply_tokens(self) -> int | None:
        """The model's limit of tokens per reply, where the table has it."""
        tokens = self.entry.get("max_output_tokens")
        return tokens if isinstance(tokens, int) and tokens > 0 else None

    def dollars(self, tokens_in: int, tokens_out: int) -> float | None:
        """Return the list price, including surcharges for long prompts and no cache discounts."""
        return self._sum(_INPUT, tokens_in, tokens_out)

    def max_dollars(self, tokens_in: int, tokens_out: int) -> float | None:
        """Return the list price with every prompt token charged as a cache write."""
        return self._sum(_INPUT_AT_MOST, tokens_in, tokens_out)

    def _sum(self, inputs: tuple[str, ...], tokens_in: int, tokens_out: int) -> float | None:
        if not self.known:
            return None
        a_call = _number(self.entry.get("input_cost_per_request"))
        dear_in, dear_out = _rate(self.entry, inputs, tokens_in), _rate(self.entry, _OUTPUT, tokens_in)
        return a_call + tokens_in * dear_in + tokens_out * dear_out


UNKNOWN = Price({})


def price_per_million(dollars_in: float, dollars_out: float) -> Price:
    """Return the price of a model that costs so many dollars per million tokens."""
    return Price({"input_cost_per_token": dollars_in / 1e6, "output_cost_per_token": dollars_out / 1e6})


def find_price(name: str, api_base: str | None = None) -> Price:
    """Look up the model's price in litellm's shipped table; UNKNOWN if absent, or for a server of one's own."""
    if api_base is not None:
        return UNKNOWN
    table: Mapping[str, Mapping[str, object]] = load_litellm().model_cost
    provider, _, rest = name.partition("/")
    if name in table:
        return Price(table[name])
    # The table has most of a provider's models without the provider before them
    entry = table.get(rest, {})
    return Price(entry) if str(entry.get("litellm_provider", "")).startswith(provider) else UNKNOWN


def expected_tokens(messages: Iterable[Message]) -> int:
    """Estimate the tokens of the messages: one per 4 bytes."""
    return math.ceil(_bytes(messages) / BYTES_PER_TOKEN)


def max_prompt_tokens(messages: Iterable[Message]) -> int:
    """Bound the tokens of the messages from above, for any model.

    A token stands for at least one byte of UTF-8, plus the marks between messages. A tokenizer's own count would
    be closer but no bound, since most providers do not publish theirs.
    """
    told = tuple(messages)
    return _bytes(told) + _TOKENS_PER_MESSAGE * len(told) + _TOKENS_PER_CHAT


def max_call_cost(price: Price, messages: Iterable[Message], max_tokens: int) -> Cost:
    """Bound the cost of a call whose reply is limited to that many tokens."""
    tokens_in = max_prompt_tokens(messages)
    return Cost(price.max_dollars(tokens_in, max_tokens), tokens_in + max_tokens)


def format_price(dollars: float | None) -> str:
    """Format dollars for people: `$0.0123`, or `unknown`."""
    if dollars is None:
        return "unknown"
    return f"${dollars:.2f}" if dollars >= 1 or dollars == 0 else f"${dollars:.3g}"


def _bytes(messages: Iterable[Message]) -> int:
    return sum(len(message.content.encode("utf-8", "surrogatepass")) for message in messages)


def _rate(entry: Mapping[str, object], names: tuple[str, ...], tokens_in: int) -> float:
    """Return the highest rate that applies to a prompt of that many tokens."""
    rates = [0.0]
    for key, value in entry.items():
        above = _ABOVE.search(key)
        plain = key[: above.start()] if above else key
        if plain in names and (above is None or tokens_in > 1000 * int(above[1])):
            rates.append(_number(value))
    return max(rates)


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and abs(value) <= sys.float_info.max else 0.0
