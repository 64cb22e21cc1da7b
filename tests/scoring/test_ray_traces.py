"""On a cluster a trace is decoded once on a node, and opened once in a worker, however many candidates there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from vulcan.evaluator import Instance
from vulcan.scoring import Job, Setup
from vulcan.scoring.ray_executor import RayExecutor
from vulcan.scoring.ray_runtime import RayRuntime

TASK = """
from pathlib import Path
from vulcan.task import Feature, Objective, Scalar, Task, Value

TASK = Task(
    name="traced",
    summary="Give back a number.",
    signature=Value(
        function="decide",
        arguments=(Scalar(Feature("load", "float", "requests", 0.0, 1000.0, "how much there is to do")),),
        returns="a number",
    ),
    evaluator="vulcan_traced_evaluator:TracedEvaluator",
    objectives=(Objective("sum", "sum", "a sum", lambda metrics, _: metrics["sum"]),),
    directory=Path(__file__).parent,
)
"""

EVALUATOR = """
import os
from pathlib import Path
from vulcan.paths import cache_directory
from vulcan.evaluator import Evaluator
from vulcan_traces import load_trace
from vulcan_traces.storage import trace_store

decoding = trace_store.write_columns

def counted(folder, parts):
    (cache_directory("decoded") / str(os.getpid())).write_text("once")
    Path(__file__).with_name(f"decoded by {os.getpid()}").touch()
    return decoding(folder, parts)

trace_store.write_columns = counted


class TracedEvaluator(Evaluator):
    loads = 0

    def instances(self, settings, split):
        return ()

    def prepare(self, instances):
        for instance in instances:
            self.loads += 1
            self.trace = load_trace(instance.parameters["trace"])

    def evaluate(self, policy, instance):
        decide = policy.reference()
        return {"sum": decide({"load": float(self.trace.sizes.sum())}), "loads": self.loads, "pid": os.getpid()}

    def baselines(self):
        return {}

    def evaluate_baseline(self, name, instance):
        raise ValueError(name)
"""


@pytest.fixture
def traced(tmp_path: Path) -> Path:
    """A task with a trace beside it."""
    (tmp_path / "task.py").write_text(TASK)
    (tmp_path / "vulcan_traced_evaluator.py").write_text(EVALUATOR)
    (tmp_path / "t.csv").write_text("time,id,size\n" + "".join(f"{n},{n % 97},2\n" for n in range(1000)))
    return tmp_path


@pytest.mark.ray
def test_a_trace_is_decoded_once_and_goes_once_to_a_worker(traced: Path, ray_runtime: RayRuntime) -> None:
    instance = Instance("t", "train", {"trace": str(traced / "t.csv")})
    with RayExecutor(Setup(str(traced), (instance,)), 2, ray_runtime) as executor:
        sources = [f"def decide(load):\n    return load + {number}\n" for number in range(30)]
        futures = [executor.submit(Job(number, source, (instance,), 60.0)) for number, source in enumerate(sources)]
        found = [future.result().metrics[0][1] for future in futures]
    assert len(list(traced.glob("decoded by *"))) == 1
    assert {one["loads"] for one in found} == {1}
    assert [one["sum"] for one in found] == [2000.0 + number for number in range(30)]
