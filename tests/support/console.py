"""Runs the installed command `vulcan`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from locations import TASKS

COMMAND = str(Path(sys.executable).parent / "vulcan")
MOOD_TASK = str(TASKS / "mood_task")
ZIPF = "zipf:requests=20000,objects=3000,alpha=0.9,seed=3,sizes=lognormal"
LRU = "def priority(now, obj, cache, ghost):\n    return obj.last_access\n"

Result = subprocess.CompletedProcess[str]

SETTINGS = ("VULCAN_RUNS_DIR", "VULCAN_MODEL", "VULCAN_API_BASE", "OPENAI_API_KEY", "RAY_ADDRESS", "PYTHONPATH")


class Console:
    """A shell in a directory, whose environment holds no settings but those given."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
        return {**kept, "NO_PROXY": "127.0.0.1", **more}

    def start(self, *arguments: str | Path, **environment: str) -> subprocess.Popen[str]:
        """The command in a process group of its own, like a shell's job."""
        return subprocess.Popen(
            [COMMAND, *map(str, arguments)], cwd=self.directory, env=self.environment(**environment), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0,
        )  # fmt: skip

    def __call__(self, *arguments: str | Path, **environment: str) -> Result:
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=240)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def good(self, *arguments: str | Path, **environment: str) -> Result:
        """A command that must end well."""
        result = self(*arguments, **environment)
        assert result.returncode == 0, result.stderr
        assert "Traceback" not in result.stderr
        return result

    def document(self, *arguments: str | Path, **environment: str) -> Any:
        """The one JSON document on standard output."""
        result = self.good(*arguments, "--json", **environment)
        return json.loads(result.stdout, parse_constant=pytest.fail)

    def search(self, *arguments: str | Path, **environment: str) -> Any:
        """The summary of a search of a few candidates on the task of moods, without Ray; nothing is refined."""
        few = ("--rounds", "2", "--samples", "3", "--executor", "local", "--workers", "1", "--tune", "0")
        few += ("--simplify", "0")
        return self.document("search", "--task", MOOD_TASK, *few, *arguments, **environment)


def one_line(result: Result, code: int = 2) -> str:
    """What a failed command said: one line on standard error and nothing else."""
    assert "Traceback" not in result.stderr, result.stderr
    assert result.returncode == code, result.stderr
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line
