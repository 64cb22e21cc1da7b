"""A task whose evaluation takes as long as an instance says, and needs no processor: it measures the way to workers."""

from pathlib import Path

from vulcan.task import Feature, Objective, Scalar, Task, Value

TASK = Task(
    name="scale_task",
    summary="Wait, and give back a number.",
    signature=Value(
        function="decide",
        arguments=(Scalar(Feature("load", "float", "requests", 0.0, 1000.0, "how much there is to do")),),
        returns="a number",
    ),
    evaluator="vulcan_nap_evaluator:NapEvaluator",
    objectives=(Objective("value", "value", "the decision", lambda metrics, _: metrics["value"]),),
    directory=Path(__file__).parent,
)
