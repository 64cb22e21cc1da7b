"""The command as a process: interrupted, killed, started elsewhere, and how little its first second loads."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer, Exchange, Received, answer
from console import MOOD_TASK, Console, one_line

from vulcan.registry import built_in_directory
from vulcan.store.events import RunStarted, RunStopped
from vulcan.store.runs import open_store

ROUNDS = 6
SEARCH = (
    "search", "--task", MOOD_TASK, "--strategy", "policysmith", "--rounds", str(ROUNDS), "--samples", "1",
    "--workers", "1", "--model", "toy", "--tune", "0", "--simplify", "0",
)  # fmt: skip


class Halting:
    """A model that answers some calls and then none, until it is let go on; each answer is another program."""

    def __init__(self, answers: int) -> None:
        self._left = answers
        self._given = 0
        self.halted = threading.Event()
        self.goes_on = threading.Event()

    def __call__(self, request: Received):
        if self._given >= self._left and not self.goes_on.is_set():
            return self._halt
        self._given += 1
        return answer(f"```python\ndef decide(load, room):\n    return min(load, room) * {1 + self._given / 10}\n```")

    def _halt(self, exchange: Exchange) -> None:
        self.halted.set()
        exchange.closing.wait(60)
        exchange.hang_up()


def contents(directory: Path) -> list[Any]:
    """All that a run holds, but times and what the interruption itself left."""
    with closing(open_store(directory)) as store:
        events = [event for event in store.events() if not isinstance(event, RunStopped | RunStarted)]
        return [events, [replace(call, seconds=0.0) for call in store.calls()]]


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What the run holds when nothing disturbs it."""
    console = Console(tmp_path_factory.mktemp("calm"))
    with ChatServer(Halting(ROUNDS)) as server:
        run = console.document(*SEARCH, "--executor", "local", "--api-base", server.url)["run"]
        assert len(server.requests) == ROUNDS
    return contents(console.directory / run)


def only_run(console: Console) -> Path:
    (run,) = (console.directory / "runs").iterdir()
    return run


def disturb(console: Console, model: Halting, server: ChatServer, number: int, executor: str) -> tuple[int, str, str]:
    """Start a search, send its process group a signal when the model halts; exit code, standard output and error."""
    search = console.start(*SEARCH, "--executor", executor, "--api-base", server.url)
    assert model.halted.wait(120)
    again = console("resume", only_run(console).name, "--executor", "local")
    assert "another process is searching in" in one_line(again)
    os.killpg(search.pid, number)
    out, err = search.communicate(timeout=60)
    model.goes_on.set()
    return search.returncode, out, err


@pytest.mark.parametrize("executor", ["local", pytest.param("ray", marks=[pytest.mark.ray, pytest.mark.slow])])
def test_ctrl_c_leaves_a_run_that_goes_on_as_if_nothing_had_been(
    vulcan: Console, calm: list[Any], executor: str
) -> None:
    model = Halting(3)
    with ChatServer(model) as server:
        code, out, err = disturb(vulcan, model, server, signal.SIGINT, executor)
        run = only_run(vulcan)
        assert code == 130, err
        assert out == ""
        assert "Traceback" not in err
        assert err.splitlines()[-1] == (f"interrupted; nothing is lost: continue with `vulcan resume runs/{run.name}`")
        assert vulcan.document("runs")["runs"][0]["state"] == "interrupted"
        summary = vulcan.document("resume", run.name, "--executor", "local", "--workers", "1")
        assert len(server.requests) == ROUNDS + 1  # the one that was never answered is asked again, no other
    assert summary["state"] == "finished"
    assert contents(run) == calm


def test_runs_and_model_may_be_named_by_the_environment(vulcan: Console) -> None:
    elsewhere = vulcan.directory / "else" / "where"
    with ChatServer(Halting(99)) as server:
        environment = {
            "VULCAN_RUNS_DIR": str(elsewhere), "VULCAN_MODEL": "toy", "VULCAN_API_BASE": server.url,
        }  # fmt: skip
        summary = vulcan.search("--budget-candidates", "2", **environment)
        assert [request.body["model"] for request in server.requests] == ["toy", "toy"]
    assert Path(summary["run"]).parent == elsewhere
    assert not (vulcan.directory / "runs").exists()
    assert vulcan.document("show", Path(summary["run"]).name, VULCAN_RUNS_DIR=str(elsewhere)) == summary
    (row,) = vulcan.document("runs", VULCAN_RUNS_DIR=str(elsewhere))["runs"]
    assert row["model"] == ["toy"]
    assert vulcan.document("runs", "--runs-dir", "nowhere", VULCAN_RUNS_DIR=str(elsewhere)) == {"runs": []}


HEAVY = ("numba", "llvmlite", "ray", "litellm", "openai", "pandas", "numpy", "jinja2", "httpx", "vulcan_traces")
GDSF = built_in_directory() / "cache_eviction" / "policies" / "gdsf.py"
HELP = """
import json, sys
sys.argv = ["vulcan", *sys.argv[1:]]
from vulcan.cli.main import run
try:
    run()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    ["--help", "--version", "search --help", "runs --json", "tasks", f"check {GDSF} --task cache_eviction"],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(vulcan: Console, arguments: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", HELP, *arguments.split()], cwd=vulcan.directory, env=vulcan.environment(), text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    assert result.stdout
    loaded = json.loads(result.stderr)
    assert "vulcan.cli.main" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_a_missing_extra_is_one_line_with_the_command_that_installs_it(vulcan: Console) -> None:
    program = "import sys; sys.modules['mcp'] = None" + HELP
    result = subprocess.run(
        [sys.executable, "-c", program, "mcp"], cwd=vulcan.directory, env=vulcan.environment(), text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert result.returncode == 2
    assert result.stderr.splitlines()[0] == 'vulcan: mcp is not installed: pip install "vulcan-policies[mcp]"'


def test_a_reader_that_has_seen_enough_is_no_error(vulcan: Console) -> None:
    shell = f'"{Path(sys.executable).parent / "vulcan"}" task show cache_eviction | head -n 1'
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", shell], cwd=vulcan.directory, env=vulcan.environment(), text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert result.stdout == "# cache_eviction\n"
    assert "Traceback" not in result.stderr
    assert "Exception ignored" not in result.stderr
