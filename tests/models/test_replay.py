"""Replies out of another run's record."""

from __future__ import annotations

import pytest

from vulcan.models import Message, Proposer, Reply, Request
from vulcan.models.base import Recorded
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


def difference(asked: Request, caplog: pytest.LogCaptureFixture) -> str:
    """What is logged of a prompt that is answered as recorded, though it differs."""
    caplog.clear()
    replay = Replay(RECORDED)
    assert replay.propose(asked) == reply("one")
    replay.close()
    (line,) = caplog.messages
    assert "\n" not in line
    return line


def test_a_reply_is_found_by_proposal_and_turn(caplog: pytest.LogCaptureFixture) -> None:
    replay = Replay(iter(RECORDED))
    assert isinstance(replay, Proposer)
    for call in RECORDED:
        assert replay.propose(request(call.proposal, call.messages, call.turn)) == call.reply
    replay.close()
    assert caplog.messages == []


def test_changed_prompts_are_counted_and_the_first_difference_is_shown(caplog: pytest.LogCaptureFixture) -> None:
    line = difference(request(1, chat("first\nnew second")), caplog)
    assert "1 prompt differs" in line
    assert "proposal 1, turn 0: message 2 (user) differs in line 2, which is 'new second' and was 'second'" in line
    assert "differs in its length, 3 lines for 2" in difference(request(1, chat("first\nsecond\nthird")), caplog)
    assert "it has 3 messages and had 2" in difference(request(1, chat("first\nsecond", "more")), caplog)
    other = (Message("user", "You write policies."), *chat("first\nsecond")[1:])
    assert "message 1 is of the user and was of the system" in difference(request(1, other), caplog)
    assert "'" + "x" * 60 + "...'" in difference(request(1, chat("x" * 500)), caplog)
