"""What calls cost, checked against litellm's own sums."""

from __future__ import annotations

from typing import Any

import pytest
from effort import few
from hypothesis import given
from hypothesis import strategies as st

from vulcan.models.base import Message
from vulcan.models.prices import Price, expected_tokens, find_price, load_litellm, max_call_cost, max_prompt_tokens

CHAT = (Message("system", "You write policies."), Message("user", "Write one." * 100))


@pytest.fixture(scope="module")
def litellm() -> Any:
    return load_litellm()


@pytest.mark.parametrize("tokens_in", few([1_000, 150_000, 250_000, 600_000], 2))
def test_no_priced_chat_model_costs_more_than_the_most(litellm: Any, tokens_in: int) -> None:
    compared = 0
    for name, entry in litellm.model_cost.items():
        price = find_price(name)
        plain = not set("/:") & set(name) and entry.get("litellm_provider") in {"openai", "anthropic"}
        asked_for = plain or name.startswith(("gemini/", "openrouter/", "xai/", "mistral/", "deepseek/"))
        if not price.known or entry.get("mode") != "chat" or not asked_for:
            continue
        theirs = sum(litellm.cost_per_token(model=name, prompt_tokens=tokens_in, completion_tokens=5_000))
        ours, most = price.dollars(tokens_in, 5_000), price.max_dollars(tokens_in, 5_000)
        assert ours is not None
        assert most is not None
        assert theirs <= most * (1 + 1e-9), name
        assert theirs <= ours * (1 + 1e-9), name
        compared += 1
    assert compared > 100


@pytest.mark.parametrize(
    "name", ["openrouter/no/such", "openai/no-such-model", "anthropic/gpt-4o", "ollama/llama3", "toy"]
)
def test_what_the_table_does_not_price_is_unknown(name: str) -> None:
    price = find_price(name)
    assert not price.known
    assert price.dollars(1, 1) is None
    assert max_call_cost(price, CHAT, 10).dollars is None


def test_the_cost_before_a_call_is_prompt_and_longest_reply() -> None:
    price = Price({"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-5, "input_cost_per_request": 0.5})
    size = len("You write policies.") + len("Write one.") * 100
    most = max_call_cost(price, CHAT, 1000)
    assert expected_tokens(CHAT) == 255
    assert most.tokens == size + 2 * 16 + 256 + 1000
    assert price.dollars(255, 500) == pytest.approx(0.5 + 255e-6 + 5e-3)
    assert most.dollars == pytest.approx(0.5 + 1e-6 * (size + 2 * 16 + 256) + 0.01)


@given(st.lists(st.text(max_size=200), max_size=4))
def test_no_tokeniser_counts_more_tokens_than_the_most(contents: list[str]) -> None:
    messages = tuple(Message("user", content) for content in contents)
    chat = [{"role": m.role, "content": m.content.encode("utf-8", "replace").decode()} for m in messages]
    counted = load_litellm().token_counter(model="gpt-4o", messages=chat)
    assert counted <= max_prompt_tokens(messages)
