"""docs/json.md has every key that the commands print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from console import LRU, MOOD_TASK, Console
from locations import ROOT

PAGE = ROOT / "docs" / "json.md"
VALUES = {"metrics", "baselines", "bounds", "settings", "files"}
"""What has keys that are names of the user's."""


def section(command: str) -> str:
    """The part of the page that stands under a heading with the command in it."""
    for part in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        if f"`vulcan {command}`" in part.partition("\n")[0]:
            return part
    raise AssertionError(f"docs/json.md has no section for vulcan {command}")


def keys(document: Any) -> Iterator[str]:
    match document:
        case dict():
            for name, value in document.items():
                yield name
                if not (name in VALUES and isinstance(value, dict)):
                    yield from keys(value)
        case list():
            for value in document:
                yield from keys(value)


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    vulcan = Console(tmp_path_factory.mktemp("page"))
    summary = vulcan.search("--budget-candidates", "3", "--control", "--crowd", "3", "--cheap")
    asking = vulcan.document("search", "--task", MOOD_TASK, "--model", "ask")["run"]
    asked = vulcan.document("ask", asking)
    (vulcan.directory / "reply.md").write_text("no")
    reply = ("--proposal", asked["proposal"], "--file", "reply.md")
    (vulcan.directory / "lru.py").write_text("SPARE = 2\n" + LRU)
    policy = ("lru.py", "--task", "cache_eviction")
    return {
        "check": vulcan.document("check", *policy),
        "verify": vulcan.document("verify", *policy),
        "search": summary,
        "search --dry-run": vulcan.document("search", "--task", MOOD_TASK, "--dry-run", "--cheap"),
        "ask": asked,
        "tell": vulcan.document("tell", asking, *reply),
        "show RUN CANDIDATE": vulcan.document("show", summary["run"], "3"),
        "runs": vulcan.document("runs"),
        "tasks": vulcan.document("tasks"),
    }


COMMANDS = (
    "search", "search --dry-run", "ask", "tell", "show RUN CANDIDATE", "runs", "tasks", "check", "verify",
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_every_key_is_explained(documents: dict[str, Any], command: str) -> None:
    page = section(command)
    named = {word for code in re.findall(r"`([^`]+)`", page) for word in re.findall(r"[\w-]+", code)}
    assert set(keys(documents[command])) - named == set()
