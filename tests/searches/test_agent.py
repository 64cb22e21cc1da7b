"""A command as the model: it holds conversations in a directory of its own, and only a user can name it."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from search_parts import SEEDS, TASK, config, judged, lineup, opened, share

from vulcan.errors import UserError
from vulcan.models.agent import CommandAgent
from vulcan.models.base import Message, ModelUnavailable, Request
from vulcan.scoring import Executor
from vulcan.searches.model_pool import open_model_pool
from vulcan.store import MemoryStore
from vulcan.trust import trust_commands

AGENT = f"""\
import pathlib, sys
chat = sys.stdin.read()
turns = pathlib.Path("turns.txt")
turns.write_text((turns.read_text() if turns.exists() else "") + "x")
if "score 1.3" not in chat:
    print('''```tool
measure
```
```python
{share(1.5)}```''')
else:
    print("It held, after", turns.read_text() + '''
```python
{share(1.5)}```''')
"""


def request(text: str = "a prompt") -> Request:
    return Request(1, 0, (Message("user", text),), (), 0)


def test_a_command_holds_a_conversation_in_a_directory_of_its_own(children: Executor, tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text(AGENT)
    name = f"agent:{sys.executable} {script}"
    store = MemoryStore()
    plan: dict[str, Any] = {"strategy": "engineer", "drafts": 2, "budget_candidates": 2}
    with closing(CommandAgent(name, 60.0)) as agent:
        opened(store, config(**plan), children).run(lineup(agent))
    assert [(v.proposal, v.turn, v.verdict) for v in judged(store)] == [
        (SEEDS + 1, 0, "scored"), (SEEDS + 1, 1, "duplicate"),
    ]  # fmt: skip
    first, second = store.calls()
    assert second.reply.startswith("It held, after xx")
    assert (first.model, first.tokens_in, first.dollars) == (name, None, None)
    assert [role for role, _ in second.messages] == ["user", "assistant", "tool"]


@pytest.mark.parametrize(
    ("command", "seconds", "error", "why"),
    [
        ("no-such-command -p", 9.0, UserError, "there is no command 'no-such-command'"),
        ("sh -c 'echo of no use >&2; exit 3'", 9.0, ModelUnavailable, "status 3: of no use"),
        ("sleep 600", 0.2, ModelUnavailable, "no reply within 0.2 s"),
    ],
)
def test_a_command_that_fails_says_why_in_a_line(
    command: str, seconds: float, error: type[Exception], why: str
) -> None:
    with pytest.raises(error, match=why), closing(CommandAgent(f"agent:{command}", seconds)) as agent:
        agent.propose(request())


def test_a_command_is_found_from_where_the_search_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.sh").write_text("#!/bin/sh\necho said\n")
    (tmp_path / "mine.sh").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    with closing(CommandAgent("agent:./mine.sh", 9.0)) as agent:
        assert agent.propose(request()).text == "said\n"


def test_only_a_command_that_the_user_has_named_is_run() -> None:
    chosen = replace(config(), model=("agent:touch /tmp/pwned",))
    with pytest.raises(UserError, match=r"nobody has named the command 'agent:touch /tmp/pwned'"):
        open_model_pool(TASK, chosen)
    trust_commands(["agent:true"])
    open_model_pool(TASK, replace(config(), model=("agent:true",))).close()
    with pytest.raises(UserError, match="counts no tokens"):
        open_model_pool(TASK, replace(config(), model=("agent:true",), budget_dollars=1.0))
