"""Runs the command `vulcan`, in this process or as it is installed."""

from __future__ import annotations

import importlib
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from locations import TASKS

COMMAND = str(Path(sys.executable).parent / "vulcan")
MOOD_TASK = str(TASKS / "mood_task")
ZIPF = "zipf:requests=20000,objects=3000,alpha=0.9,seed=3,sizes=lognormal"
LRU = "def priority(now, obj, cache, ghost):\n    return obj.last_access\n"

Result = subprocess.CompletedProcess[str]


class Console:
    """A shell in a directory, whose environment holds no settings but those given.

    Calling it runs the command in this process, which spares the second that loading Python, typer and numba takes;
    `process` and `start` run the installed command, for what a process of its own is part of the matter.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "COLUMNS")}
        return {**kept, **more}

    def start(self, *arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
        """Return the command in a process group of its own, like a shell's job."""
        return subprocess.Popen(
            [COMMAND, *map(str, arguments)], cwd=self.directory, env=self.environment(**environment), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0,
        )  # fmt: skip

    def __call__(self, *arguments: str | Path, **environment: str) -> Result:
        if threading.current_thread() is not threading.main_thread() or _needs_a_process(arguments, environment):
            return self.process(*arguments, **environment)
        from vulcan.cli.main import run

        with ExitStack() as stack:
            out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
            with _as_a_process(self.directory, self.environment(**environment), list(map(str, arguments)), out, err):
                try:
                    run()
                    code: Any = 0
                except SystemExit as ended:
                    code = ended.code or 0
            said = []
            for file in (out, err):
                file.seek(0)
                said.append(file.read().decode())
        if code in (130, 143):  # it was these tests that somebody interrupted
            raise KeyboardInterrupt
        return subprocess.CompletedProcess(["vulcan", *map(str, arguments)], code, *said)

    def process(self, *arguments: str | Path, **environment: str) -> Result:
        """Return the installed command, in a process of its own."""
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=240)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def good(self, *arguments: str | Path, **environment: str) -> Result:
        """Return a command that must end well."""
        result = self(*arguments, **environment)
        assert result.returncode == 0, result.stderr
        assert "Traceback" not in result.stderr
        return result

    def document(self, *arguments: str | Path, **environment: str) -> Any:
        """Return the one JSON document on standard output."""
        result = self.good(*arguments, "--json", **environment)
        return json.loads(result.stdout, parse_constant=pytest.fail)

    def search(self, *arguments: str | Path, **environment: str) -> Any:
        """Return the summary of a search of a few candidates on the task of moods, without Ray; nothing is refined."""
        few = ("--rounds", "2", "--samples", "3", "--executor", "local", "--workers", "1", "--tune", "0")
        few += ("--simplify", "0")
        return self.document("search", "--task", MOOD_TASK, *few, *arguments, **environment)


IN_PROCESS = (
    "VULCAN_", "OPENAI_", "NO_COLOR", "COLUMNS", "_VULCAN_COMPLETE", "COMP_", "MY_DATABASE_PASSWORD", "HF_TOKEN",
)  # fmt: skip
"""Names of variables, or how they begin, that are looked at by each command and not once by a process."""


BROWSER_USED = "VULCAN_TESTS_DROVE_A_BROWSER"
"""Set in a process of tests once a browser has been driven in it."""


def _needs_a_process(arguments: tuple[str | Path, ...], environment: dict[str, str]) -> bool:
    """Check whether variables are for Python or a library, or a Ray would be left behind in this process."""
    without = {"local", "ask", "--dry-run"}
    searches = "search" in arguments[:1] and without.isdisjoint(arguments)
    starts_ray = searches or "ray" in arguments or "--attack" in arguments
    return starts_ray or has_run_greenlets() or not all(name.startswith(IN_PROCESS) for name in environment)


def has_run_greenlets() -> bool:
    """Check whether a browser was driven in this process.

    Playwright's greenlets upset how CPython 3.11 counts recursion: its parser may then raise SystemError (AST
    constructor recursion depth mismatch).
    """
    return BROWSER_USED in os.environ


@contextmanager
def _as_a_process(
    directory: Path, environment: dict[str, str], arguments: list[str], out: IO[bytes], err: IO[bytes]
) -> Iterator[None]:
    """Isolate the state of a process: directory, environment, standard streams, logging and signal handlers."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    path, modules = sys.path[:], set(sys.modules)
    signals = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.chdir(directory)
        for name in os.environ.keys() - environment.keys():
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["vulcan", *arguments])
        patch.setattr(sys.modules["__main__"], "__package__", "")  # else its name is `python -m pytest.vulcan`
        stack.enter_context(warnings.catch_warnings())
        for number, (name, file) in enumerate((("stdin", None), ("stdout", out), ("stderr", err))):
            opened = file if file is not None else stack.enter_context(open(os.devnull, "rb"))
            saved = os.dup(number)
            os.dup2(opened.fileno(), number)
            stack.callback(os.close, saved)
            stack.callback(os.dup2, saved, number)
            stream = stack.enter_context(open(number, "w" if number else "r", encoding="utf-8", closefd=False))
            patch.setattr(sys, name, stream)
        root.handlers = []
        try:
            yield
        finally:
            _forget_tasks(path, modules)
            root.handlers = handlers
            root.setLevel(level)
            for number, handler in signals.items():
                signal.signal(number, handler)


def _forget_tasks(path: list[str], modules: set[str]) -> None:
    """Undo what loading a task from a directory leaves behind: another may have files of the same name."""
    added = tuple(f"{place}/" for place in sys.path if place not in path)
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        file = getattr(sys.modules[name], "__file__", None)
        if added and file is not None and file.startswith(added):
            del sys.modules[name]
    importlib.invalidate_caches()


def one_line(result: Result, code: int = 2) -> str:
    """Return the error message of a failed command: one line on standard error and nothing else."""
    assert "Traceback" not in result.stderr, result.stderr
    assert result.returncode == code, result.stderr
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line
