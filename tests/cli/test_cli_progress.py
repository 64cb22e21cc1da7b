"""How a search is shown on the command line: JSON lines, plain lines, nothing; and what does not go together."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
from typing import Any

import pytest
from chat_server import ChatServer, fail
from console import COMMAND, MOOD_TASK, Console, one_line
from json_page import document_pages
from rich.cells import cell_len

from vulcan.cli.launch import progress_form
from vulcan.errors import UserError
from vulcan.store.events import EVENTS

FEW = ("--task", MOOD_TASK, "--executor", "local", "--workers", "1", "--tune", "0", "--simplify", "0")
THREE = ("search", *FEW, "--budget-candidates", "3")


def read_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line, parse_constant=pytest.fail) for line in text.splitlines()]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> tuple[Console, list[dict[str, Any]]]:
    vulcan = Console(tmp_path_factory.mktemp("lines"))
    result = vulcan.good(*THREE, "--progress", "json")
    assert result.stderr == ""
    return vulcan, read_lines(result.stdout)


def test_every_event_is_a_line_and_the_last_is_the_summary(lines: tuple[Console, list[dict[str, Any]]]) -> None:
    vulcan, documents = lines
    kinds = [document["kind"] for document in documents]
    assert kinds[0] == "Opened"
    assert kinds[-1] == "Ended"
    assert kinds.count("CandidateJudged") == 2 + 3  # two policies come with the task
    assert set(kinds) <= {"Opened", "Preparing", "Begun", "Waiting", "Ended", *EVENTS}
    assert documents[-1]["data"] == vulcan.document("show", documents[0]["data"]["run"])
    seconds = [document["seconds"] for document in documents]
    assert seconds == sorted(seconds)
    last = documents[-1]["progress"]
    assert (last["completed"], last["total"]) == (3, 3)
    assert last["gap"] == last["best"]["score"] - last["best_baseline"]["score"]


def test_the_page_on_json_explains_every_key_of_a_line(lines: tuple[Console, list[dict[str, Any]]]) -> None:
    _, documents = lines
    section = document_pages()["reference/json/search-progress-json.md"]
    named = {word for code in re.findall(r"`([^`]+)`", section) for word in re.findall(r"[\w-]+", code)}
    for document in documents:
        assert document["kind"] in named
        assert set(document) <= named
        assert set(document["progress"] or ()) <= named
        if document["kind"] != "Ended":  # that one is the document of another section
            assert set(document["data"]) <= named, document["kind"]


def test_lines_can_be_read_while_the_search_goes_on(vulcan: Console) -> None:
    search = vulcan.start("search", *FEW, "--budget-candidates", "200", "--progress", "json")
    assert search.stdout is not None
    first = json.loads(search.stdout.readline())
    assert first["kind"] == "Opened"
    assert search.poll() is None
    assert first["data"]["run"] == f"runs/{next((vulcan.directory / 'runs').iterdir()).name}"
    search.kill()
    search.communicate()


def test_a_search_that_fails_says_so_in_its_last_line(vulcan: Console) -> None:
    with ChatServer([fail(401, "no such key")]) as server:
        result = vulcan(*THREE, "--model", "toy", "--api-base", server.url, "--progress", "json", OPENAI_API_KEY="sk-x")
    assert result.returncode == 2
    last = read_lines(result.stdout)[-1]
    assert (last["kind"], last["data"]["reason"]) == ("Failed", "error")
    assert result.stderr.splitlines()[-1] == f"vulcan: {last['data']['message']}"


def test_plain_lines_go_to_standard_error_beside_a_json_document(vulcan: Console) -> None:
    result = vulcan.good(*THREE, "--progress", "plain", "--json")
    summary = json.loads(result.stdout)
    told = result.stderr.splitlines()
    assert told[0].startswith(f"run {summary['run']}: task mood_task, ")
    assert any(re.match(r"3/3 candidates \| best \d\.\d{4} \(candidate \d+\) \| best baseline ", line) for line in told)
    assert f"candidate {summary['best']['candidate']} is the winner" in result.stderr


def test_what_does_not_go_together_is_refused_before_anything_is_done(vulcan: Console) -> None:
    assert "leave it out, or --progress plain" in one_line(vulcan(*THREE, "--quiet", "--progress", "plain"))
    assert list(vulcan.directory.iterdir()) == []
    with pytest.raises(UserError, match="both write to standard output: leave one out"):
        progress_form("json", quiet=False, as_json=True)
    with pytest.raises(UserError, match="did you mean 'plain'"):
        progress_form("plane", quiet=False, as_json=False)
    assert progress_form("none", quiet=True, as_json=True) == "none"
    assert progress_form("plain", quiet=False, as_json=True) == "plain"
    assert progress_form(None, quiet=False, as_json=True) == "none"


class Terminal:
    """A terminal of so many columns that a command has as its standard error and output."""

    def __init__(self, vulcan: Console, columns: int) -> None:
        self._vulcan = vulcan
        self._columns = columns

    def __call__(self, *arguments: str, **environment: str) -> str:
        ours, theirs = pty.openpty()
        kept = self._vulcan.environment(COLUMNS=str(self._columns), LINES="30", **environment)
        process = subprocess.Popen(
            [COMMAND, *arguments], cwd=self._vulcan.directory, env=kept, stdin=subprocess.DEVNULL, stdout=theirs,
            stderr=theirs,
        )  # fmt: skip
        os.close(theirs)
        shown = b""
        while True:
            select.select([ours], [], [], 120)
            try:
                read = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not read:
                break
            shown += read
        os.close(ours)
        assert process.wait(60) == 0, shown
        return shown.decode()


CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
COLOUR = re.compile(r"\x1b\[(\d+;)*(3[0-7]|9[0-7]|38;5;\d+|38;2;\d+;\d+;\d+)m")


def test_a_terminal_is_drawn_on_in_colour_and_no_line_is_wider_than_it(vulcan: Console) -> None:
    shown = Terminal(vulcan, 44)(*THREE, TERM="xterm-256color")
    assert COLOUR.search(shown)
    assert "\x1b[1A" in shown, "lines are written over"
    drawn, verdict, _ = shown.partition("Undecided: ")
    assert verdict
    assert all(cell_len(line) <= 44 for line in CONTROL.sub("", drawn).replace("\r", "\n").splitlines())


def test_a_dumb_terminal_gets_plain_lines_without_a_control_character(vulcan: Console) -> None:
    shown = Terminal(vulcan, 80)(*THREE, "--progress", "rich", TERM="dumb")
    assert "\x1b" not in shown
    assert "progress in plain lines" in shown
    assert "3/3 candidates | best" in shown
