"""What loggers are told of a search, that none can end it, and the calls that each destination gets."""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from console import MOOD_TASK

import vulcan
from vulcan.errors import UserError
from vulcan.progress import loggers
from vulcan.progress.loggers import Logger, make_loggers

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


FAKE = """
import json, pathlib, types
class Fake:
    def __init__(self, name): self._name = name
    def __call__(self, *arguments, **named):
        shown = [a if isinstance(a, (str, int, float, dict, type(None))) else str(a) for a in arguments]
        named = {key: v if isinstance(v, (str, int, float, dict)) else str(v) for key, v in named.items()}
        with open(pathlib.Path(__file__).with_suffix(".calls"), "a") as file:
            file.write(json.dumps([self._name, shown, named]) + "\\n")
        return Fake(self._name + "()")
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return Fake(self._name + "." + name)
    def __setitem__(self, key, value): self("set", key, value)
    def __str__(self): return self._name
def __getattr__(name):
    if name.startswith("__"): raise AttributeError(name)
    return Fake(name)
"""


def calls_of(logger: Logger, module: str, place: Path) -> list[Any]:
    logger.begin(Path("runs/mood-1"), {"task": "mood", "seed": 3})
    logger.log(5, {"best": 0.5})
    logger.end({"best": {"candidate": 5, "source": "def decide():\n    return 1\n"}})
    return [json.loads(line) for line in (place / module).with_suffix(".calls").read_text().splitlines()]


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Packages that write down their calls, in place of those that are installed."""
    names = ("tensorboardX", "mlflow", "mlflow.entities", "wandb")
    before = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    (tmp_path / "mlflow").mkdir()
    (tmp_path / "mlflow" / "entities.py").write_text("def Metric(*arguments):\n    return list(arguments)\n")
    for name in ("tensorboardX", "mlflow/__init__", "wandb"):
        (tmp_path / f"{name}.py").write_text(FAKE)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield tmp_path
    for name in names:
        sys.modules.pop(name, None)
    sys.modules.update(before)


def test_tensorboard_gets_a_directory_per_run(fakes: Path) -> None:
    (logger,) = make_loggers(["tensorboard:logs"])
    made, text, scalar, winner, closed = calls_of(logger, "tensorboardX", fakes)
    assert made == ["SummaryWriter", ["logs/mood-1"], {}]
    assert text[:2] == [
        "SummaryWriter().add_text", ["parameters", "| option | value |\n|---|---|\n| task | mood |\n| seed | 3 |", 0],
    ]  # fmt: skip
    assert scalar == ["SummaryWriter().add_scalar", ["best", 0.5, 5], {}]
    assert winner[1] == ["winner", "    def decide():\n        return 1\n    ", 5]
    assert closed[0] == "SummaryWriter().close"


def test_weights_and_biases_gets_a_run_that_can_be_resumed(fakes: Path) -> None:
    (logger,) = make_loggers(["wandb:mine"])
    calls = {name: (arguments, named) for name, arguments, named in calls_of(logger, "wandb", fakes)}
    _, given = calls["init"]
    assert (given["project"], given["id"], given["resume"], given["config"]["seed"]) == ("mine", "mood-1", "allow", 3)
    assert calls["init().log"] == ([{"best": 0.5}], {"step": 5})
    assert calls["init().finish"] == ([], {"exit_code": 0})


def test_mlflow_gets_a_run_in_the_experiment_of_its_task(fakes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 7.0)
    (logger,) = make_loggers(["mlflow:http://127.0.0.1:5000"])
    client, experiment, created, *parameters, batch, winner, ended = calls_of(logger, "mlflow/__init__", fakes)
    assert client == ["MlflowClient", ["http://127.0.0.1:5000"], {}]
    assert experiment[1] == ["vulcan/mood"]
    assert created[2] == {"run_name": "mood-1"}
    assert [call[1][1:] for call in parameters] == [["task", "mood"], ["seed", "3"]]
    assert batch[2] == {"metrics": "[['best', 0.5, 7000, 5]]"}
    assert winner[1][1:] == ["def decide():\n    return 1\n", "winner.py"]
    assert ended[1][1:] == ["FINISHED"]


def test_tensorboard_files_are_read_by_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    (logger,) = make_loggers([f"tensorboard:{tmp_path}"])
    logger.begin(Path("runs/mood-1"), {"task": "mood"})
    for step in range(1, 4):
        logger.log(step, {"best": step / 4})
    logger.end(None)
    events = accumulator.EventAccumulator(str(tmp_path / "mood-1")).Reload()
    assert [(each.step, each.value) for each in events.Scalars("best")] == [(1, 0.25), (2, 0.5), (3, 0.75)]


def test_mlflow_keeps_a_run_in_its_files(tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    uri = (tmp_path / "mlruns").as_uri()
    (logger,) = make_loggers([f"mlflow:{uri}"])
    logger.begin(Path("runs/mood-1"), {"task": "mood"})
    logger.log(5, {"best": 0.5})
    logger.end(None)
    client = mlflow.MlflowClient(uri)
    experiment = client.get_experiment_by_name("vulcan/mood")
    (run,) = client.search_runs([experiment.experiment_id])
    assert (run.data.metrics, run.info.status) == ({"best": 0.5}, "KILLED")
