"""A task whose evaluator misbehaves when an instance asks for it."""

from pathlib import Path

from vulcan.task import Feature, Objective, Scalar, Task, Value

TASK = Task(
    name="toy_task",
    summary="Give back numbers.",
    signature=Value(
        function="decide",
        arguments=(
            Scalar(Feature("load", "float", "requests", 0.0, 1000.0, "how much there is to do")),
            Scalar(Feature("room", "float", "requests", 0.0, 1000.0, "how much more would fit")),
        ),
        returns="a number",
    ),
    evaluator="vulcan_toy_evaluator:ToyEvaluator",
    objectives=(Objective("sum", "sum", "the sum of all decisions", lambda metrics, _: metrics["sum"]),),
    directory=Path(__file__).parent,
)
