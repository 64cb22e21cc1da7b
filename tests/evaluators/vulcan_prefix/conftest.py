"""A recorded trace of prompts, which the caches of servers replay."""

import pytest
from real_data import real_data

from vulcan_traces.prompts import PromptTrace, load_prompts


@pytest.fixture(scope="session")
def mooncake() -> PromptTrace:
    return load_prompts(str(real_data("cache", "mooncake", "conversation_trace.jsonl")))
