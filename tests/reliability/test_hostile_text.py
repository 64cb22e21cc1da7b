"""A model and its server say what a terminal or a page would obey; nothing that is shown does."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest
from chat_server import Behaviour, ChatServer, Received, answer, fail
from console import MOOD_TASK, Console
from html_elements import elements

from vulcan.store.events import CandidateJudged
from vulcan.store.runs import open_store

CLEAR, TITLE, CLIPBOARD = "\x1b[2J\x1b[H", "\x1b]0;owned\x07", "\x1b]52;c;b3duZWQ=\x07"
SCRIPT = "</script></code></pre><script>alert('owned')</script><img src=x onerror=\"alert('owned')\">"
FENCE = "```\n# owned\n<b onclick=owned()>\n"
HOSTILE = f"{CLEAR}{TITLE}{CLIPBOARD}\x9b31m\u202eowned\u2066 {SCRIPT}"
UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Hostile:
    """Each answer carries it in its prose, and in its program where the language lets it through; an error too."""

    def __init__(self) -> None:
        self.answers = 0

    def __call__(self, request: Received) -> Behaviour:
        self.answers += 1
        match self.answers % 4:
            case 1:
                return fail(500, f"down {HOSTILE}", Retry_After="0")
            case 2:
                body = f"    # {HOSTILE}\n    return min(load, room) * 1.{self.answers}\n"
                program = f'"""{HOSTILE}"""\n\n\ndef decide(load, room):\n{body}'
            case 3:
                program = f"def decide(load, room):\n    return load.{'x' * 9} + '{HOSTILE}'\n"
            case _:
                program = f"def decide(load, room):\n    '''{FENCE}'''\n    return min(load, room) * 0.{self.answers}\n"
        return answer(f"{HOSTILE}\n\n````python\n{program}````\n", model=f"toy{HOSTILE}", finish=f"stop{HOSTILE}")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What every command shows of a run with such a model."""
    vulcan = Console(tmp_path_factory.mktemp("hostile"))
    with ChatServer(Hostile()) as server:
        plan = ("--rounds", "2", "--samples", "3", "--tune", "0", "--simplify", "0", "--repairs", "1", "--seed", "3")
        plan += ("--executor", "local", "--workers", "1", "--in-flight", "1")
        done = vulcan.good("search", "--task", MOOD_TASK, "--model", "toy", "--api-base", server.url, *plan)
    run = next(path for path in (vulcan.directory / "runs").iterdir())
    said = {"search": done.stdout + done.stderr}
    with closing(open_store(run)) as store:
        judged = [event for event in store.events() if isinstance(event, CandidateJudged) and "owned" in event.source]
    accepted = next(event.candidate for event in judged if event.verdict == "scored")
    rejected = next(event.candidate for event in judged if event.verdict == "rejected")
    commands: list[tuple[str | Path, ...]] = [("show", run), ("runs",)]
    commands += [("show", run, str(accepted)), ("show", run, str(rejected))]
    for command in commands:
        result = vulcan.good(*command)
        said[" ".join(map(str, command))] = result.stdout + result.stderr
    vulcan.good("report", run, "-o", "report.html")
    said["html"] = (vulcan.directory / "report.html").read_text(encoding="utf-8")
    return said


def test_a_terminal_is_sent_nothing_that_it_would_obey(shown: dict[str, str]) -> None:
    for command, text in shown.items():
        if command != "html":
            assert UNFIT.findall(text) == [], command
    together = "\n".join(shown.values())
    assert "\\x1b[2J" in together  # it was there, and is shown for what it is
    assert "\\u202eowned" in together
    assert "down \\x1b[2J" in shown["search"]  # what the server said of its fault


def test_a_page_has_no_element_that_a_model_wrote(shown: dict[str, str]) -> None:
    page = elements(shown["html"])
    assert "owned" in shown["html"]  # the winner's program, or what was said of others
    assert [name for element in page for name in element.attributes if name.startswith("on")] == []
    assert "img" not in {element.name for element in page}
    assert [e.text for e in page if e.name == "script" and e.text.startswith("alert(")] == []
