"""What is particular to litellm: names, keys, prices, and that it keeps quiet."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from chat_server import ChatServer, answer
from effort import few

from vulcan.models.base import Message, ModelRefused, Request
from vulcan.models.call_settings import CallSettings
from vulcan.models.open import open_proposer
from vulcan.models.providers import LitellmModel

REQUEST = Request(0, 0, (Message("user", "Write one."),), (), 1)


def test_the_price_is_that_of_the_price_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    with ChatServer([answer("hello", usage=(100_000, 20_000))]) as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        with closing(open_proposer("openai/gpt-4o")) as model:
            assert isinstance(model, LitellmModel)
            # $2.50 and $10 a million tokens, in and out
            assert model.propose(REQUEST).dollars == pytest.approx(0.25 + 0.20)


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("gpt-4o", "OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("gemini/gemini-2.5-pro", "GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("openrouter/some/model", "OPENROUTER_API_KEY"),
    ],
)
def test_a_missing_key_is_told_before_any_call(
    name: str, variable: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for unset in variable.split(" or "):
        monkeypatch.delenv(unset, raising=False)
    with pytest.raises(
        ModelRefused, match=rf"{name!r} needs a key of \w+: set {variable.split(maxsplit=1)[0]}"
    ) as caught:
        open_proposer(name)
    assert variable in str(caught.value)
    assert capfd.readouterr().out == ""


def test_parameters_that_a_model_does_not_take_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    with ChatServer([answer("hello")]) as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.url)
        with closing(open_proposer("openai/o3", settings=CallSettings(temperature=0.3, max_tokens=500))) as model:
            model.propose(REQUEST)
    body = server.requests[0].body
    assert "temperature" not in body
    assert body["max_completion_tokens"] == 500


ALONE = """
import os, socket, sys
from vulcan.models.base import ModelRefused
from vulcan.models.open import open_proposer
assert "litellm" not in sys.modules and "openai" not in sys.modules, "loaded before they are needed"

def refuse(*args):
    raise SystemExit("a connection was tried")

socket.socket.connect = socket.getaddrinfo = refuse
try:
    open_proposer("openai/gpt-4o")
except ModelRefused as refused:
    sys.stderr.write(str(refused))
"""


def test_loading_litellm_is_late_quiet_off_the_network_and_reads_no_env_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-0123456789\n")
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-c", ALONE], cwd=tmp_path, env=kept, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "model 'openai/gpt-4o' needs a key of openai: set OPENAI_API_KEY in the environment"


ASK_AND_END = """
import os, sys
from vulcan.models.base import Message, Request
from vulcan.models.open import open_proposer
model = open_proposer(sys.argv[1], api_base=sys.argv[2] or None)
sys.stdout.write(model.propose(Request(0, 0, (Message("user", "Write one."),), (), 1)).text)
if sys.argv[3] == "close":
    model.close()
"""


@pytest.mark.parametrize(
    ("way", "last"), few([("endpoint", "close"), ("endpoint", "leave open"), ("litellm", "leave open")], 1)
)
def test_a_process_that_called_a_model_ends_without_a_word(way: str, last: str) -> None:
    with ChatServer([answer("hello")]) as server:
        keys = {"OPENAI_API_KEY": "sk-0123456789", "OPENAI_API_BASE": server.url, "LITELLM_LOG": "DEBUG"}
        model = ["toy", server.url] if way == "endpoint" else ["openai/toy", ""]
        command = [sys.executable, "-c", ASK_AND_END, *model, last]
        done = subprocess.run(command, env=os.environ | keys, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello", "")


def test_an_unknown_provider_suggests_the_nearest(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ModelRefused, match="did you mean 'anthropic'") as caught:
        open_proposer("antropic/claude-sonnet-4-5")
    assert "--api-base" in str(caught.value)
    assert capfd.readouterr().out == ""
