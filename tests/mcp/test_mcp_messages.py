"""Messages that no client should send: each is answered by its error, and the server goes on."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from locations import TASKS
from mcp.types import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR

from vulcan.mcp import server
from vulcan.mcp.stdio import MAX_MESSAGE, _Messages, refusal
from vulcan.registry import find_task

MOOD_TASK = str(TASKS / "mood_task")
COMMAND = str(Path(sys.executable).parent / "vulcan")

MALFORMED: dict[str, tuple[bytes, Any, int]] = {
    "no JSON": (b"nonsense", None, PARSE_ERROR),
    "not UTF-8": (b"\xff\xfe", None, PARSE_ERROR),
    "nested": (b"[" * 100_000, None, PARSE_ERROR),
    "cut off": (b'{"jsonrpc":"2.0","id":1,"method":"ping"', None, PARSE_ERROR),
    "digits": (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', None, PARSE_ERROR),
    "surrogate": (b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"x":"\\ud800"}}', 3, PARSE_ERROR),
    "surrogate id": (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', None, PARSE_ERROR),
    "a number": (b"3", None, INVALID_REQUEST),
    "a batch": (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, INVALID_REQUEST),
    "nothing in it": (b"{}", None, INVALID_REQUEST),
    "version": (b'{"jsonrpc":"1.0","id":4,"method":"ping"}', 4, INVALID_REQUEST),
    "id": (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, INVALID_REQUEST),
    "infinite id": (b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}', None, INVALID_REQUEST),
    "params": (b'{"jsonrpc":"2.0","id":"five","method":"tools/call","params":[1]}', "five", INVALID_PARAMS),
    "too long": (b'{"x":"' + b"x" * MAX_MESSAGE + b'"}', None, INVALID_REQUEST),
}


@pytest.mark.parametrize("message", MALFORMED)
def test_a_malformed_message_is_answered_by_its_error(message: str) -> None:
    line, identity, code = MALFORMED[message]
    error = refusal(line + b"\n")
    assert error is not None
    assert (error.id, error.error.code) == (identity, code)
    assert "\n" not in error.error.message and len(error.error.message) < 300


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params"]), inner),
).map(lambda plain: json.dumps(plain).encode())


@settings(max_examples=examples(200))
@given(st.binary(max_size=200) | JSON)
def test_whatever_comes_is_a_message_or_gets_an_error_that_can_be_sent(line: bytes) -> None:
    if (error := refusal(line.replace(b"\n", b" ") + b"\n")) is not None:
        assert json.loads(error.model_dump_json())["error"]["code"] < 0


def test_a_server_answers_every_message_and_goes_on(tmp_path: Path) -> None:
    hello = {
        "jsonrpc": "2.0", "id": "hello", "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }  # fmt: skip
    unknown = b'{"jsonrpc":"2.0","id":90,"method":"no/such"}'
    lacking = b'{"jsonrpc":"2.0","id":91,"method":"tools/call","params":{}}'
    find_task(MOOD_TASK)  # the user has named it; evaluators of it start, and write nothing to standard output
    opened = {"name": "open_study", "arguments": {"task": MOOD_TASK, "options": {"tune": 0, "simplify": 0}}}
    study = json.dumps({"jsonrpc": "2.0", "id": "study", "method": "tools/call", "params": opened}).encode()
    last = b'{"jsonrpc":"2.0","id":"last","method":"ping"}'
    lines = [json.dumps(hello).encode(), b'{"jsonrpc":"2.0","method":"notifications/initialized"}']
    lines += [*(line for line, _, _ in MALFORMED.values()), unknown, lacking, study, last]
    with subprocess.Popen(
        [COMMAND, "mcp"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as server:
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(b"\n".join([*lines, b""]))
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(len(MALFORMED) + 5)]
        out, err = server.communicate(timeout=60)
    assert (server.returncode, out, err) == (0, b"", b"")
    codes = {str(answer["id"]): answer["error"]["code"] for answer in answers if answer.get("error") and answer["id"]}
    assert (codes["90"], codes["91"]) == (METHOD_NOT_FOUND, INVALID_PARAMS)
    assert sum("error" in answer for answer in answers) == len(MALFORMED) + 2
    results = {answer["id"]: answer["result"] for answer in answers if "result" in answer}
    assert set(results) == {"hello", "study", "last"}
    assert (results["hello"]["serverInfo"]["name"], results["study"]["isError"]) == ("vulcan", False)


@pytest.mark.filterwarnings("error")
def test_a_line_after_the_server_is_interrupted_ends_its_reader_quietly() -> None:
    reading, writing = os.pipe()

    async def interrupted() -> None:
        messages = aiter(_Messages(reading))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(messages), 0.05)

    asyncio.run(interrupted())
    [reader] = [thread for thread in threading.enumerate() if thread.name == "standard input"]
    os.write(writing, b"{}\n")
    os.close(writing)
    reader.join(60)
    assert not reader.is_alive()
    os.close(reading)


def test_an_interruption_within_the_librarys_tasks_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted(_: object) -> None:
        raise BaseExceptionGroup("of a task group", [BaseExceptionGroup("of another", [KeyboardInterrupt()])])

    monkeypatch.setattr(server, "serve_stdio", interrupted)
    with pytest.raises(KeyboardInterrupt):
        server.serve(tmp_path)
