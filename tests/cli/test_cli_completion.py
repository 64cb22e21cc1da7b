"""The shell completes what can be named: through the scripts and the protocol that a shell uses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from console import COMMAND, Console

NEWER, OLDER = "cache_eviction-20260102-120000-cd34", "cache_eviction-20260101-120000-ab12"

ASKED: dict[str, tuple[str, list[str]]] = {
    "a command": ("vulcan sear", ["search"]),
    "a command of a group": ("vulcan task va", ["validate"]),
    "a contributed command": ("vulcan traces hea", ["head"]),
    "an option": ("vulcan search --budget-d", ["--budget-dollars"]),
    "a task": ("vulcan search --task cache_ev", ["cache_eviction"]),
    "a task to show": ("vulcan task show memory", ["memory_tiering"]),
    "a strategy": ("vulcan search --strategy ", ["evolve", "policysmith", "best-of-n", "engineer"]),
    "a split": ("vulcan search --split ", ["task", "none"]),
    "a part": ("vulcan eval best.py --part t", ["train", "test"]),
    "an executor": ("vulcan resume x --executor r", ["ray"]),
    "a form of progress": ("vulcan search --progress r", ["rich"]),
    "a run, the latest first": ("vulcan show ", [NEWER, OLDER]),
    "a run in another directory": ("vulcan resume --runs-dir elsewhere ", ["other"]),
    "no run": ("vulcan show nosuch", []),
    "an objective": ("vulcan search --task cache_eviction --objective ", ["object", "byte"]),
    "nothing of a task that is not there": ("vulcan search --task nosuch --objective ", []),
}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Console:
    """A directory with runs in it."""
    vulcan = Console(tmp_path_factory.mktemp("completion"))
    for age, run in enumerate((f"runs/{OLDER}", f"runs/{NEWER}", "elsewhere/other")):
        (vulcan.directory / run).mkdir(parents=True)
        (vulcan.directory / run / "run.db").touch()
        os.utime(vulcan.directory / run, (1000 + age, 1000 + age))
    return vulcan


def environment(vulcan: Console, home: Path) -> dict[str, str]:
    path = f"{Path(COMMAND).parent}{os.pathsep}{os.environ['PATH']}"
    return vulcan.environment(HOME=str(home), PATH=path, SHELL="/bin/bash")


def test_what_can_be_named_is_completed(place: Console) -> None:
    """By the protocol of bash."""
    completed = {}
    for name, (line, _) in ASKED.items():
        words = {"COMP_WORDS": line.replace(" ", "\n"), "COMP_CWORD": str(line.count(" "))}
        completed[name] = place(_VULCAN_COMPLETE="complete_bash", **words).stdout.split()
    assert completed == {name: expected for name, (_, expected) in ASKED.items()}


def test_nothing_heavy_is_loaded_to_complete_a_word(place: Console, tmp_path: Path) -> None:
    program = (
        "import sys\nsys.argv = ['vulcan']\nfrom vulcan.cli.main import run\ntry:\n    run()\nfinally:\n"
        "    print([n for n in ('numpy', 'numba', 'ray', 'litellm', 'pandas', 'jinja2') if n in sys.modules],"
        " file=sys.stderr)\n"
    )
    for line in ("vulcan search --task ca", "vulcan search --model openai/", "vulcan show ca", "vulcan search --str"):
        asked = {"_VULCAN_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": line}
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=place.directory, env=environment(place, tmp_path) | asked,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.stderr == "[]\n", line
