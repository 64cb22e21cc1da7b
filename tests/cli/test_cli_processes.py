"""The command as a process: started elsewhere, read in part, and how little its first second loads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from chat_server import ChatServer, answer
from console import Console
from search_parts import as_reply, share

from vulcan.registry import built_in_directory


def test_runs_and_model_may_be_named_by_the_environment(vulcan: Console) -> None:
    elsewhere = vulcan.directory / "else" / "where"
    with ChatServer([answer(as_reply(share(of))) for of in (1.1, 1.2)]) as server:
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


HEAVY = (
    "numba", "llvmlite", "ray", "litellm", "openai", "pandas", "numpy", "jinja2", "httpx", "vulcan_traces",
    "vulcan_link.simulator",
)  # fmt: skip
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
