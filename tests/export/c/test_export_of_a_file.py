"""`vulcan export FILE --task TASK`."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from vulcan.cli.main import app
from vulcan.errors import UserError
from vulcan.registry import find_task

SEEDS = find_task("congestion_control").seed_policies()


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "reno.py"
    path.write_text(SEEDS["reno_like"])
    return path


def export(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["export", *arguments], catch_exceptions=False, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.output


def test_options_of_the_task_go_into_the_program(policy: Path) -> None:
    export(str(policy), "--task", "congestion_control", "--format", "bpf", "-o", "out", "--called", "round")
    assert "#define SETTING_CALLED_ROUND\n" in Path("out/congestion_control.bpf.c").read_text()


def test_mistakes_are_one_line(policy: Path) -> None:
    for arguments, why in (
        (["--task", "congestion_control", "--candidate", "3"], "--candidate is of a run"),
        (["--task", "congestion_control", "--called", "never"], "one of: ack, round"),
        (["--task", "congestion_control", "--format", "wasm"], "no export format is called 'wasm'"),
        (["--called", "round"], "--called is not expected here"),
    ):
        with pytest.raises(UserError) as error:
            export(str(policy), *arguments)
        assert why in str(error.value)
        assert "\n" not in str(error.value)


def test_a_rejected_policy_is_not_exported(policy: Path) -> None:
    policy.write_text("def cwnd(state, window):\n    return state.nothing\n")
    result = CliRunner().invoke(app, ["export", str(policy), "--task", "congestion_control"])
    assert result.exit_code == 1
    assert not Path("congestion_control.py").exists()
