"""A command-line agent as the model: a command that reads a chat on standard input and writes its reply."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from vulcan.errors import UserError
from vulcan.models.base import Message, ModelRefused, ModelUnavailable, Reply, Request
from vulcan.models.tool_calls import as_text
from vulcan.trust import AGENT

MAX_REPLY = 1 << 20
"""Longest reply in characters: more is cut off."""


class CommandAgent:
    """A `Proposer` that runs a command for each turn, in a directory that its proposal has for itself.

    The command reads the whole chat, and calls tools in the text of its reply. It has the environment of its user, and
    `seconds` for a turn. Raises UserError for a name without a command that is there.
    """

    def __init__(self, name: str, seconds: float) -> None:
        self.name = name
        try:
            self._words = shlex.split(name.removeprefix(AGENT))
        except ValueError as error:
            raise UserError(f"model {name!r}: {error}") from error
        if not self._words:
            raise UserError(f"model {name!r} has no command: write it as agent:COMMAND")
        found = shutil.which(self._words[0])
        if found is None:
            raise UserError(f"model {name!r}: there is no command {self._words[0]!r}")
        self._words[0] = os.path.abspath(found)  # it runs in another directory
        self._seconds = seconds
        self._lock = threading.Lock()
        self._closed = False
        self._running: set[subprocess.Popen[str]] = set()
        self._places: dict[int, tempfile.TemporaryDirectory[str]] = {}

    def propose(self, request: Request) -> Reply:
        """Return what the command writes. Raises ModelRefused where it does not start, else ModelUnavailable."""
        began = time.monotonic()
        process = self._started(request.proposal)
        try:
            said, wrong = process.communicate(chat_text(request.messages), self._seconds)
        except subprocess.TimeoutExpired as error:
            _kill(process)
            raise ModelUnavailable(f"{self.name}: no reply within {self._seconds:g} s") from error
        finally:
            with self._lock:
                self._running.discard(process)
        if process.returncode:
            why = (wrong.strip().splitlines() or ["it said nothing"])[-1][:300]
            raise ModelUnavailable(f"{self.name} ended with status {process.returncode}: {why}")
        return Reply(said[:MAX_REPLY], self.name, "stop", None, None, None, time.monotonic() - began)

    def close(self) -> None:
        """End the commands that run, and remove their directories."""
        with self._lock:
            self._closed = True
            running = tuple(self._running)
        for process in running:
            _kill(process)
        for place in self._places.values():
            place.cleanup()

    def _started(self, proposal: int) -> subprocess.Popen[str]:
        with self._lock:
            if self._closed:
                raise ModelUnavailable(f"{self.name}: closed")
            if proposal not in self._places:
                self._places[proposal] = tempfile.TemporaryDirectory(prefix="vulcan-agent-")
            try:
                process = subprocess.Popen(
                    self._words,
                    cwd=self._places[proposal].name,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                    errors="replace",
                    start_new_session=True,
                )
            except OSError as error:
                raise ModelRefused(f"model {self.name!r} does not start: {error}") from error
            self._running.add(process)
            return process


def chat_text(messages: Sequence[Message]) -> str:
    """Return a chat as one text: the prompt alone where there is nothing else, or each turn below its role."""
    turns = as_text(messages)
    if len(turns) == 1:
        return str(turns[0]["content"])
    return "\n\n".join(f"[{turn['role']}]\n{str(turn['content']).rstrip()}" for turn in turns)


def _kill(process: subprocess.Popen[str]) -> None:
    """End a command with all that it started, and wait for it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
