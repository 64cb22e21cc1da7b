"""Replies out of another run's record."""

from __future__ import annotations

import hashlib
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vulcan.errors import UserError
from vulcan.models import Message, Proposer, Reply, Request
from vulcan.models.base import Recorded, content_hash
from vulcan.models.open import Replay


def chat(*contents: str) -> tuple[Message, ...]:
    return (Message("system", "You write policies."), *(Message("user", content) for content in contents))


def reply(text: str) -> Reply:
    return Reply(text, "toy-2025", "stop", 100, 20, 0.01, 3.25, "toy")


def request(proposal: int, messages: tuple[Message, ...], turn: int = 0) -> Request:
    return Request(proposal, turn, messages, (), 1)


RECORDED = [
    Recorded(1, 0, chat("first\nsecond"), reply("one")),
    Recorded(1, 1, chat("first\nsecond", "repair"), reply("one, repaired")),
    Recorded(2, 0, chat("same"), reply("two")),
    Recorded(3, 0, chat("same"), reply("three")),
]


def refusal(asked: Request) -> str:
    with pytest.raises(UserError) as caught:
        Replay(RECORDED).propose(asked)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_prompt_gets_the_reply_recorded_for_it_whole() -> None:
    replay = Replay(iter(RECORDED))
    assert isinstance(replay, Proposer)
    assert replay.propose(request(1, chat("first\nsecond"))) == reply("one")
    assert replay.propose(request(1, chat("first\nsecond", "repair"), turn=1)) == reply("one, repaired")


def test_a_prompt_is_known_by_its_content_whatever_its_number() -> None:
    assert Replay(RECORDED).propose(request(40, chat("first\nsecond"))) == reply("one")


def test_the_same_prompt_twice_is_told_apart_by_its_proposal() -> None:
    replay = Replay(reversed(RECORDED))
    assert replay.propose(request(2, chat("same"))).text == "two"
    assert replay.propose(request(3, chat("same"))).text == "three"
    line = refusal(request(9, chat("same")))
    assert "proposal 9, turn 0, has a prompt that was recorded 2 times, but for other proposals (2, 3)" in line


def test_a_prompt_that_changed_is_shown_where_it_differs() -> None:
    line = refusal(request(1, chat("first\nnew second")))
    assert line.startswith("replay: proposal 1, turn 0, has another prompt than the recorded one: message 2 (user)")
    assert "differs in line 2, which is 'new second' and was 'second'" in line
    assert "replay with the recorded run's task, options, seed and version of Vulcan" in line
    assert "differs in its length, 3 lines for 2" in refusal(request(1, chat("first\nsecond\nthird")))
    assert "it has 3 messages and had 2" in refusal(request(1, chat("first\nsecond", "more")))
    other = (Message("user", "You write policies."), *chat("first\nsecond")[1:])
    assert "message 1 is of the user and was of the system" in refusal(request(1, other))
    assert "'" + "x" * 60 + "...'" in refusal(request(1, chat("x" * 500)))


def test_a_proposal_that_was_never_made_is_named() -> None:
    assert "proposal 8, turn 2, is not among the 4 recorded calls" in refusal(request(8, chat("other"), turn=2))


def test_no_connection_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    replay = Replay(Recorded(n, 0, chat(str(n)), reply(str(n))) for n in range(200))
    with ThreadPoolExecutor(32) as threads:
        texts = list(threads.map(lambda n: replay.propose(request(n, chat(str(n)))).text, range(200)))
    assert texts == [str(n) for n in range(200)]


def test_the_hash_is_sha_256_of_lengths_roles_and_contents() -> None:
    assert content_hash(chat("é")) == hashlib.sha256(b"6:system19:You write policies.4:user2:\xc3\xa9").hexdigest()


messages = st.lists(
    st.builds(Message, st.sampled_from(["system", "user", "assistant"]), st.text(max_size=6)), max_size=4
)


@given(messages, messages)
def test_only_equal_chats_have_equal_hashes(one: list[Message], other: list[Message]) -> None:
    assert (content_hash(tuple(one)) == content_hash(tuple(other))) == (one == other)
