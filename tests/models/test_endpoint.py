"""What is particular to an OpenAI-compatible endpoint."""

from __future__ import annotations

from contextlib import closing

import pytest
from chat_server import ChatServer, answer, fail

from vulcan.errors import UserError
from vulcan.models.base import Message, ModelRefused, Request
from vulcan.models.open import open_proposer
from vulcan.models.providers import EndpointModel

REQUEST = Request(0, 0, (Message("user", "Write one."),), (), 1)


def test_a_server_that_needs_no_key_is_sent_none() -> None:
    with ChatServer([answer("hello")]) as server, closing(open_proposer("toy", api_base=server.url)) as model:
        assert isinstance(model, EndpointModel)
        assert model.propose(REQUEST).text == "hello"
        assert server.requests[0].headers["authorization"] == "Bearer none"


def test_a_server_that_does_need_a_key_leads_to_the_variable() -> None:
    with (
        ChatServer([fail(401, "who are you?")]) as server,
        closing(open_proposer("toy", api_base=server.url)) as model,
        pytest.raises(ModelRefused, match=r"set OPENAI_API_KEY to a key .* \(it is not set\)"),
    ):
        model.propose(REQUEST)


def test_a_password_in_the_address_is_not_shown() -> None:
    with ChatServer([fail(404, "no such model")]) as server:
        address = server.url.replace("http://", "http://alice:opensesame@")
        with (
            closing(open_proposer("toy", api_base=address)) as model,
            pytest.raises(ModelRefused) as caught,
        ):
            model.propose(REQUEST)
    assert server.url in str(caught.value)
    assert "opensesame" not in str(caught.value)


@pytest.mark.parametrize("address", ["localhost:8000/v1", "ftp://host/v1", "http://", "", "http://host:no/v1"])
def test_an_address_that_cannot_be_right_is_refused(address: str) -> None:
    with pytest.raises(UserError, match="is not the address of a server"):
        open_proposer("toy", api_base=address)


def test_a_key_that_cannot_be_right_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-“quoted”")
    with pytest.raises(UserError, match="OPENAI_API_KEY") as caught:
        open_proposer("toy", api_base="http://localhost:8000/v1")
    assert "quoted" not in str(caught.value)
