"""A key that a search is given is nowhere but in the header of its calls: in no file, log, prompt or child."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from chat_server import Behaviour, ChatServer, Received, answer, fail
from console import Console
from disturbed import SEARCH as WHOLE
from disturbed import only_run, reply_to

from vulcan.models.redact import redact, shown_url

SEARCH = (*WHOLE, "--rounds", "1", "--samples", "4", "--tune", "0", "--simplify", "0")
KEY = "sk-test-4f7c2b9e01d8435a"
OTHER = "hunter2hunter2"
ENVIRONMENT = {"OPENAI_API_KEY": KEY, "MY_DATABASE_PASSWORD": OTHER, "HF_TOKEN": OTHER + "-token"}
SECRET = re.compile(f"{KEY}|{OTHER}|{KEY[3:]}".encode())


class Echo:
    """A server that repeats the key it was sent, in answers and in errors."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self._seen: set[str] = set()

    def __call__(self, request: Received) -> Behaviour:
        self.keys.add(request.headers["authorization"])
        prompt = json.dumps(request.body["messages"])
        assert not SECRET.search(prompt.encode())
        if prompt not in self._seen and len(self._seen) < 3:
            self._seen.add(prompt)
            return fail(500, f"the key {KEY} is known, but {OTHER} is down", Retry_After="0")
        return answer(f"You are {KEY}, and {OTHER}.\n{reply_to(prompt)}", model=f"model-of-{KEY}", finish=f"{KEY}")


def everything_in(place: Path) -> dict[str, bytes]:
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def leaks(place: Path) -> list[str]:
    return [name for name, content in everything_in(place).items() if SECRET.search(content)]


def test_a_key_is_in_no_file_and_no_output_though_the_server_repeats_it(vulcan: Console) -> None:
    echo = Echo()
    environment = {**ENVIRONMENT, "VULCAN_CACHE_DIR": str(vulcan.directory / "cache")}
    with ChatServer(echo) as server:
        url = server.url.replace("http://", f"http://somebody:{OTHER}@")
        done = vulcan.good(*[word for word in SEARCH if word != "--quiet"], "--api-base", server.url, **environment)
        assert echo.keys == {f"Bearer {KEY}"}
        assert "status 500: the key [hidden] is known, but [hidden] is down" in done.stderr
    run = only_run(vulcan)
    said = [done.stdout, done.stderr]
    shown = (("show", run), ("show", run, "3"), ("show", run, "--config"), ("runs",), ("repair", run))
    for command in (*shown, ("report", run, "-o", "report.html"), ("report", run, "--format", "json")):
        result = vulcan.good(*command, **environment)
        said += [result.stdout, result.stderr]
    vulcan.good("export", run, "--candidate", "1", "--format", "python", "-o", "best.py", **environment)
    assert [text for text in said if SECRET.search(text.encode())] == []
    assert leaks(vulcan.directory) == []
    assert shown_url(url) == server.url


def test_a_key_is_in_no_message_where_the_server_refuses_it(vulcan: Console) -> None:
    def refuse(request: Received) -> Behaviour:
        return fail(401, f"Incorrect API key provided: {KEY}. Or {KEY[:7]}...{KEY[-4:]}.")

    with ChatServer(refuse) as server:
        result = vulcan(*SEARCH, "--api-base", server.url, **ENVIRONMENT)
    assert result.returncode == 2
    assert "set OPENAI_API_KEY to a key that this server accepts" in result.stderr
    assert not SECRET.search((result.stdout + result.stderr).encode())
    assert leaks(vulcan.directory) == []


def test_a_key_in_a_configuration_file_is_refused_and_not_shown(vulcan: Console) -> None:
    (vulcan.directory / "search.toml").write_text(f'task = "cache_eviction"\napi-key = "{KEY}"\n')
    result = vulcan("search", "--config", "search.toml", "--executor", "local")
    assert result.returncode == 2
    assert "no option 'api_key'" in result.stderr
    assert KEY not in result.stderr


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "AZURE_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "GOOGLE_CREDENTIALS"],
)
def test_what_any_variable_of_a_secrets_name_holds_is_hidden(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, KEY)
    assert redact(f"it is {KEY}, {json.dumps(KEY)}") == 'it is [hidden], "[hidden]"'
    assert os.environ[name] == KEY
