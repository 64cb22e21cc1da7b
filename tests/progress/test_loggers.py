"""What loggers are told of a search, that none can end it, and what each destination's own package reads back."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from console import MOOD_TASK
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import vulcan
from vulcan.errors import UserError
from vulcan.progress import loggers
from vulcan.progress.loggers import make_loggers

FEW: dict[str, Any] = {
    "executor": "local", "workers": 1, "budget_candidates": 4, "tune": 0, "simplify": 0, "progress": "none", "seed": 3,
}  # fmt: skip


class Notes:
    """A logger that remembers; `fails` is the method that raises."""

    def __init__(self, fails: str = "") -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._fails = fails

    def _note(self, *call: Any) -> None:
        self.calls.append(call)
        if call[0] == self._fails:
            raise ConnectionError("the server is away")

    def begin(self, run: Path, parameters: Mapping[str, Any]) -> None:
        self._note("begin", run, parameters)

    def log(self, step: int, values: Mapping[str, float]) -> None:
        self._note("log", step, values)

    def end(self, summary: Mapping[str, Any] | None) -> None:
        self._note("end", summary)


def test_a_logger_gets_the_figures_of_a_search_and_a_failing_one_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    notes, broken = Notes(), Notes("log")
    run = vulcan.search(MOOD_TASK, runs_dir=tmp_path, log=[broken, notes], weight=3, **FEW)
    (_, path, parameters), *logged, (last, summary) = notes.calls
    assert path == run.path
    assert (parameters["task"], parameters["seed"], parameters["weight"]) == (MOOD_TASK, 3, 3.0)
    assert not {"settings", "api_base"} & set(parameters)
    steps = [call[1] for call in logged]
    assert steps == sorted(steps)
    scored = run.candidates[run.candidates["verdict"] == "scored"]
    assert [values["score"] for _, _, values in logged if "score" in values] == list(scored["score"])
    assert logged[-2][2]["best"] == scored["score"].max()
    assert logged[-2][2]["verdicts/scored"] == len(scored)
    assert logged[-1][2]["test/winner"] == run.summary["test"]["score"]
    assert all(isinstance(value, float) for _, _, values in logged for value in values.values())
    assert last == "end"
    assert summary == run.summary
    assert len(broken.calls) == 2
    (message,) = [r.message for r in caplog.records if r.name == "vulcan.progress.loggers"]
    assert message == "Notes logs no more of this search: ConnectionError: the server is away"


def test_what_cannot_log_is_told_before_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loggers, "find_spec", lambda _: None)
    with pytest.raises(UserError, match=r"tensorboardX, which is not installed: pip install .*\[tensorboard\]"):
        vulcan.search(MOOD_TASK, runs_dir=tmp_path, log="tensorboard:x", **FEW)
    with pytest.raises(UserError, match="did you mean 'wandb'"):
        make_loggers(["wandbb:x"])
    with pytest.raises(UserError, match="begin, log and end"):
        make_loggers([object()])  # type: ignore[list-item]
    assert not list(tmp_path.iterdir())


WINNER = "def decide():\n    return 1\n"


def logged(kind: str, place: str | Path, *, ended: bool = True) -> None:
    """Send a small log to a destination, as a search does."""
    (logger,) = make_loggers([f"{kind}:{place}"])
    logger.begin(Path("runs/mood-1"), {"task": "mood", "seed": 3})
    for step in range(1, 4):
        logger.log(step, {"best": step / 4})
    logger.end({"best": {"candidate": 3, "source": WINNER}} if ended else None)


def test_tensorboard_reads_the_files_of_a_run(tmp_path: Path) -> None:
    logged("tensorboard", tmp_path)
    events = EventAccumulator(str(tmp_path / "mood-1")).Reload()
    assert [(each.step, each.value) for each in events.Scalars("best")] == [(1, 0.25), (2, 0.5), (3, 0.75)]
    texts = {
        name: (text.step, text.tensor_proto.string_val[0].decode())
        for name in ("parameters", "winner")
        for text in events.Tensors(f"{name}/text_summary")
    }
    assert texts["parameters"] == (0, "| option | value |\n|---|---|\n| task | mood |\n| seed | 3 |")
    assert texts["winner"] == (3, "    def decide():\n        return 1\n    ")


@pytest.mark.parametrize("ended", [True, False])
def test_mlflow_returns_the_run_of_the_experiment_of_its_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ended: bool
) -> None:
    from mlflow import MlflowClient  # takes 4 s, which only the worker of this test should spend

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a server needs the whole of MLflow, with its database
    place = (tmp_path / "mlruns").as_uri()
    logged("mlflow", place, ended=ended)
    client = MlflowClient(place)
    (run,) = client.search_runs([client.get_experiment_by_name("vulcan/mood").experiment_id])
    assert run.info.run_name == "mood-1"
    assert run.data.params == {"task": "mood", "seed": "3"}
    assert run.info.status == ("FINISHED" if ended else "KILLED")
    history = client.get_metric_history(run.info.run_id, "best")
    assert [(each.step, each.value) for each in history] == [(1, 0.25), (2, 0.5), (3, 0.75)]
    winner = Path(unquote(urlsplit(run.info.artifact_uri).path), "winner.py")
    assert (winner.read_text() if ended else winner.exists()) == (WINNER if ended else False)


def test_weights_and_biases_writes_a_run_that_can_be_synchronised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    logged("wandb", "mine")
    (path,) = tmp_path.glob("wandb/offline-run-*-mood-1/run-mood-1.wandb")
    texts = ("mine", "mood-1", "seed", "best", "0.25", "0.5", "0.75", "winner", json.dumps(WINNER))
    missing: list[str] = []
    for _ in range(100):  # a process of wandb's writes the file, on a busy machine after it has said that it is done
        written = path.read_bytes()
        missing = [text for text in texts if text.encode() not in written]
        if not missing:
            break
        time.sleep(0.1)
    assert not missing
