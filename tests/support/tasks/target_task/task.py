"""The task declaration: one function of two numbers."""

from pathlib import Path

from vulcan.task import Feature, Objective, Scalar, Task, Value

TASK = Task(
    name="attack_target",
    summary="Give back a number.",
    signature=Value(
        function="decide",
        arguments=(
            Scalar(Feature("load", "float", "requests", 0.0, 1000.0, "how much there is to do")),
            Scalar(Feature("room", "float", "requests", 0.0, 1000.0, "how much more would fit")),
        ),
        returns="a number",
    ),
    evaluator="vulcan_target_evaluator:TargetEvaluator",
    objectives=(Objective("sum", "sum", "the sum of all decisions", lambda metrics, _: metrics["sum"]),),
    directory=Path(__file__).parent,
)
