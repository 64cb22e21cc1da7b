"""`vulcan search --dry-run`: what a search will cost, and its first prompt, with no call made."""

from __future__ import annotations

import math
from contextlib import closing

import pytest
from chat_server import ChatServer, answer
from console import MOOD_TASK, Console

from vulcan.store.runs import open_store

DRY = ("search", "--task", MOOD_TASK, "--dry-run")
PROGRAM = "```python\ndef decide(load, room):\n    return load\n```"


def test_no_model_is_called_and_nothing_is_written(vulcan: Console) -> None:
    with ChatServer([answer(PROGRAM)]) as server:
        document = vulcan.document(*DRY, "--model", "toy", "--api-base", server.url)
        assert server.requests == []
    assert list(vulcan.directory.iterdir()) == []
    (model,) = document["models"]
    assert (model["model"], model["problem"], model["dollars"]) == ("toy", None, None)
    text = vulcan.good(*DRY, "--model", "toy", "--api-base", "http://127.0.0.1:1/v1").stdout
    assert "unknown" in text


def test_the_first_prompt_is_the_one_that_the_search_sends(vulcan: Console) -> None:
    document = vulcan.document(*DRY, "--seed", "4", "--model", "toy", "--api-base", "http://127.0.0.1:1/v1")
    (message,) = document["messages"]
    assert document["prompt_tokens"] == math.ceil(len(message["content"].encode()) / 4)
    with ChatServer([answer(PROGRAM)]) as server:
        plan = ("--seed", "4", "--model", "toy", "--api-base", server.url, "--budget-candidates", "1")
        run = vulcan.search(*plan)["run"]
        assert server.requests[0].body["messages"] == document["messages"]
    with closing(open_store(vulcan.directory / run)) as store:
        assert next(iter(store.calls())).messages == (("user", message["content"]),)
    text = vulcan.good(*DRY, "--seed", "4", "--model", "toy", "--api-base", "http://127.0.0.1:1/v1").stdout
    assert text.rstrip().endswith(message["content"].rstrip())


@pytest.mark.slow
def test_what_it_costs_by_litellms_table(vulcan: Console) -> None:
    plan = ("--rounds", "5", "--samples", "10", "--model", "openai/gpt-4o-mini", "--model", "openai/gpt-4o")
    document = vulcan.document(*DRY, *plan, OPENAI_API_KEY="sk-none")
    assert (document["proposals"], document["proposals_with_control"]) == (50, 50)
    small, large = document["models"]
    assert (small["problem"], small["tokens_out"]) == (None, 800)
    assert small["tokens_in"] == document["prompt_tokens"] == large["tokens_in"]
    # dollars a million tokens, in and out
    for model, (dear_in, dear_out) in ((small, (0.15, 0.6)), (large, (2.5, 10.0))):
        each = (model["tokens_in"] * dear_in + 800 * dear_out) / 1e6
        assert model["dollars"] == pytest.approx(each)
    assert document["budgets"] == [{"name": "plan", "limit": 50, "proposals": 50}]
    short = vulcan.document(*DRY, *plan, "--max-tokens", "100", OPENAI_API_KEY="sk-none")
    assert (short["proposals"], short["models"][0]["tokens_out"]) == (50, 100)
