"""Output that cannot be written while a search runs: the search goes on, and its result is as it would have been."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from console import COMMAND, MOOD_TASK, Console
from disturbed import only_run, own_events

from vulcan.store.events import RunStarted

SEARCH = (
    "search", "--task", MOOD_TASK, "--budget-candidates", "3", "--tune", "0", "--simplify", "0", "--seed", "3",
    "--executor", "local", "--workers", "1", "--in-flight", "1",
)  # fmt: skip
HOW = {
    "lines of JSON on a full disk": ("--progress json >/dev/full", 2),
    "plain lines on a full disk": ("--progress plain 2>/dev/full", 0),
    "nothing at all": ("--progress plain <&- >&- 2>&-", 2),
    "a reader that leaves": ("--progress json | head -n 1 >&2; exit ${PIPESTATUS[0]}", 1),
}


def results(console: Console) -> list[object]:
    """What the only run holds, but for how it was started."""
    return [event for event in own_events(only_run(console)) if not isinstance(event, RunStarted)]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    console = Console(tmp_path_factory.mktemp("calm"))
    console.good(*SEARCH, "--quiet")
    return results(console)


@pytest.mark.parametrize("how", HOW)
def test_the_search_goes_on(how: str, expected: list[object], tmp_path: Path) -> None:
    console, (rest, code) = Console(tmp_path), HOW[how]
    line = " ".join([COMMAND, *SEARCH, rest])
    done = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env=console.environment(), capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert results(console) == expected
    if "json" in rest:
        assert done.stderr.count("progress cannot be written, and the search goes on without") == 1
    if code == 2 and "2>&-" not in rest:
        assert "vulcan: the output cannot be written: " in done.stderr.splitlines()[-1]
    assert console.document("show", only_run(console))["state"] == "finished"
