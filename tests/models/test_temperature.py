"""The temperature over a search, as it is written and as it is sent."""

from __future__ import annotations

from contextlib import closing

import pytest
from chat_server import ChatServer, answer
from hypothesis import given
from hypothesis import strategies as st

from vulcan.errors import UserError
from vulcan.models import Message, Request, open_proposer
from vulcan.models.call_settings import CallSettings, Temperature, parse_temperature


@pytest.mark.parametrize(
    ("text", "at_the_ends"),
    [("0.7", (0.7, 0.7)), ("1.1:0.4", (1.1, 0.4)), ("0:2", (0.0, 2.0)), (" 1 : .5 ", (1.0, 0.5))],
)
def test_one_number_or_the_first_and_the_last(text: str, at_the_ends: tuple[float, float]) -> None:
    parsed = parse_temperature(text)
    assert (parsed.at(0.0), parsed.at(1.0)) == at_the_ends


@pytest.mark.parametrize("text", ["", "warm", "1.1:", ":0.4", "1:2:3", "nan", "inf:0", "1.1-0.4", "0,7"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UserError, match=r"such as 1\.1:0\.4") as caught:
        parse_temperature(text)
    assert repr(text) in str(caught.value)


@given(st.floats(0, 2), st.floats(0, 2), st.floats(-1, 2))
def test_it_stays_between_its_ends_whatever_the_progress(first: float, last: float, progress: float) -> None:
    value = Temperature(first, last).at(progress)
    assert min(first, last) - 5e-5 <= value <= max(first, last) + 5e-5


def test_the_server_is_sent_the_temperature_of_the_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    settings = CallSettings(temperature=parse_temperature("1.1:0.4"))
    with (
        ChatServer([answer("hello")]) as server,
        closing(open_proposer("m", api_base=server.url, settings=settings)) as m,
    ):
        for progress in (0.0, 0.5, 1.0):
            m.propose(Request(1, 0, (Message("user", "Write one."),), (), 1, progress=progress))
    assert [request.body["temperature"] for request in server.requests] == [1.1, 0.75, 0.4]
