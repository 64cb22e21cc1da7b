"""Calls of tools are the same as text and as functions, whatever is in them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vulcan.models.base import Message
from vulcan.models.completion import read_completion
from vulcan.models.tool_calls import ToolCall, as_functions, as_text, read_calls

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=40)
SOURCE = st.builds("def f(x):\n    return {!r}\n".format, TEXT)
CALLS = st.builds(
    ToolCall,
    st.sampled_from(["measure", "compare", "notes"]),
    st.dictionaries(st.sampled_from(["note", "feature"]), TEXT)
    | st.fixed_dictionaries({"program": SOURCE}, optional={"other": SOURCE})
    | st.fixed_dictionaries({"program": TEXT, "other": TEXT}),
)


@given(st.lists(CALLS, min_size=1, max_size=3))
def test_a_call_is_read_as_it_was_written_also_by_way_of_functions(calls: list[ToolCall]) -> None:
    text = "Look:\n\n" + "\n\n".join(call.text() for call in calls)
    read = read_calls(text)
    assert [(call.name, {k: v.rstrip() for k, v in call.arguments.items()}) for call in read] == [
        (call.name, {k: v.rstrip() for k, v in call.arguments.items()}) for call in calls
    ]
    chat = [Message("assistant", text), *(Message("tool", str(n)) for n in range(len(calls)))]
    first, *results = as_functions(chat)
    assert [result["tool_call_id"] for result in results] == [call["id"] for call in first["tool_calls"]]
    answer = {"choices": [{"message": first, "finish_reason": "tool_calls"}]}
    assert read_calls(read_completion(answer, "m", calls=True).text) == read


@pytest.mark.parametrize("written", ["{", "[1]", '{"a": }', "words"])
def test_arguments_that_cannot_be_read_are_said_so_and_sent_back_as_none(written: str) -> None:
    function = {"name": "measure", "arguments": written}
    answer = {"choices": [{"message": {"content": None, "tool_calls": [{"function": function}]}}]}
    (call,) = read_calls(text := read_completion(answer, "m", calls=True).text)
    assert call.name == "measure"
    assert "JSON" in call.problem
    sent, _ = as_functions([Message("assistant", text), Message("tool", "error")])
    assert json.loads(sent["tool_calls"][0]["function"]["arguments"]) == {}


def test_without_functions_the_results_are_one_turn_of_the_user() -> None:
    results = [Message("tool", "a"), Message("tool", "b")]
    chat = [Message("user", "?"), Message("assistant", ToolCall("notes", {}).text()), *results]
    assert as_text(chat)[2:] == [{"role": "user", "content": "a\n\nb"}]
    assert read_calls("Here is ```tool``` in a sentence, and\n```python\nx = 1\n```") == ()
